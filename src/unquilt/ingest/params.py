"""The settings of ingest."""

from __future__ import annotations

from dataclasses import dataclass

from unquilt.params import Params, knob
from unquilt.schema import STYLE_CELLS

STYLE_GRAM = 32
SETTINGS = {
    "words": "runs of letters, digits and marks, case folded; one character a word in scripts without spaces",
    "style": f"noise n={STYLE_GRAM} m={STYLE_CELLS}",
}
"""How words and styles are made: a corpus made otherwise cannot be compared with this one."""


PRELOAD = ("unquilt.ingest.page:warm_up",)
"""What workers of an engine can have ready before the first page comes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IngestParams(Params):
    """How a crawl becomes pages."""

    status: str = knob("200", "HTTP statuses that become pages: numbers, ranges or 'any', as 200,203 or 200-299")
    captures: str = knob(
        "latest",
        "which capture of a URL that was captured more than once counts",
        choices=("latest", "first", "all"),
    )
    max_page_bytes: int = knob(
        16 << 20,
        "a page longer than this, compressed or not, is skipped and counted",
        least=1024,
        most=1 << 30,
        unit="bytes",
    )
    url_prefix: str = knob("", "for HTML folders: the URL of the folder; if not given, its first level names the hosts")
    url_column: str = knob("url", "for JSONL and Parquet: the column with the URL")
    html_column: str = knob("html", "for JSONL and Parquet: the column with the HTML source")
    text_column: str = knob("text", "for JSONL and Parquet: the column with extracted text, where there is no HTML")
    split_bytes: int = knob(
        16 << 20,
        "large inputs are cut into pieces of about this many bytes, each one part of the corpus",
        least=65536,
        unit="bytes",
    )
    cutter: str = knob(
        "p",
        "what a chunk begins with: a <p> tag, any block-level tag, or a line (which also cuts plain text)",
        choices=("p", "block", "line"),
    )
    normalize: bool = knob(False, "fold case and white space of a chunk before it is hashed")
    seed: int = knob(
        0,
        "draws the permutations of the template fingerprints; only corpora of one seed can be compared by them",
        least=0,
    )
