"""A polite HTTP client that cannot be led into a private network.

An address is checked when it is connected to, after the name was resolved, and the connection goes to the checked
address: a name that resolves to something else a moment later, or a redirect, changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from unquilt.detectors.mirrors.params import ProbeParams
from unquilt.detectors.mirrors.robots import NOTHING, Robots, read_robots
from unquilt.ingest.capture import Capture
from unquilt.ingest.http import EncodingError, TooLargeError, decode_body, media_type_of, sniff
from unquilt.ingest.page import PageRows

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NO_TEXT = frozenset({"image", "audio", "video", "font"})


class UnknownHost(Exception):
    """The name has no address."""


class RefusedAddress(Exception):
    """The host has only addresses of private networks, and was not allowed by name."""


def is_public(address: str) -> bool:
    """Whether an address is one of the public Internet, also where an IPv4 address is packed in an IPv6 one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        packed = ip.ipv4_mapped or ip.sixtofour or (ip.teredo and ip.teredo[1])
        if ip in _NAT64:
            packed = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if packed:
            return is_public(str(packed))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to public addresses, and to any address of the hosts that are allowed by name."""

    def __init__(self, allowed: str) -> None:
        self._allowed = {name.strip().lower() for name in allowed.split(",") if name.strip()}
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise UnknownHost(host) from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if "*" not in self._allowed and host.strip("[]").lower() not in self._allowed:
            addresses = [address for address in addresses if is_public(address)]
        if not addresses:
            raise RefusedAddress(host)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.aiter_stream():
            yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class CheckedTransport(httpx.AsyncBaseTransport):
    """What httpx sends its requests with, over a ``CheckedNetwork``; proxies of the environment are not used."""

    def __init__(self, params: ProbeParams) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=httpx.create_ssl_context(), max_connections=4 * params.hosts_at_once,
            max_keepalive_connections=params.hosts_at_once, keepalive_expiry=2 * params.delay + 1,
            network_backend=CheckedNetwork(params.allow_private),
        )  # fmt: skip

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
        )
        sent = httpcore.Request(request.method, url, headers=request.headers.raw, extensions=request.extensions)
        response = await self._pool.handle_async_request(sent)
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    async def aclose(self) -> None:
        await self._pool.aclose()


@dataclass(slots=True)
class Answer:
    """What came of asking for a URL.

    state: fine, failed (an error of the page), server (no answer, or 5xx), dns, disallowed, refused, too-large.
    """

    url: str
    state: str
    status: int | None = None
    final: str = ""
    sha1: str = ""
    text: str = ""
    body: bytes = b""


@dataclass(slots=True)
class _Host:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next_time: float = 0.0
    robots: Robots | None = None


class PoliteClient:
    """Asks hosts for pages: one request at a time for each, with a delay after it, as their robots.txt allows."""

    def __init__(self, params: ProbeParams) -> None:
        self._params = params
        self._hosts: dict[str, _Host] = {}
        self._client = httpx.AsyncClient(
            transport=CheckedTransport(params), timeout=params.timeout, follow_redirects=False, trust_env=False,
            headers={"user-agent": params.user_agent, "accept-encoding": "identity"},
        )  # fmt: skip

    async def __aenter__(self) -> PoliteClient:
        return self

    async def __aexit__(self, *stopped_by: object) -> None:
        await self._client.aclose()

    async def ask(self, url: str) -> Answer:
        """What a URL gives, redirects followed; each of them is checked as the first request is."""
        target = url
        for _ in range(self._params.max_redirects + 1):
            answer, target = await self._ask_once(url, target)
            if answer is not None:
                return answer
        return Answer(url, "failed", final=target)

    async def _ask_once(self, url: str, target: str) -> tuple[Answer | None, str]:
        """The answer, or where it sends us."""
        try:
            parts = urlsplit(target)
        except ValueError:  # a redirect to what is no URL
            return Answer(url, "failed", final=target), target
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return Answer(url, "failed", final=target), target
        host = self._hosts.setdefault(f"{parts.scheme}://{parts.netloc.lower()}", _Host())
        async with host.lock:
            if host.robots is None:
                host.robots = await self._read_robots(host, f"{parts.scheme}://{parts.netloc}")
                if isinstance(host.robots, Answer):
                    failure, host.robots = host.robots, None
                    return Answer(url, failure.state, failure.status, target), target
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            if not host.robots.allows(path):
                return Answer(url, "disallowed", final=target), target
            answer, location = await self._request(host, url, target)
        if location:
            return None, location
        return answer, target

    async def _read_robots(self, host: _Host, origin: str) -> Any:
        """The rules of a host, or the ``Answer`` that says why it cannot be asked at all."""
        target = f"{origin}/robots.txt"
        for _ in range(self._params.max_redirects + 1):
            answer, location = await self._request(host, target, target)
            if not location:
                break
            target = location
        if answer.state in ("dns", "refused") or (answer.state == "server" and answer.status is None):
            return answer
        if answer.state == "fine":
            return read_robots(answer.body, self._params.user_agent)
        return NOTHING if answer.state == "server" else Robots()

    async def _request(self, host: _Host, url: str, target: str) -> tuple[Answer, str]:
        """One request after the host's delay; the answer, and the target of a redirect or an empty string."""
        await asyncio.sleep(max(host.next_time - time.monotonic(), 0))
        try:
            async with asyncio.timeout(self._params.timeout):
                return await self._read(url, target)
        except RefusedAddress:
            return Answer(url, "refused", final=target), ""
        except UnknownHost:
            return Answer(url, "dns", final=target), ""
        except (TooLargeError, EncodingError):
            return Answer(url, "too-large", final=target), ""
        except (TimeoutError, OSError, httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError):
            return Answer(url, "server", final=target), ""
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, ValueError):
            return Answer(url, "failed", final=target), ""
        finally:
            delay = max(self._params.delay, host.robots.delay if host.robots else 0.0)
            host.next_time = time.monotonic() + delay

    async def _read(self, url: str, target: str) -> tuple[Answer, str]:
        most = self._params.max_page_bytes
        async with self._client.stream("GET", target) as response:
            location = response.headers.get("location", "")
            if response.status_code in (301, 302, 303, 307, 308) and location:
                return Answer(url, "failed", response.status_code, target), urljoin(target, location)
            if not 200 <= response.status_code < 300:
                state = "server" if response.status_code >= 500 else "failed"
                return Answer(url, state, response.status_code, target), ""
            body = b""
            async for piece in response.aiter_raw():
                body += piece
                if len(body) > most:
                    raise TooLargeError
            encoding = response.headers.get("content-encoding", "").encode("latin-1", "replace")
            kind = response.headers.get("content-type", "").encode("latin-1", "replace")
        body = decode_body(body, transfer=b"", content=encoding, most=most)
        answer = Answer(url, "fine", response.status_code, target, sha1(body).hexdigest(), body=body)
        answer.text = _text_of(target, body, kind)
        return answer, ""


def _text_of(url: str, body: bytes, content_type: bytes) -> str:
    """The visible text of a page, as ingest would have it; empty if it is none."""
    declared, charset = media_type_of(content_type)
    media_type = sniff(body, declared)
    if not body or not media_type or declared.partition("/")[0] in _NO_TEXT:
        return ""
    rows = PageRows(seed=0)
    if rows.add(Capture(url, body, "", 0, media_type, charset)) is not None:
        return ""
    return str(rows.take(0)["text"][0].as_py() or "")
