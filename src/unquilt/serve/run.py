"""Starting the server."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from unquilt.errors import BadParameter
from unquilt.serve.app import make_app
from unquilt.serve.index import Index
from unquilt.serve.security import check_address

_LONGEST_ADDRESS = 1 << 18  # crawled URLs are long now and then


def serve_corpus(
    corpus: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str = "",
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Serve a corpus until Ctrl-C. ``port`` 0 takes a free one. Another address than loopback needs a token."""
    check_address(host, token)
    with Index(corpus, say=say) as index, _listen(host, port) as listening:
        app = make_app(index, host=host, token=token)
        shown = f"[{host}]" if ":" in host else host
        ask = "?token=TOKEN" if token else ""
        say(f"Serving {corpus} at http://{shown}:{listening.getsockname()[1]}/{ask}\nCtrl-C ends it.")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False,
            h11_max_incomplete_event_size=_LONGEST_ADDRESS, proxy_headers=False, lifespan="off",
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # before the address is told: who comes early waits, and is not turned away
    except OSError as error:
        listening.close()
        reason = (error.strerror or str(error)).lower()
        raise BadParameter(
            f"{host}:{port} cannot be used: {reason}.", fix="Choose another --port; 0 takes a free one."
        ) from None
    return listening
