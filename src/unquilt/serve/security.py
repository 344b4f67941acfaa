"""Who may ask what: this machine only, pages of this server only, and whoever has the token if there is one."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unquilt.errors import BadParameter

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",  # not no-referrer: browsers then send "Origin: null" with our own forms
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
COOKIE = "unquilt_session"
_MOST_FORM_BYTES = 1 << 20


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own, which no other machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, token: str) -> None:
    """Refuse to serve other machines without a token."""
    if not is_loopback(host) and len(token) < 8:
        raise BadParameter(
            f"--host {host} lets other machines in, which needs a token of at least 8 characters.",
            fix=f"Add one:  --token {secrets.token_urlsafe(18)}",
        )


class Guard:
    """Stands before the application: checks every request, and puts the policy on every answer."""

    def __init__(self, app: ASGIApp, *, host: str = "127.0.0.1", token: str = "", names: Iterable[str] = ()) -> None:
        self._app = app
        self._host = host
        self._token = token
        self._session = secrets.token_urlsafe(32)
        self._names = {"localhost", "127.0.0.1", "::1", host, *names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((n.lower().encode(), v.encode()) for n, v in HEADERS.items() if n.lower().encode() not in given),
                ]
            await send(message)

        answer = self._refuse(scope, Headers(scope=scope))
        await (answer or self._app)(scope, receive, send_guarded)

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        if not self._knows_host(headers.get("host", "")):
            return PlainTextResponse("This server does not go by that name.", 421)
        if not _is_ours(scope["method"], headers):
            return PlainTextResponse("Requests from other sites are refused.", 403)
        if self._token and not self._is_let_in(headers):
            return self._let_in(scope)
        return None

    def _knows_host(self, header: str) -> bool:
        """Whether the Host header names this server: a page of another name that leads here must not read it."""
        name = header.rpartition(":")[0] if ":" in header.rpartition("]")[2] else header
        name = name.strip("[]").lower()
        if name in self._names:
            return True
        if self._host in ("0.0.0.0", "::"):  # any address of this machine; names are known, numbers cannot be rebound
            try:
                ipaddress.ip_address(name)
            except ValueError:
                return name == socket.gethostname().lower()
            return True
        return False

    def _is_let_in(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._session.encode())

    def _let_in(self, scope: Scope) -> Response:
        """Take the token out of the address into a cookie; without it, ask for it."""
        query = scope["query_string"].decode("latin-1")
        given = parse_qs(query).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return PlainTextResponse("This server needs its token: open it with ?token=TOKEN in the address.", 401)
        rest = urlencode([(name, value) for name, value in parse_qsl(query) if name != "token"])
        # Starts with one slash: //name would be an address elsewhere.
        answer = RedirectResponse("/" + scope["path"].lstrip("/") + ("?" + rest if rest else ""), 303)
        answer.set_cookie(COOKIE, self._session, httponly=True, samesite="strict")
        return answer


def _is_ours(method: str, headers: Headers) -> bool:
    """Whether a request comes from a page of this server, or from the person; never from another site's page."""
    site = headers.get("sec-fetch-site")
    if method in ("GET", "HEAD"):  # a link from elsewhere may lead here; nothing else from there may
        return site not in ("cross-site", "same-site") or headers.get("sec-fetch-mode") == "navigate"
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host", "")


class FormToken:
    """A secret in every form of this server, which another site's page cannot know."""

    def __init__(self) -> None:
        self.value = secrets.token_urlsafe(32)

    def is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.value.encode())


def read_form(body: bytes) -> dict[str, str]:
    """The fields of a form; the last one if a name comes twice. Too large a form is refused."""
    if len(body) > _MOST_FORM_BYTES:
        raise BadParameter("The form is too large.", fix="Write a shorter note.")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100))
