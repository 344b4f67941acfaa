"""Quilts on Spark: against the local engine, against the same definition as rows in Spark SQL, and what it shuffles."""

from __future__ import annotations

from typing import Any

from benchmarks.debian_crawl import make_crawl
from benchmarks.figure import Context, Figure, Limit, NotMeasured, expect_equal
from benchmarks.ingest import ingested_corpus
from benchmarks.processes import run_python


def figures(context: Context) -> list[Figure]:
    corpus, pages = ingested_corpus(context), make_crawl(context).pages
    context.say(f"spark: quilts of {pages:,} pages, 2 cores")

    def run(kind: str, repeat: int) -> Any:
        try:
            answer = run_python("benchmarks.spark_run", str(corpus), kind, str(repeat)).answer
        except ModuleNotFoundError as error:
            raise NotMeasured(f"pip install 'unquilt[spark]': {error}") from None
        seconds = ", ".join(f"{one:.2f}" for one in answer["seconds"])
        context.say(f"  {kind:<8} {seconds} s, {answer['quilts']:,} quilts")
        return answer

    spark, local, rows = run("spark", context.repeat), run("local", context.repeat), run("sql", 1)
    expect_equal("quilts", spark["quilts"], local["quilts"])
    if abs(rows["quilts"] - spark["quilts"]) > 0.1 * rows["quilts"]:
        raise NotMeasured("Spark SQL found another number of quilts: its words are not ours, but nearly")
    ours = tuple(spark["seconds"])
    started = f"Spark takes {spark['start_seconds']:.1f} s to start, the first run {spark['first_seconds']:.1f} s"
    return [
        Figure(
            name="quilts on Spark, local[2], to the local engine", unit="s", ours=ours, peer=tuple(local["seconds"]),
            peer_name="local engine, 2 workers", limit=Limit("ratio", "at most", 5),
            note=f"engines that have run once; {started}; the same tables",
        ),
        Figure(
            name="quilts on Spark, blocks to rows", unit="s", ours=ours, peer=tuple(rows["seconds"]),
            peer_name="Spark SQL, cover in a Python UDF", inverted=True, limit=Limit("ratio", "at least", 5),
            note=f"the same definition; SQL finds {rows['quilts']:,} quilts, ours {spark['quilts']:,}",
        ),
        Figure(
            name="quilts on Spark, shuffle bytes a page", unit="bytes", ours=(spark["shuffle_bytes"] / pages,),
            peer=(rows["shuffle_bytes"] / pages,), peer_name="Spark SQL", note="compressed, of all exchanges together",
        ),
    ]  # fmt: skip
