"""As much of the S3 protocol as reading takes, over a folder: objects, ranges of them, and lists."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@contextmanager
def serve_s3(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """The address of a server whose buckets are the folders of ``folder``, and how long each answer was."""
    lengths: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            bucket, _, key = unquote(url.path).lstrip("/").partition("/")
            query = parse_qs(url.query)
            path = folder / bucket / key
            if key and path.is_file():
                self._object(path.read_bytes())
            elif not key and "list-type" in query:
                self._list(bucket, query.get("prefix", [""])[0])
            else:
                self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>", "application/xml")

        def _object(self, data: bytes) -> None:
            wanted = self.headers.get("Range")
            if wanted:
                begin, end = (int(place) for place in wanted.removeprefix("bytes=").split("-"))
                self._answer(206, data[begin : end + 1], f"bytes {begin}-{end}/{len(data)}")
            else:
                self._answer(200, data)

        def _list(self, bucket: str, prefix: str) -> None:
            keys = [path.relative_to(folder / bucket).as_posix() for path in sorted((folder / bucket).rglob("*"))]
            found = [key for key in keys if key.startswith(prefix) and (folder / bucket / key).is_file()]
            rows = "".join(
                f"<Contents><Key>{escape(key)}</Key><Size>{(folder / bucket / key).stat().st_size}</Size>"
                "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                for key in found
            )
            body = (
                '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                f"<Name>{bucket}</Name><KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>{rows}"
                "</ListBucketResult>"
            )
            self._answer(200, body.encode(), "application/xml")

        def _answer(self, status: int, body: bytes, about: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            if about.startswith("bytes"):
                self.send_header("Content-Range", about)
            elif about:
                self.send_header("Content-Type", about)
            self.end_headers()
            if self.command == "GET":
                lengths.append(len(body))
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", lengths
    finally:
        server.shutdown()
        server.server_close()
