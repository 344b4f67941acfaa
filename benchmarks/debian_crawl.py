"""A real crawl to measure with: the HTML pages of documentation packages of Debian, as one WARC file.

The packages are downloaded once, with ``apt-get download``; the WARC is made once and kept in the cache.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import tempfile
import urllib.parse
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figure import Context, NotMeasured

PACKAGES = (
    "debian-handbook",
    "git-doc",
    "libboost1.81-doc",
    "openjdk-17-doc",
    "postgresql-doc-15",
    "python3.11-doc",
    "qtbase5-doc-html",
)
SMALL_PACKAGES = ("git-doc", "postgresql-doc-15")


@dataclass(frozen=True, slots=True)
class Crawl:
    """A WARC file and what is in it."""

    path: Path
    pages: int
    bytes: int
    packages: list[str]  # with their versions


def make_crawl(context: Context) -> Crawl:
    """The crawl, from the cache if it is there; each gzip member is one response record."""
    debs = _packages(context, SMALL_PACKAGES if context.small else PACKAGES)
    names = [deb.stem for deb in debs]
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
    warc = context.cache / f"debian-{digest}.warc.gz"
    about = warc.with_suffix(".json")
    if not about.exists():
        context.say(f"Writing {warc.name} from {len(debs)} packages")
        pages, size = _write_warc(debs, warc, context)
        about.write_text(json.dumps({"pages": pages, "bytes": size, "packages": names}))
    return Crawl(warc, **json.loads(about.read_text()))


def _packages(context: Context, names: tuple[str, ...]) -> list[Path]:
    folder = context.cache / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not list(folder.glob(f"{name}_*.deb")):
            _download(context, name, folder)
    return [max(folder.glob(f"{name}_*.deb")) for name in names]


def _download(context: Context, name: str, folder: Path) -> None:
    context.say(f"Downloading {name}")
    with tempfile.TemporaryDirectory(dir=context.scratch) as unfinished:
        try:
            subprocess.run(["apt-get", "download", name], cwd=unfinished, check=True, capture_output=True)
        except FileNotFoundError:
            raise NotMeasured("The crawl is made of Debian packages, and apt-get is not here.") from None
        except subprocess.CalledProcessError as error:
            why = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise NotMeasured(f"apt-get download {name}: {' '.join(why)} (try apt-get update)") from None
        for deb in Path(unfinished).glob("*.deb"):
            deb.rename(folder / deb.name)


def _write_warc(debs: list[Path], warc: Path, context: Context) -> tuple[int, int]:
    pages = size = 0
    unfinished = warc.with_suffix(".unfinished")
    with unfinished.open("wb") as out:
        for deb in debs:
            for url, body in _read_pages(deb, context):
                out.write(gzip.compress(_record(pages, url, body), 6, mtime=0))
                pages += 1
                size += len(body)
    unfinished.rename(warc)
    return pages, size


def _read_pages(deb: Path, context: Context) -> Iterator[tuple[str, bytes]]:
    """Each page of a package, in the order of the paths; the package is the host."""
    host = deb.name.split("_")[0].replace(".", "-") + ".example"
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        subprocess.run(["dpkg", "-x", deb, folder], check=True)
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in (".html", ".htm") and path.is_file() and not path.is_symlink():
                name = urllib.parse.quote(path.relative_to(folder).as_posix())
                yield f"http://{host}/{name}", path.read_bytes()


def _record(number: int, url: str, body: bytes) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid.UUID(int=number)}>\r\n"
        f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: {url}\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"
