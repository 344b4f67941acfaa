"""Connected components of a graph."""

import numpy as np
import numpy.typing as npt

from unquilt.kernels.jit import njit

Nodes = npt.NDArray[np.int64]


@njit(cache=True, nogil=True)
def root(parent: Nodes, node: int) -> int:
    """The smallest node known to be connected to node; paths in parent int64[n] are halved on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit(cache=True, nogil=True)
def join(parent: Nodes, a: int, b: int) -> bool:
    """Connect a and b in parent int64[n], which starts as arange(n); whether they were apart."""
    a, b = root(parent, a), root(parent, b)
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b
    return a != b


@njit(cache=True, nogil=True)
def components(n_nodes: int, edges_a: Nodes, edges_b: Nodes) -> Nodes:
    """int64[n_nodes], the smallest node of each node's component; a node without edges is its own.

    edges_a, edges_b: int64[edges], the two ends of each edge, each in 0..n_nodes - 1, in any order.
    """
    parent = np.arange(n_nodes).astype(np.int64)
    for i in range(len(edges_a)):
        join(parent, edges_a[i], edges_b[i])
    for node in range(n_nodes):
        parent[node] = root(parent, node)
    return parent
