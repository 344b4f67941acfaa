"""Makes the bundled sample, a small real crawl, from documentation packages of Debian.

    python benchmarks/make_sample.py src/unquilt/sample
    python benchmarks/make_sample.py src/unquilt/sample --packages folder/of/debs

One package (one language of it, where it has several) is one host. Every page is a file of a package, byte
for byte; the records around the pages (addresses, dates, headers, redirects, errors) are made here. The same
packages give the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import subprocess
import sys
import tempfile
import urllib.parse
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

_MIRROR = "http://deb.debian.org/debian"
_FIRST_CRAWL = datetime(2026, 1, 12, 6, 0, tzinfo=UTC)
_SECOND_CRAWL = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)
_MAX_FILE = 900_000
_TYPES = {".html": "text/html", ".txt": "text/plain", ".xml": "text/xml", ".png": "image/png"}


@dataclass(frozen=True, slots=True)
class Site:
    """One host: a folder of one version of a package, and which of its pages were captured.

    Pages are drawn by the hash of their path, so two hosts with the same tree get the same paths.
    """

    host: str
    package: str
    version: str
    root: str = ""  # below usr/share/doc; the folder of the package if not given
    pages: int = 12  # how many are drawn
    only: str = "**/*.html"  # what they are drawn from
    also: str = ""  # captured whatever is drawn
    beside: str = ""  # folders next to the root, other languages, that must have the page too
    most: int = 40_000  # bytes of a page that is drawn
    least: int = 1_000
    suite: str = "bookworm"
    charset: str = ""  # declared in the HTTP header
    coding: str = ""  # how bodies are sent: gzip, chunked or as they are

    @property
    def deb(self) -> str:
        return f"{self.package}_{self.version}"


_CHANGED = "policy.html/ap-license.html"
_GUIDE = "apf.html ch01.html ch03s03.html"
_NOTICES = "licences.example"
_LICENCES = "Apache-2.0 GFDL-1.2 GFDL-1.3 GPL-1 GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3"
_POLICY = f"""perl-policy-1.html menu-policy-1.html README.html {_CHANGED} policy.html/ch-archive.html
    policy.html/_sources/ch-archive.rst.txt policy.html/_images/debian-policy-purge.png"""


def _docbook(host: str, version: str, suite: str, charset: str = "") -> Site:
    root = "docbook-xsl-doc-html/doc"
    return Site(host, "docbook-xsl-doc-html", version, root, 110, most=12_000, suite=suite, charset=charset)


def _udo(host: str, version: str, suite: str) -> Site:
    return Site(host, "udo-doc-en", version, "udo-doc-en/html", 40, suite=suite)


def _guide(language: str, machine: str, folder: str, charset: str = "") -> Site:
    host, package = f"{language}.instguide-{machine}.example", f"installation-guide-{machine}"
    root = f"{package}/{folder}"
    version, beside = "20230508+deb12u1", "en ja zh_CN"
    return Site(host, package, version, root, 42, also=_GUIDE, beside=beside, most=25_000, charset=charset)


def _handbook(language: str, folder: str, charset: str = "") -> Site:
    host, root = f"{language}.handbook.example", f"debian-handbook/html/{folder}"
    version, beside, also = "11.20220922", "en-US ar-MA zh-CN", "sect.foundation-documents.html"
    return Site(host, "debian-handbook", version, root, 12, also=also, beside=beside, most=25_000, charset=charset)


def _httpd(language: str, charset: str = "") -> Site:
    host, root = f"{language}.httpd.example", f"apache2-doc/manual/{language}"
    version, beside = "2.4.68-1~deb12u1", "en fr ko"
    return Site(host, "apache2-doc", version, root, 14, beside=beside, most=28_000, charset=charset, coding="chunked")


def _rust(book: str, charset: str = "") -> Site:
    host, root = f"{book}.rust-lang.example", f"rust-doc/html/{book}"
    return Site(host, "rust-doc", "1.63.0+dfsg1-2", root, 999, most=200_000, charset=charset)


def _javadoc(host: str, package: str, version: str, also: str = "", charset: str = "") -> Site:
    root = package.removesuffix("-doc") + "/api"
    return Site(host, package, version, root, also=also, most=30_000, least=3_000, charset=charset)


def _doxygen(host: str, package: str, version: str, root: str) -> Site:
    return Site(host, package, version, root, most=30_000, least=3_000)


def _sphinx(host: str, package: str, version: str, also: str, pages: int = 12, charset: str = "") -> Site:
    return Site(host, package, version, f"{package}/html", pages, also=also, charset=charset)


SITES = (
    # Mirrors: byte for byte, in the text, in most of the text, in translation.
    _docbook("docbook-xsl.example", "1.79.1-1", "bookworm", "ISO-8859-1"),
    _docbook("docbook-xsl-copy.example", "1.79.1-2", "trixie"),
    _udo("udo.example", "6.4.1-6", "bookworm"),
    _udo("udo-copy.example", "6.4.1-8", "trixie"),
    _guide("en", "amd64", "en", "UTF-8"),
    _guide("ja", "amd64", "ja"),
    _guide("zh", "amd64", "zh_CN"),
    _guide("en", "i386", "en"),
    _handbook("en", "en-US", "utf-8"),
    _handbook("ar", "ar-MA"),
    _handbook("zh", "zh-CN"),
    _httpd("en", "UTF-8"),
    _httpd("fr"),
    _httpd("ko", "EUC-KR"),
    # Quilts: manuals on one page beside the pages they were put together from, and text of other packages.
    _rust("rustdoc", "utf-8"),
    _rust("edition-guide"),
    Site("policy.example", "debian-policy", "4.6.2.0", only="*-policy.html/*.html", pages=99, also=_POLICY),
    Site(
        "policy-next.example",
        "debian-policy",
        "4.7.2.0",
        only="*-policy.html/*.html",
        pages=99,
        suite="trixie",
    ),
    Site("doc-base.example", "doc-base", "0.11.1"),
    Site("kernel-handbook.example", "debian-kernel-handbook", "1.0.21"),
    Site("maint-guide.example", "maint-guide", "1.2.53", "maint-guide/html", most=60_000),
    Site("debmake.example", "debmake-doc", "1.17-7", "debmake-doc/html", only="*.en.html", most=60_000),
    # Templates: each of these programs wrote the pages of several packages.
    _javadoc(
        "commons-codec.example",
        "libcommons-codec-java-doc",
        "1.15-1",
        "org/apache/commons/codec/Charsets.html",
    ),
    _javadoc(
        "commons-io.example",
        "libcommons-io-java-doc",
        "2.11.0-2",
        "org/apache/commons/io/Charsets.html",
        "ISO-8859-1",
    ),
    _javadoc("commons-math.example", "libcommons-math3-java-doc", "3.6.1-3"),
    Site("jlha.example", "libjlha-java-doc-ja", "0.0.20050504-10.1", pages=14, most=30_000, least=3_000),
    _doxygen("ftdi.example", "libftdi1-doc", "1.5-6", "libftdi1-dev/html"),
    _doxygen("geos.example", "libgeos-doc", "3.11.1-1", "libgeos-dev/html"),
    _doxygen("sigc.example", "libsigc++-2.0-doc", "2.12.0-1", "libsigc++-2.0-doc/reference/html"),
    _doxygen("xcb.example", "libxcb-doc", "1.15-1", "libxcb1-dev/manual"),
    _sphinx("flask.example", "python-flask-doc", "2.2.2-3", "patterns/templateinheritance.html"),
    _sphinx("jinja.example", "python-jinja2-doc", "3.1.2-1+deb12u3", "templates.html switching.html", 6),
    _sphinx("click.example", "python-click-doc", "8.1.3-2", "license.html", charset="utf-8"),
    Site("mkdocs.example", "mkdocs-doc", "1.4.2+dfsg-2", "mkdocs/html", also="about/license.html sitemap.xml"),
    Site("git.example", "git-doc", "1:2.39.5-0+deb12u3", "git-doc", 14, charset="UTF-8", coding="gzip"),
    Site("tig.example", "tig", "2.5.5-1", most=90_000),
    Site("dejagnu.example", "dejagnu", "1.6.3-1", "dejagnu/dejagnu.html", 24),
    Site("octave.example", "octave-doc", "7.3.0-2", "octave/octave.html", 24),
    Site("maxima.example", "maxima-doc", "5.46.0-11", "maxima-doc/html", 16, least=3_000),
    Site("harden.example", "harden-doc", "3.19+nmu1", "harden-doc/html/en-US", 16),
    Site("valgrind.example", "valgrind", "1:3.19.0-1", "valgrind/html", 8, also="license.gpl.html"),
    Site("mhonarc.example", "mhonarc", "2.6.19-2.2", pages=16, also="resources/scan.html"),
    Site("lablgtk.example", "liblablgtk2-ocaml-doc", "2.18.13-1", "liblablgtk2-ocaml-doc/html/api", 16),
    Site("aeson.example", "libghc-aeson-doc", "2.0.3.0-1", "libghc-aeson-doc/html", 8),
    Site("exim.example", "exim4-doc-html", "4.96-1", "exim4-doc-html/spec_html", 8, also="filter_toc.xml"),
    Site("postfix.example", "postfix-doc", "3.7.11-0+deb12u1", "postfix/html", 10, most=25_000),
    Site("sqlite.example", "sqlite3-doc", "3.40.1-2+deb12u2", "sqlite3", 10, only="*.html"),
    Site(_NOTICES, "base-files", "12.4+deb12u15", "../common-licenses", 0, also=_LICENCES),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("out", type=Path, help="folder to write sample-0.warc.gz, ... to")
    parser.add_argument("--packages", type=Path, help="folder of .deb files; what is missing is put there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        packages = (options.packages or folder / "packages").resolve()
        packages.mkdir(parents=True, exist_ok=True)
        download(packages, folder)
        trees = {site.deb: unpack(packages, site, folder / "trees") for site in SITES}
        for path in sorted(options.out.glob("sample-*.warc.gz")):
            path.unlink()
        for path, size in write(options.out, trees):
            print(f"{path.name}: {size:,} bytes")


def download(packages: Path, folder: Path) -> None:
    """Puts the packages that are missing into ``packages``, with an apt that knows both suites."""
    missing = sorted({(site.package, site.version) for site in SITES if _find_deb(packages, site) is None})
    if not missing:
        return
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    suites = sorted({site.suite for site in SITES})
    (folder / "sources.list").write_text("".join(f"deb {_MIRROR} {suite} main\n" for suite in suites))
    settings = [
        f"Dir::Etc::SourceList={folder / 'sources.list'}",
        "Dir::Etc::SourceParts=-",
        f"Dir::State::Lists={folder / 'lists'}",
        f"Dir::Cache={folder / 'cache'}",
        "Acquire::Languages=none",
        "APT::Architecture=amd64",
        "APT::Sandbox::User=",
    ]
    apt = ["apt-get", "-qq", *(word for setting in settings for word in ("-o", setting))]
    subprocess.run([*apt, "update"], check=True)
    for package, version in missing:
        got = subprocess.run([*apt, "download", f"{package}={version}"], cwd=packages)
        if got.returncode:
            sys.exit(
                f"Error: Debian's servers do not have {package} {version} any more.\n"
                f"Take it from https://snapshot.debian.org/package/{package}/ and give its folder: --packages"
            )


def _find_deb(packages: Path, site: Site) -> Path | None:
    name = f"{site.package}_{site.version.replace(':', '%3a')}"
    return next(iter(sorted(packages.glob(f"{name}_*.deb"))), None)


def unpack(packages: Path, site: Site, trees: Path) -> Path:
    """The folder with the files of a site's package."""
    tree = trees / site.deb.replace(":", "_")
    if not tree.exists():
        tree.mkdir(parents=True)
        subprocess.run(["dpkg", "-x", str(_find_deb(packages, site)), str(tree)], check=True)
    return tree


