"""One WARC file from the seed and its number, and nothing else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from unquilt.synth.chance import Stream, mix
from unquilt.synth.pages import Page, Pages
from unquilt.synth.params import SynthParams
from unquilt.synth.plan import make_plan, shard_pages
from unquilt.synth.truth import Rows
from unquilt.synth.warc import (
    HALF,
    date_of,
    digest_of,
    http_date,
    http_message,
    record_id,
    response,
    revisit,
    warcinfo,
)

_GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
_SERVERS = (
    "",
    "X-Powered-By: PHP/5.2.6\r\n",
    "Vary: Accept-Encoding\r\n",
)


@functools.lru_cache(maxsize=1)
def _pages(params: SynthParams) -> Pages:
    return Pages(make_plan(params))


def warc_name(shard: int) -> str:
    return f"crawl-{shard:05}.warc.gz"


def write_shard(
    params: SynthParams, shard: int, folder: Path, tick: Callable[[int], None] = lambda _: None
) -> tuple[int, int, int]:
    """Write one WARC file and its truth; gives pages, records and bytes.

    ``tick`` gets the number of pages done since its last call.
    """
    pages, rows = _pages(params), Rows()
    temporary = folder / f"{warc_name(shard)}.tmp"
    records = written = 0
    numbers = shard_pages(params, shard)
    with temporary.open("wb", buffering=1 << 20) as out:
        written += out.write(warcinfo(warc_name(shard), record_id(params.seed, 0, shard)))
        for done, number in enumerate(numbers, 1):
            page = pages.make(number, rows)
            for record in _records(params, number, page):
                written += out.write(record)
                records += 1
            if done % 250 == 0:
                tick(250)
    tick(len(numbers) % 250)
    rows.write(folder / "truth", shard)
    temporary.rename(folder / warc_name(shard))
    return len(numbers), records, written


def _records(params: SynthParams, number: int, page: Page) -> list[bytes]:
    draw = mix(params.seed, Stream.EXTRA, number)
    headers = f"Date: {http_date(page.second)}\r\nContent-Type: {page.media_type}\r\n{_SERVERS[draw % 3]}"
    digest, date = digest_of(page.body), date_of(page.second)
    message = http_message("200 OK", headers, page.body)
    name = record_id(params.seed, 1, number)
    records = [response(page.url, page.host.ip, date, name, message, digest)]
    if (draw >> 8) % 1_000_000 < params.extras * 1_000_000:
        records.append(_extra(params, number, page, digest, draw >> 32))
    if (draw >> 30) % 1_000_000 < params.damaged * 1_000_000:
        records.append(_damaged(params, number, page, draw >> 12 & 3))
    return records


def _extra(params: SynthParams, number: int, page: Page, digest: str, draw: int) -> bytes:
    """A redirect, an error, an image or a revisit."""
    name, site = record_id(params.seed, 2, number), f"http://{page.host.name}"
    date = date_of(2 * HALF + page.second // 10)
    if draw % 8 == 0:
        return revisit(page.url, page.host.ip, date, name, date_of(page.second), digest)
    if draw % 8 < 3:
        path, status, headers, body = (
            f"/go/{number}",
            "301 Moved Permanently",
            "",
            b"<html><body>Moved</body></html>",
        )
        headers = f"Location: {page.url}\r\nContent-Type: text/html\r\n"
    elif draw % 8 < 6:
        path, status, body = (
            f"/gone/{number}.html",
            "404 Not Found",
            b"<html><body><h1>Not Found</h1></body></html>",
        )
        headers = "Content-Type: text/html\r\n"
    else:
        path, status, headers, body = f"/img/{number}.gif", "200 OK", "Content-Type: image/gif\r\n", _GIF
    message = http_message(status, headers, body)
    return response(site + path, page.host.ip, date, name, message, digest_of(body))


def _damaged(params: SynthParams, number: int, page: Page, how: int) -> bytes:
    """A record whose HTTP message is cut off, is not what it says, or is empty."""
    url, name = f"http://{page.host.name}/damaged/{number}", record_id(params.seed, 3, number)
    if how == 0:
        message = b"HTTP/1.1 200 OK\r\nContent-Type: text/ht"
    elif how == 1:
        message = http_message("200 OK", "Content-Type: text/html\r\nContent-Encoding: gzip\r\n", page.body[:400])
    elif how == 2:
        message = http_message("200 OK", "Content-Type: text/html\r\n", page.body)[:-200]
    else:
        message = b""
    return response(url, page.host.ip, date_of(page.second), name, message, digest_of(message))
