"""Running the application: on a port, or for one request without any."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from onega.core.errors import OnegaError
from onega.web.app import make_app
from onega.web.settings import Settings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

M_ARENA_MAX: Final = -8
"""Its number in glibc's malloc.h."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request without a port gave."""

    status: int
    body: bytes
    kind: str


def get(settings: Settings, path: str) -> Answer:
    """Answer one GET request inside this process: no port, no workers, nothing written."""
    app = make_app(settings, writing=False)
    return asyncio.run(_one_request(app, path))


async def _one_request(app: Any, path: str) -> Answer:  # noqa: ANN401
    parts = urlsplit(path if path.startswith("/") else f"/{path}")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "root_path": "",
        "query_string": parts.query.encode(),
        "headers": [(b"host", b"localhost")],
        "client": None,
        "server": ("localhost", 80),
    }
    status, kind = 500, ""
    body = bytearray()

    asked, answered = False, asyncio.Event()

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await answered.wait()  # what streams an answer listens for a client that goes away
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, kind
        if message["type"] == "http.response.start":
            status = message["status"]
            kind = dict(message["headers"]).get(b"content-type", b"").decode("latin-1")
        else:
            body.extend(message.get("body", b""))
            if not message.get("more_body", False):
                answered.set()

    await app(scope, receive, send)
    return Answer(status, bytes(body), kind)


def listen(host: str, port: int) -> socket.socket:
    """Open a port; an address that can't be had is one clear line."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, proto)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
    except OSError as error:
        hint = (
            "; give another --port, or --port 0 for any" if error.errno == errno.EADDRINUSE else ""
        )
        raise OnegaError(
            f"can't listen on {host}, port {port}: {error.strerror or error}{hint}"
        ) from None
    return opened


def configure(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Return how uvicorn is to serve the application."""
    import uvicorn

    from onega.web.connections import bounded

    return uvicorn.Config(
        app,
        http=bounded(settings),
        ws="none",
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=3,
    )


def _share_memory() -> None:
    """Let threads share what they free, where glibc would keep it apart for each of them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


def serve(settings: Settings, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Answer until stopped; ``ready`` is called when the page answers."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

    _share_memory()
    app = make_app(settings, warm=True)
    Server(configure(app, settings)).run([opened])
