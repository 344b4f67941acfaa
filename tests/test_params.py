"""Settings, their ranges, and sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unquilt import IngestParams
from unquilt.errors import BadParameter
from unquilt.params import parse_size, show_size


def test_a_value_out_of_range_is_refused_with_range_and_meaning() -> None:
    with pytest.raises(BadParameter) as refused:
        IngestParams(max_page_bytes=7)
    assert refused.value.message == "--max-page-bytes is 7; it must be from 1 KiB to 1 GiB."
    assert refused.value.fix.startswith("--max-page-bytes: a page longer than this")


def test_a_choice_that_is_none_is_refused() -> None:
    with pytest.raises(BadParameter, match="one of latest, first, all"):
        IngestParams(captures="some")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("65536", 65536), ("16MiB", 16 << 20), ("1.5 GB", 1_500_000_000), ("4g", 4 * 10**9), ("2 KiB", 2048),
        ("7 bytes", 7), ("", None), ("-1", None), ("12 parsecs", None), ("1IB", None),
    ],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@given(st.integers(0, 2**50))
def test_a_size_that_is_shown_can_be_read_again(size: int) -> None:
    assert parse_size(show_size(size).replace(",", "")) == size
