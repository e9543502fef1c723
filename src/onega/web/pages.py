"""The pages: HTML from templates, scripts and styles of ours, Plotly's from its wheel."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import Environment, PackageLoader, select_autoescape
from starlette.staticfiles import StaticFiles

from onega import __version__
from onega.core.policy import ORDERS
from onega.core.units import (
    count_of,
    humanise_energy,
    humanise_power,
    humanise_seconds,
    overfull,
    quantity,
)
from onega.web import api, api_runs
from onega.web.api import AtDesk, ItemId
from onega.web.desk import Desk
from onega.web.store import Item

HERE: Final = Path(__file__).parent
PLOTLY: Final = Path(str(files("plotly") / "package_data" / "plotly.min.js"))
NEARLY_FULL: Final = 0.8
"""Share of the room for logs and results from which on the page says so."""
FOR_EVER: Final = {"cache-control": "public, max-age=31536000, immutable"}

router = APIRouter(include_in_schema=False)


def _count(number: float | None, noun: str = "") -> str:
    if number is None:
        return "–"
    return count_of(number, noun) if noun else f"{number:,.0f}"


_WRITTEN: Final[dict[str, Callable[[float], str]]] = {
    "s": humanise_seconds,
    "%": lambda share: f"{100 * share:.1f} %{overfull(share)}",
    "J": humanise_energy,
    "W": humanise_power,
}


def _measure(value: float | None, unit: str) -> str:
    """Write a measure for a person."""
    if value is None:
        return "–"
    write = _WRITTEN.get(unit)
    return write(value) if write else f"{quantity(value, 4)} {unit}".strip()


ADVICE: Final = (
    (r"with --procs N its load is shown", "say so when uploading, and its load is shown"),
    (r"; say timezone= or --timezone", "; say the zone when uploading"),
    (r"say which with format= or --from", "say which when uploading"),
    (r"map one with columns= or --column \S+", "give it one of the usual names"),
    (r"give procs= \(--procs\)", "give the number of processors"),
    (r" \(--[^)]*\)", ""),
    (r"; (say|give) [^;]*--[a-z][^;]*$", ""),
)
"""Advice for those who type commands, and what stands for it on the page."""


def _for_page(text: str) -> str:
    """Take flags of the command out of a sentence: the page has fields."""
    for pattern, words in ADVICE:
        text = re.sub(pattern, words, text)
    return text


def _ago(moment: float) -> str:
    passed = time.time() - moment
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed >= unit:
            return f"{passed / unit:.0f} {name} ago"
    return "just now"


def _change(share: float) -> str:
    """Write a relative change: percent, or times where it is large; nothing where it is nil."""
    if share >= 9:
        return f"× {share + 1:,.3g}" if share < 999 else f"× {share + 1:,.0f}"
    if -1 < share <= -0.9:
        return f"÷ {1 / (1 + share):,.3g}" if share > -0.999 else f"÷ {1 / (1 + share):,.0f}"
    if abs(share) < 0.0005:
        return ""
    return f"{100 * share:+.0f} %" if abs(share) >= 0.095 else f"{100 * share:+.2g} %"


TEMPLATES: Final = Environment(
    loader=PackageLoader("onega.web"), autoescape=select_autoescape(default=True)
)
TEMPLATES.filters |= {
    "ago": _ago,
    "change": _change,
    "count": _count,
    "for_page": _for_page,
    "measure": _measure,
    "seconds": humanise_seconds,
}
TEMPLATES.globals |= {"version": __version__}


def mount_static(app: FastAPI) -> None:
    """Serve our own scripts and styles."""
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")


def _page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:  # noqa: ANN401
    text = TEMPLATES.get_template(template).render(path=request.url.path, **values)
    return HTMLResponse(text, status, headers={"cache-control": "no-cache"})


def problem(request: Request, status: int, message: str) -> Response:
    """Say on a page of its own what went wrong."""
    return _page(request, "problem.html", status=status, message=message, code=status)


@router.get("/plotly.js")
def plotly() -> Response:
    """Serve Plotly's JavaScript, from its wheel."""
    return FileResponse(PLOTLY, media_type="text/javascript", headers=FOR_EVER)


@router.get("/")
def home(request: Request, desk: AtDesk) -> Response:
    """Show the logs, and how to get one."""
    logs = desk.store.list("logs")
    return _page(
        request,
        "home.html",
        logs=logs,
        runs=_runs_by_log(desk.store.list("runs")),
        limit=desk.settings.upload,
        nearly_full=desk.store.used > NEARLY_FULL * desk.store.most,
        formats=api.FORMATS,
    )


