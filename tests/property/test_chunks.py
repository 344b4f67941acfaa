"""Paragraph cuts, against a regular expression."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from unquilt.kernels.chunks import paragraph_cuts

pieces = [
    b"<p>",
    b"<P ",
    b"<p\t",
    b"<p\n",
    b"<p\r",
    b"<p/",
    b"<pre>",
    b"<p",
    b"</p>",
    b"<",
    b"p",
    b"x" * 61,
    b"<\x50>",
]
pages = st.lists(st.one_of(st.sampled_from(pieces), st.binary(max_size=5)), max_size=60).map(b"".join)


@settings(deadline=None, max_examples=300)
@given(pages)
def test_cuts_are_where_a_paragraph_tag_opens(html: bytes) -> None:
    expected = [match.start() for match in re.finditer(rb"<[pP](?=[ \t\n\r/>])", html)]
    assert paragraph_cuts(np.frombuffer(html, np.uint8)).tolist() == expected


def test_many_cuts_close_together_are_all_kept() -> None:
    assert paragraph_cuts(np.frombuffer(b"<p>" * 1000, np.uint8)).tolist() == list(range(0, 3000, 3))


def test_a_tag_cut_off_by_the_end_of_the_file_is_none() -> None:
    for html in (b"", b"<", b"<p", b"x" * 63 + b"<p"):
        assert paragraph_cuts(np.frombuffer(html, np.uint8)).tolist() == []
