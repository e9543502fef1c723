"""The pages: HTML from templates, scripts and styles of ours, Plotly's from its wheel."""

from __future__ import annotations

import re
import time
from collections import Counter
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
from onega.web import api, api_runs, form
from onega.web.api import Broker, ItemId
from onega.web.job_broker import JobBroker
from onega.web.store import Kind

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
"""Advice that names flags of the command, and what stands for it on the page."""


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
    text = f"{100 * share:+.0f} %" if abs(share) >= 0.095 else f"{100 * share:+.2g} %"
    return text.replace("-", "−")


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
TEMPLATES.globals |= {"form": form, "version": __version__}


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
def home(request: Request, broker: Broker) -> Response:
    """Show the logs, and how to get one."""
    return _page(
        request,
        "home.html",
        logs=broker.store.list("logs"),
        runs=_runs_by_log(broker),
        limit=broker.settings.upload,
        nearly_full=broker.store.used > NEARLY_FULL * broker.store.most,
        formats=api.FORMATS,
    )


def _runs_by_log(broker: JobBroker) -> Counter[str]:
    return Counter(run.request["log"] for run in broker.store.list("runs"))


@router.get("/storage")
def storage(request: Request, broker: Broker) -> Response:
    """Show how much room logs and results take, and offer the oldest for deletion."""
    return _page(request, "storage.html", **_storage(broker))


@router.get("/fragments/storage")
def storage_fragment(request: Request, broker: Broker) -> Response:
    """List the oldest items, as they are now."""
    return _page(request, "_storage.html", **_storage(broker))


def _storage(broker: JobBroker) -> dict[str, Any]:
    return {"used": broker.store.used, "most": broker.store.most, "oldest": api.oldest(broker)}


@router.get("/fragments/logs/{id}")
def log_fragment(request: Request, broker: Broker, id: ItemId) -> Response:
    """Tell how far a log is."""
    return _page(request, "_status.html", item=broker.store.get("logs", id))


@router.get("/fragments/{kind}")
def fragment(request: Request, broker: Broker, kind: Kind, log: str | None = None) -> Response:
    """List the items of a kind (of a log), as they are now."""
    items = broker.store.list(kind, log=log)
    more: dict[str, Any] = {}
    if kind == "logs":
        more = {"runs": _runs_by_log(broker)}
    if kind == "runs":
        more = {"logs": None if log else _log_names(broker)}
        items = items[::-1] if log else items
    return _page(request, f"_{kind}.html", **more | {str(kind): items})


def _log_names(broker: JobBroker) -> dict[str, str]:
    return {item.id: item.name for item in broker.store.list("logs")}


@router.get("/logs/{id}")
def log(request: Request, broker: Broker, id: ItemId) -> Response:
    """Show one log: what it says, its runs, its models."""
    item = broker.store.get("logs", id)
    return _page(
        request,
        "log.html",
        log=item,
        # As they were started: the first is what others are compared with.
        runs=broker.store.list("runs", log=id)[::-1],
        models=broker.store.list("models", log=id),
        plans=broker.store.list("plans", log=id),
        policies=api.POLICIES,
        families=api.CALLED,
        orders=ORDERS,
    )


@router.get("/runs")
def runs(request: Request, broker: Broker) -> Response:
    """Show all runs, to choose from for a comparison."""
    names = _log_names(broker)
    return _page(request, "runs.html", runs=broker.store.list("runs"), logs=names)


@router.get("/compare")
def compare(
    request: Request, broker: Broker, runs: Annotated[list[str] | None, Query(max_length=8)] = None
) -> Response:
    """Show runs side by side, or look into a single one."""
    items = api_runs.chosen_runs(broker, ",".join(runs or []))
    logs = {item.id: item for item in broker.store.list("logs")}
    tables = api_runs.shared_jobs(broker, items)
    return _page(
        request,
        "compare.html",
        runs=items,
        measures=api_runs.compared(items, tables),
        base=items[api_runs.first_simulated(items)].name,
        notes=api_runs.comparison_notes(items, tables),
        restricted=tables is not None,
        logs=logs,
    )


@router.get("/sizing")
def sizing(request: Request, broker: Broker, log: str | None = None) -> Response:
    """Show stability and sizing, with sliders."""
    logs = [one for one in broker.store.list("logs") if one.result and one.result["law"]]
    return _page(request, "sizing.html", logs=logs, chosen=log)


@router.get("/api")
def about_api(request: Request) -> Response:
    """Show the API on one page, from its own description."""
    described = request.app.openapi()
    return _page(request, "api.html", described=described, base=str(request.base_url).rstrip("/"))