def _runs_by_log(runs: list[Item]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for run in runs:
        counted[run.request["log"]] = counted.get(run.request["log"], 0) + 1
    return counted


@router.get("/storage")
def storage(request: Request, desk: AtDesk) -> Response:
    """Show how much room logs and results take, and offer the oldest for deletion."""
    return _page(request, "storage.html", **_storage(desk))


@router.get("/fragments/storage")
def storage_fragment(request: Request, desk: AtDesk) -> Response:
    """List the oldest items, as they are now."""
    return _page(request, "_storage.html", **_storage(desk))


def _storage(desk: Desk) -> dict[str, Any]:
    return {"used": desk.store.used, "most": desk.store.most, "oldest": api.oldest(desk)}


@router.get("/fragments/logs")
def logs_fragment(request: Request, desk: AtDesk) -> Response:
    """List the logs, as they are now."""
    runs = _runs_by_log(desk.store.list("runs"))
    return _page(request, "_logs.html", logs=desk.store.list("logs"), runs=runs)


@router.get("/fragments/logs/{id}")
def log_fragment(request: Request, desk: AtDesk, id: ItemId) -> Response:
    """Tell how far a log is."""
    return _page(request, "_status.html", item=desk.store.get("logs", id))


@router.get("/fragments/runs")
def runs_fragment(request: Request, desk: AtDesk, log: str | None = None) -> Response:
    """List the runs (of a log), as they are now."""
    runs = desk.store.list("runs") if log is None else _runs_of(desk, log)
    names = {item.id: item.name for item in desk.store.list("logs")}
    return _page(request, "_runs.html", runs=runs, logs=None if log else names)


@router.get("/fragments/models")
def models_fragment(request: Request, desk: AtDesk, log: str | None = None) -> Response:
    """List the models (of a log), as they are now."""
    found = [one for one in desk.store.list("models") if log is None or one.request["log"] == log]
    return _page(request, "_models.html", models=found)


@router.get("/fragments/plans")
def plans_fragment(request: Request, desk: AtDesk, log: str | None = None) -> Response:
    """List the plans (of a log), as they are now."""
    found = [one for one in desk.store.list("plans") if log is None or one.request["log"] == log]
    return _page(request, "_plans.html", plans=found)


@router.get("/logs/{id}")
def log(request: Request, desk: AtDesk, id: ItemId) -> Response:
    """Show one log: what it says, its runs, its models."""
    item = desk.store.get("logs", id)
    plans = [one for one in desk.store.list("plans") if one.request["log"] == id]
    fitted = [one for one in desk.store.list("models") if one.request["log"] == id]
    return _page(
        request,
        "log.html",
        log=item,
        runs=_runs_of(desk, id),
        models=fitted,
        plans=plans,
        policies=api.POLICIES,
        families=api.CALLED,
        orders=ORDERS,
    )


def _runs_of(desk: Desk, log: str) -> list[Item]:
    """Return a log's runs as they were started: the first is what others are compared with."""
    return [run for run in desk.store.list("runs")[::-1] if run.request["log"] == log]


@router.get("/runs")
def runs(request: Request, desk: AtDesk) -> Response:
    """Show all runs, to choose from for a comparison."""
    names = {item.id: item.name for item in desk.store.list("logs")}
    return _page(request, "runs.html", runs=desk.store.list("runs"), logs=names)


@router.get("/compare")
def compare(
    request: Request, desk: AtDesk, runs: Annotated[list[str] | None, Query(max_length=8)] = None
) -> Response:
    """Show runs side by side, or look into a single one."""
    items = api_runs.chosen_runs(desk, ",".join(runs or []))
    logs = {item.id: item for item in desk.store.list("logs")}
    tables = api_runs.shared_jobs(desk, items)
    return _page(
        request,
        "compare.html",
        runs=items,
        measures=api_runs.compared(items, tables),
        notes=api_runs.comparison_notes(items, tables),
        restricted=tables is not None,
        logs=logs,
    )


@router.get("/sizing")
def sizing(request: Request, desk: AtDesk, log: str | None = None) -> Response:
    """Show stability and sizing, with sliders."""
    logs = [one for one in desk.store.list("logs") if one.result and one.result["law"]]
    return _page(request, "sizing.html", logs=logs, chosen=log)


@router.get("/api")
def about_api(request: Request) -> Response:
    """Show the API on one page, from its own description."""
    described = request.app.openapi()
    return _page(request, "api.html", described=described, base=str(request.base_url).rstrip("/"))