def files_of(site: Site, tree: Path) -> dict[str, bytes]:
    """Path below the host -> bytes, for every file captured of a site."""
    root = tree / "usr/share/doc" / (site.root or site.package)
    drawn = [path for path in root.glob(site.only) if _may_draw(site, root, path)]
    names = sorted((str(path.relative_to(root)) for path in drawn), key=_order)[: site.pages]
    if site.pages and (root / "index.html").is_file():
        names.append("index.html")
    files = {}
    for name in sorted({*names, *site.also.split()}):
        path = root / name
        # Long texts are compressed in Debian packages; a server sends them as they were.
        files[name] = path.read_bytes() if path.exists() else gzip.decompress(Path(f"{path}.gz").read_bytes())
    return files


def notices_of(trees: dict[str, Path]) -> dict[str, bytes]:
    """The copyright notice of every package, for the host of the licences."""
    return {
        f"{site.deb}/copyright": (trees[site.deb] / "usr/share/doc" / site.package / "copyright").read_bytes()
        for site in SITES
    }


def _may_draw(site: Site, root: Path, path: Path) -> bool:
    name = path.relative_to(root)
    pages = [path, *(root.parent / folder / name for folder in site.beside.split())]
    return all(
        page.is_file() and not page.is_symlink() and site.least <= page.stat().st_size <= site.most for page in pages
    )


