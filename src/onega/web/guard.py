"""Requests that are answered: host, token, origin, size; and headers that keep a browser strict.

Plain ASGI, around everything else, so that a refused request costs nothing: a body that is too
large is refused by its announced length before a byte of it is read.
"""

from __future__ import annotations

import json
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onega.web.settings import MIB, Settings

COOKIE: Final = "onega_token"
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
JSON_BODY: Final = MIB
UPLOAD_PATH: Final = "/api/logs"

HEADERS: Final = {
    # Plotly writes a style sheet of its own into the page; scripts come from files only.
    "content-security-policy": "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class TooLarge(HTTPException):
    """The body of a request grew past its limit while it was read."""

    def __init__(self, limit: int) -> None:
        # Closed, because the rest of the body would still have to be taken in otherwise.
        super().__init__(413, _too_large(limit), headers={"connection": "close"})


class Guard:
    """Refuses what mustn't come in, and marks what goes out."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api"):
                    headers.setdefault("cache-control", "no-store")
            await send(message)

        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(marked, *refusal)
            return
        if await self._exchange_token(scope, marked):
            return
        await self.app(scope, _counting(receive, self._limit(scope)), marked)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        hosts = self.settings.hosts
        if hosts is not None and _host_name(host) not in hosts:
            return 403, (
                f"this page doesn't answer to the name {host[:80]!r}; open it by the address that "
                "`onega serve` printed"
            )
        if scope["method"] not in SAFE_METHODS and not _same_origin(headers, host):
            return 403, "another site's page may not change anything here"
        if not self._has_token(scope, headers):
            return 401, (
                "a token is needed: open the address that `onega serve` printed, or send the "
                "header 'Authorization: Bearer TOKEN'"
            )
        length = headers.get("content-length", "0")
        limit = self._limit(scope)
        if length.isdecimal() and int(length) > limit:
            return 413, _too_large(limit)
        return None

    def _limit(self, scope: Scope) -> int:
        upload = scope["method"] == "POST" and scope["path"] == UPLOAD_PATH
        return self.settings.upload if upload else JSON_BODY

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        wanted = self.settings.token
        if wanted is None:
            return True
        given = [_asked_token(scope), headers.get("authorization", "").removeprefix("Bearer ")]
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        given.append("" if cookie is None else cookie.value)
        return any(secrets.compare_digest(one.encode(), wanted.encode()) for one in given)

    async def _exchange_token(self, scope: Scope, send: Send) -> bool:
        """Put a token of the address into a cookie, and take it out of the address."""
        if self.settings.token is None or scope["method"] != "GET" or not _asked_token(scope):
            return False
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        del query["token"]
        rest = urlencode(query, doseq=True)
        # Two slashes at the beginning would name another host.
        target = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
        cookie = f"{COOKIE}={self.settings.token}; HttpOnly; SameSite=Strict; Path=/"
        headers = [
            (b"location", quote(target, safe="/?=&%").encode()),
            (b"set-cookie", cookie.encode()),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return True


def _asked_token(scope: Scope) -> str:
    query = parse_qs(scope["query_string"].decode("latin-1"))
    return str(query.get("token", [""])[0])


def _host_name(host: str) -> str:
    """Return the name without port and brackets: ``[::1]:8080`` → ``::1``."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same_origin(headers: Headers, host: str) -> bool:
    """Tell whether a request that changes something comes from this page, or from no page."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _counting(receive: Receive, limit: int) -> Receive:
    """Stop reading a body that grows past its limit, whatever length it announced."""
    total = 0

    async def counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            raise TooLarge(limit)
        return message

    return counted


def _too_large(limit: int) -> str:
    return (
        f"too large: at most {limit // MIB} MB are accepted here; compress the log (.gz, .xz, "
        ".zst), or use the command `onega`"
    )


async def _answer(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
