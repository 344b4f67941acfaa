"""Styles: clustering as many fingerprints as the paper had, one huge family, and what the shortcuts cost."""

from __future__ import annotations

from benchmarks.figure import Context, Figure, Limit
from benchmarks.ingest import WORKERS, ingested_corpus
from benchmarks.processes import Run, run_python, watch_python

PAPER_PAGES, PAPER_BYTES = 5_000_000, 78
"""Urvoy, Lavergne and Filoche 2006: 130 GB of pages in 390 MB of fingerprints; they name no time."""
_GIB = 2**30
_RUN = "benchmarks.styles_run"


def figures(context: Context) -> list[Figure]:
    return [*_all_pages(context), *_one_family(context), *_loss(context), _to_ingest(context)]


def _make(context: Context, pages: int, largest: int) -> tuple[str, Run]:
    path = str(context.scratch / f"marks-{pages}-{largest}")
    return path, run_python(_RUN, "make", path, str(pages), str(largest))


def _all_pages(context: Context) -> list[Figure]:
    pages = 50_000 if context.small else PAPER_PAGES
    path, made = _make(context, pages, pages * 3 // 50)
    context.say(f"styles: {pages:,} fingerprints of {made.answer['families']:,} families")
    peak, _, found = watch_python(_RUN, "link", path, str(pages), str(4 * _GIB))
    right = f"{found['recall']:.4%} of the planted pairs joined, {1 - found['precision']:.4%} of the joined pairs wrong"
    context.say(f"  linked and centered  {found['seconds']:6.1f} s, {peak.tree / _GIB:.2f} GiB, {right}")
    return [
        Figure(
            name=f"styles, {pages:,} fingerprints clustered", unit="s", ours=(found["seconds"],),
            limit=Limit("ours", "at most", 300),
            note=f"t = 35, p = 20, with prototypes; {found['clusters']:,} clusters",
        ),
        Figure(
            name=f"styles, {pages:,} fingerprints, peak memory", unit="GiB", ours=(peak.tree / _GIB,),
            limit=Limit("ours", "at most", 4), note="budget 4 GiB, and the file of fingerprints that is mapped",
        ),
        Figure(
            name="styles, planted pairs of pages that are joined", unit="%", ours=(100 * found["recall"],),
            limit=Limit("ours", "at least", 99), note=right,
        ),
        Figure(
            name="styles, bytes a page", unit="bytes", ours=(256,), peer=(PAPER_BYTES,), peer_name="the 2006 paper",
            limit=Limit("ours", "at most", 256),
        ),
    ]  # fmt: skip


def _one_family(context: Context) -> list[Figure]:
    """A family of 300,000 pages must not take more a page than one of 30,000."""
    sizes = (3_000, 30_000) if context.small else (30_000, 300_000)
    runs = []
    for size in sizes:
        path, _ = _make(context, size * 5 // 4, size)
        run_python(_RUN, "link", path, str(size * 5 // 4), "0")
        runs.append(run_python(_RUN, "link", path, str(size * 5 // 4), "0"))
        context.say(f"  one family of {size:,}  {runs[-1].answer['seconds']:.2f} s")
    small, large = (run.answer["seconds"] / size * 1e6 for run, size in zip(runs, sizes, strict=True))
    return [
        Figure(
            name=f"styles, time a page in one family of {sizes[1]:,} to {sizes[0]:,}", unit="µs", ours=(large,),
            peer=(small,), peer_name=f"{sizes[0]:,} pages", limit=Limit("ratio", "at most", 1.3),
            note=f"{runs[1].answer['largest']:,} pages in the largest cluster",
        )
    ]  # fmt: skip


def _loss(context: Context) -> list[Figure]:
    found = run_python(_RUN, "loss", str(ingested_corpus(context))).answer
    context.say(f"  loss on {found['pages']:,} real pages: {found}")
    shorter = []
    for bits in (8, 5, 4):
        one = found[f"bits {bits}"]
        name = f"styles, {bits}-bit cells ({one['bytes']} bytes a page): pairs wrongly joined"
        note = f"{one['extra cells']:.2f} cells equal by chance a pair"
        shorter.append(Figure(name=name, unit="%", ours=(100 * one["pairs wrong"],), note=note))
    recall = Figure(
        name=f"styles, pairs joined of those that all pairs join, {found['pages']:,} pages", unit="%",
        ours=(100 * found["recall"],), limit=Limit("ours", "at least", 99), note="20 probes and references",
    )  # fmt: skip
    return [recall, *shorter]


def _to_ingest(context: Context) -> Figure:
    corpus = ingested_corpus(context)
    arguments = ["styles", str(corpus), "--workers", str(WORKERS), "--json"]
    run_python("unquilt", *arguments)
    runs = [run_python("unquilt", *arguments) for _ in range(context.repeat)]
    return Figure(
        name="styles, the whole command on the documentation crawl", unit="s", ours=tuple(run.seconds for run in runs),
        limit=Limit("ours", "at most", 10), note=f"{runs[0].answer['clusters']:,} clusters",
    )  # fmt: skip
