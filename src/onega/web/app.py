"""The application: routes, errors in one line, guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from onega import __version__
from onega.core.errors import OnegaError
from onega.web import api, api_items, api_plans, api_runs, api_sizing, pages
from onega.web.guard import Guard
from onega.web.job_broker import JobBroker, NotReadyError
from onega.web.settings import Settings
from onega.web.store import FullError, MissingError
from onega.web.worker import FULL, NO_ROOM
from onega.web.workers import Busy

THREADS = 16
"""Requests that are worked on at a time; twice as many as can wait for a machine to be checked."""

ABOUT = """What the page and the command do, as JSON.

Upload a log (`POST /api/logs`), run policies on it (`POST /api/runs`), ask until `status` is
`done`, compare (`GET /api/compare`). Times are seconds, power watts, energy joules."""


def make_app(settings: Settings, *, writing: bool = True, warm: bool = False) -> FastAPI:
    """Build the application.

    Parameters
    ----------
    settings
        Where its files are, which requests it answers, what it may use.
    writing
        False: answer from what is there, leave the state as it is (``onega serve --get``).
    warm
        Let a worker load the simulator before the first request.
    """
    broker = JobBroker(settings, writing=writing)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        # Each thread that has worked keeps some memory: few are enough on one machine.
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        broker.resume()
        if warm:
            broker.warm_up()
        yield
        broker.close()

    app = FastAPI(
        title="Onega",
        version=__version__,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,  # the usual pages load scripts from elsewhere
        redoc_url=None,
        lifespan=living,
    )
    app.state.broker = broker
    for part in (api, api_items, api_runs, api_plans, api_sizing, pages):
        app.include_router(part.router)
    pages.mount_static(app)
    _handle_errors(app)
    app.add_middleware(Guard, settings=settings)
    return app


def _handle_errors(app: FastAPI) -> None:
    """Answer every foreseeable failure with its status and one line."""

    def onega_error(request: Request, error: Exception) -> Response:
        known: dict[type, int] = {MissingError: 404, NotReadyError: 409, FullError: 507}
        status = known.get(type(error), 422)
        return _refuse(request, status, str(error))

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _refuse(request, 422, _explain(error))

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _refuse(request, error.status_code, str(error.detail), error.headers)

    def gone(request: Request, error: Exception) -> Response:
        return _refuse(request, 400, "the upload broke off")  # the sender is gone

    def busy(request: Request, error: Exception) -> Response:
        return _refuse(request, 503, str(error))

    def system(request: Request, error: Exception) -> Response:
        """Answer for the system's errors, without the places of files on this machine."""
        if isinstance(error, FileNotFoundError):
            return _refuse(request, 404, "it isn't there any more; it may have been deleted")
        assert isinstance(error, OSError)
        if error.errno in NO_ROOM:
            return _refuse(request, 507, FULL)
        return _refuse(request, 500, f"can't read or write: {error.strerror or 'no reason given'}")

    app.add_exception_handler(OSError, system)
    app.add_exception_handler(OnegaError, onega_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Busy, busy)
    app.add_exception_handler(ClientDisconnect, gone)


def _refuse(request: Request, status: int, message: str, headers: Any = None) -> Response:  # noqa: ANN401
    if request.url.path.startswith("/api"):
        return JSONResponse({"error": message}, status, headers=headers)
    return pages.problem(request, status, message)


def _explain(error: RequestValidationError) -> str:
    """Say on one line what is wrong, each part with its name."""
    parts = []
    for one in error.errors()[:3]:
        place = ".".join(str(part) for part in one["loc"] if part not in ("body", "query", "path"))
        parts.append(f"{place}: {one['msg']}" if place else str(one["msg"]))
    return "; ".join(parts)
