"""``onega serve``: the page, on this machine."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from onega.cli.console import fail, remark
from onega.cli.options import flag, option
from onega.core.errors import OnegaError

if TYPE_CHECKING:
    from onega.web.settings import Settings

PORT = 8642


def serve(
    *,
    port: Annotated[int, option("--port", "N", "0: any free one.", min=0, max=65535)] = PORT,
    host: Annotated[
        str,
        option("--host", "ADDRESS", "Another than this machine wants a token."),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        option(
            "--token",
            "T",
            "What requests must bring; 'auto' makes one (so on a shared machine), or 'none'.",
            envvar="ONEGA_TOKEN",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        option("--state", "DIR", "Where logs and results are kept."),
    ] = None,
    workers: Annotated[
        int | None,
        option("--workers", "N", "Processes that simulate.", min=1, max=64),
    ] = None,
    memory: Annotated[float, option("--memory", "GB", "Of one worker at most.", min=0.5)] = 4.0,
    upload: Annotated[int, option("--upload", "MB", "Size of a log at most.", min=1)] = 200,
    store: Annotated[
        float,
        option("--store", "GB", "Logs and results together at most.", min=0.1),
    ] = 20.0,
    browser: Annotated[bool, flag("--browser/--no-browser", "Open the page in a browser.")] = True,
    get: Annotated[
        str | None,
        option("--get", "PATH", "Answer one request, without a port, and leave."),
    ] = None,
) -> None:
    """Open the page: logs, schedulers, models and sizing in a browser on this machine.

    Logs and results are kept between calls. Only this machine can reach the page unless --host
    says so, and then only with the token; so it is where others use this machine too.
    Ctrl-C ends it.
    """
    from onega.web.settings import GIB, LOOPBACK, MIB, Settings, default_state

    local = _is_local(host)
    token, why = _choose_token(token, local=local) if get is None else (None, None)
    if token is not None and not re.fullmatch(r"[A-Za-z0-9_.~-]{8,200}", token):
        raise OnegaError("a token has 8 to 200 letters, digits and signs - _ . ~; or give 'auto'")
    settings = Settings(
        state=(state or default_state()).expanduser().absolute(),
        token=token,
        hosts=LOOPBACK | {host.lower()} if local else None,
        workers=workers or max(1, min(4, os.cpu_count() or 1)),
        memory=int(memory * GIB),
        upload=upload * MIB,
        store=int(store * GIB),
    )
    if get is not None:
        _answer_one(settings, get)
        return
    _serve(settings, host, port, why, browser=browser)


def _choose_token(given: str | None, *, local: bool) -> tuple[str | None, str | None]:
    """Return the token, and why there is one if none was asked for."""
    from onega.web.sharing import why_shared

    if given == "none":
        if not local:
            raise OnegaError("a page that other machines reach needs a token; leave --token out")
        return None, None
    why = None
    if given is None:
        why = why_shared() if local else "other machines can reach it"
    return (secrets.token_urlsafe(24) if given == "auto" or why else given), why


def _is_local(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _answer_one(settings: Settings, path: str) -> None:
    from onega.web.server import get

    answer = get(settings, path)
    sys.stdout.buffer.write(answer.body)
    if answer.kind.startswith(("application/json", "text/")):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()
    if answer.status >= 400:
        fail(f"{path}: answered with status {answer.status}")


def _serve(settings: Settings, host: str, port: int, why: str | None, *, browser: bool) -> None:
    from onega.web.server import listen, serve

    opened = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{opened.getsockname()[1]}/"
    if settings.token is not None:
        address += f"?token={settings.token}"

    def ready() -> None:
        print(address, flush=True)
        remark(f"logs and results are kept in {settings.state}; Ctrl-C ends the page")
        if why is not None:
            off = "; --token none does without" if settings.hosts is not None else ""
            remark(f"the address has a token, because {why}: open it as it stands{off}")
        if settings.hosts is None:
            remark("traffic isn't encrypted: on a network you don't trust, use an SSH tunnel")
        if browser:
            _open_browser(address)

    try:
        serve(settings, opened, ready)
    except KeyboardInterrupt:
        remark("the page is closed; logs and results are kept")


def _open_browser(address: str) -> None:
    """Open the page where there is a screen to look at it."""
    seen = sys.platform in ("darwin", "win32") or {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)
    if not (sys.stdout.isatty() and seen):
        return
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
