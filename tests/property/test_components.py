"""Connected components, against walking the graph."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels.components import components, join, root

some = settings(deadline=None, max_examples=150)
graphs = st.integers(1, 25).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
)


def reachable(node: int, edges: list[tuple[int, int]]) -> set[int]:
    """Every node one can walk to."""
    seen = {node}
    while True:
        further = {b for a, b in edges if a in seen} | {a for a, b in edges if b in seen}
        if further <= seen:
            return seen
        seen |= further


@some
@given(graphs)
def test_a_label_is_the_smallest_node_one_can_walk_to(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = graph
    ends = np.array(edges, np.int64).reshape(-1, 2)
    labels = components(n, ends[:, 0].copy(), ends[:, 1].copy())
    assert labels.tolist() == [min(reachable(node, edges)) for node in range(n)]


@some
@given(graphs)
def test_joining_one_edge_at_a_time_tells_whether_it_was_new(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    n, edges = graph
    parent = np.arange(n)
    for i, (a, b) in enumerate(edges):
        assert join(parent, a, b) == (b not in reachable(a, edges[:i]))
    assert [root(parent, node) for node in range(n)] == [min(reachable(node, edges)) for node in range(n)]


def test_no_nodes_have_no_components() -> None:
    nothing = np.empty(0, np.int64)
    assert components(0, nothing, nothing).tolist() == []