def _order(name: str) -> bytes:
    return hashlib.sha1(name.encode()).digest()


@dataclass(slots=True)
class Writer:
    """WARC files of bounded size, one gzip member a record, with a clock that gives each capture its time."""

    out: Path
    now: datetime
    parts: list[bytes] = field(default_factory=list)
    written: list[tuple[Path, int]] = field(default_factory=list)

    def open_file(self) -> None:
        self.parts = []
        about = (
            "software: unquilt benchmarks/make_sample.py\r\n"
            "format: WARC File Format 1.0\r\n"
            "description: documentation packages of Debian, one a host; see README.md for licences\r\n"
        )
        name = f"sample-{len(self.written)}.warc.gz"
        head = {"WARC-Filename": name, "Content-Type": "application/warc-fields"}
        self.add("warcinfo", head, about.encode())

    def close_file(self) -> None:
        path = self.out / f"sample-{len(self.written)}.warc.gz"
        data = b"".join(self.parts)
        path.write_bytes(data)
        self.written.append((path, len(data)))

    def add(self, kind: str, fields: dict[str, str], block: bytes) -> None:
        date = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.now += timedelta(seconds=2)
        name = f"{kind} {date} {fields.get('WARC-Target-URI') or fields.get('WARC-Filename')}"
        lines = {
            "WARC-Type": kind,
            "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name)}>",
            "WARC-Date": date,
            **fields,
            "Content-Length": str(len(block)),
        }
        head = "WARC/1.0\r\n" + "".join(f"{key}: {value}\r\n" for key, value in lines.items()) + "\r\n"
        self.parts.append(gzip.compress(head.encode() + block + b"\r\n\r\n", 9, mtime=0))

    def respond(self, url: str, ip: str, answer: Answer) -> None:
        fields = {
            "WARC-Target-URI": url,
            "WARC-IP-Address": ip,
            "WARC-Payload-Digest": digest(answer.sent),
            "Content-Type": "application/http; msgtype=response",
        }
        self.add("response", fields, answer.head() + answer.sent)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response; ``body`` is what a browser would show, ``sent`` the bytes on the wire."""

    status: str
    media_type: str
    body: bytes
    coding: str = ""
    location: str = ""

    @property
    def sent(self) -> bytes:
        if self.coding == "gzip":
            return gzip.compress(self.body, 9, mtime=0)
        if self.coding == "chunked":
            pieces = [self.body[at : at + 8192] for at in range(0, len(self.body), 8192)]
            return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        return self.body

    def head(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status}", "Server: Apache", f"Content-Type: {self.media_type}"]
        if self.location:
            lines.append(f"Location: {self.location}")
        if self.coding == "gzip":
            lines.append("Content-Encoding: gzip")
        if self.coding == "chunked":
            lines.append("Transfer-Encoding: chunked")
        else:
            lines.append(f"Content-Length: {len(self.sent)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


def digest(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def write(out: Path, trees: dict[str, Path]) -> list[tuple[Path, int]]:
    """Writes the sample; each file with its size."""
    writer = Writer(out, _FIRST_CRAWL)
    writer.open_file()
    addresses = _addresses()
    for number, site in enumerate(SITES):
        ip = addresses[site.deb]
        files = files_of(site, trees[site.deb])
        if site.host == _NOTICES:
            files |= notices_of(trees)
        for url, answer in answers_of(site, files, number):
            if sum(map(len, writer.parts)) + len(answer.body) // 2 > _MAX_FILE:
                writer.close_file()
                writer.open_file()
            writer.respond(url, ip, answer)
        if number % 5 == 0:
            writer.add("request", *_request(f"http://{site.host}/", site.host))
    _write_second_crawl(writer, trees, addresses)
    writer.close_file()
    return writer.written


def _addresses() -> dict[str, str]:
    """One address for each package, out of the three ranges that are kept for documentation."""
    ranges = ("192.0.2", "198.51.100", "203.0.113")
    debs = list(dict.fromkeys(site.deb for site in SITES))
    return {deb: f"{ranges[i % 3]}.{10 + i}" for i, deb in enumerate(debs)}


def answers_of(site: Site, files: dict[str, bytes], number: int) -> Iterator[tuple[str, Answer]]:
    """URL and answer for every capture of a site; some hosts also have a redirect or a missing page."""
    base = f"http://{site.host}/"
    if number % 4 == 0:
        yield base + "robots.txt", _error(site.host)
    if number % 3 == 0 and "index.html" in files:
        page = b'<html><head><title>301 Moved</title></head><body><a href="/">here</a></body></html>\n'
        yield base + "index.html", Answer("301 Moved Permanently", "text/html", page, location=base)
    for name, body in files.items():
        path = "" if name == "index.html" else urllib.parse.quote(name)
        yield base + path, Answer("200 OK", _media_type(site, name), body, site.coding)


def _media_type(site: Site, name: str) -> str:
    kind = _TYPES.get(Path(name).suffix, "text/plain")
    if site.charset and kind == "text/html":
        return f"{kind}; charset={site.charset}"
    return kind


def _error(host: str) -> Answer:
    page = (
        "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1>"
        f"<p>The requested URL was not found on this server.</p><hr><address>{host}</address></body></html>\n"
    )
    return Answer("404 Not Found", "text/html; charset=iso-8859-1", page.encode())


def _request(url: str, host: str) -> tuple[dict[str, str], bytes]:
    fields = {"WARC-Target-URI": url, "Content-Type": "application/http; msgtype=request"}
    return fields, f"GET / HTTP/1.1\r\nHost: {host}\r\nUser-Agent: unquilt-sample\r\n\r\n".encode()


def _write_second_crawl(writer: Writer, trees: dict[str, Path], addresses: dict[str, str]) -> None:
    """Weeks later: a name lookup, a page that has changed, and one that has not."""
    by_host = {site.host: site for site in SITES}
    old, new = by_host["policy.example"], by_host["policy-next.example"]
    writer.now = _SECOND_CRAWL
    ip = addresses[old.deb]
    fields = {"WARC-Target-URI": f"dns:{old.host}", "Content-Type": "text/dns"}
    writer.add("response", fields, f"20260302060000\n{old.host}.\t3600\tIN\tA\t{ip}\n".encode())
    page = (trees[new.deb] / "usr/share/doc" / new.package / _CHANGED).read_bytes()
    writer.respond(f"http://{old.host}/{_CHANGED}", ip, Answer("200 OK", "text/html", page))
    same = by_host["docbook-xsl.example"]
    page = (trees[same.deb] / "usr/share/doc" / same.root / "index.html").read_bytes()
    answer = Answer("200 OK", _media_type(same, "index.html"), page)
    fields = {
        "WARC-Target-URI": f"http://{same.host}/",
        "WARC-IP-Address": addresses[same.deb],
        "WARC-Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        "WARC-Payload-Digest": digest(page),
        "WARC-Refers-To-Target-URI": f"http://{same.host}/",
        "Content-Type": "application/http; msgtype=response",
    }
    writer.add("revisit", fields, answer.head())


if __name__ == "__main__":
    main()
