"""The API: logs, models and what can be chosen. Runs and sizing are in modules of their own."""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

import anyio
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from onega import __version__
from onega.core.errors import ModelError, TraceError, suggest
from onega.core.json_safe import json_safe
from onega.core.machine.cluster import CONTROLS
from onega.core.machine.settings.description import Procs
from onega.core.policy import BACKFILLS, ORDERS
from onega.models import MODELS
from onega.traces.reading import FORMATS as READABLE
from onega.traces.reading import read
from onega.traces.tables.mapping import check_timezone
from onega.web import downloads, schemas
from onega.web.job_broker import JobBroker
from onega.web.schemas import ID, ItemAnswer, LogFormat, Problem
from onega.web.store import UPLOAD, Item, Kind, MissingError

POLICIES: Final = {
    "fcfs": "first come, first served",
    "easy": "backfilling that never delays the first in the queue",
    "conservative": "backfilling that delays no job",
    "spf+easy": "shortest first, with EASY backfilling",
    "saf+easy": "smallest area first, with EASY backfilling",
    "wfp3+easy": "old and short jobs first, with EASY backfilling",
    "slurm": "a model of Slurm's scheduler with stock settings",
}
"""Policies to begin with; any ORDER[+BACKFILL] is accepted."""

FORMATS: Final = tuple(format.name for format in READABLE)
CALLED: Final = {
    "independent": "observed laws, no memory",
    "markov": "correlated Markov chains (Song)",
    "markov-pair": "joint Markov chain, observed values",
    "vlmc": "variable length Markov chains",
    "lublin": "Lublin and Feitelson 2003",
    "jann": "Jann et al. 1997",
    "downey": "Downey 1997",
    "feitelson96": "Feitelson 1996",
    "cirne": "Cirne and Berman 2001",
    "private": "noisy counts, differentially private by job",
    "neural": "recurrent neural network of the past",
    "svr": "support vector machine of the past",
    "user-groups": "groups of users with sessions (MUGM)",
    "site": "users' weeks under a regulated total (Figure 2.7)",
}
"""The models' titles; kept here so that choosing one doesn't load them all (a test compares)."""

ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Problem, "description": why}
    for status, why in {
        400: "the request can't be read",
        401: "a token is needed",
        403: "the request comes from elsewhere",
        404: "there is no such item",
        409: "the item isn't ready",
        413: "too large",
        422: "something given is wrong; the message says what",
        503: "too many tasks are waiting",
        507: "logs and results fill the room that they may take; /api/storage lists the oldest",
    }.items()
}

OFFERED: Final = 50
"""Items that are offered for deletion at a time."""

router = APIRouter(prefix="/api", responses=ERRORS)


async def broker_of(request: Request) -> JobBroker:
    """Return the application's broker."""
    broker: JobBroker = request.app.state.broker
    return broker


Broker = Annotated[JobBroker, Depends(broker_of)]
ItemId = Annotated[str, Path(pattern=ID)]


def shown(item: Item) -> dict[str, Any]:
    """Return what an item looks like from outside: without the law behind the sliders."""
    facts = {name: getattr(item, name) for name in ItemAnswer.model_fields}
    if item.result is not None:
        facts["result"] = {k: v for k, v in item.result.items() if k != "law"}
    return facts


def download_name(item: Item, suffix: str) -> str:
    """Make a plain file name from an item's name."""
    stem = PurePosixPath(item.name).name.split(".")[0]
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_+") else "-" for c in stem)
    return f"{safe.strip('-')[:60] or item.kind[:-1]}{suffix}"


def stored_json(path: Any) -> Response:  # noqa: ANN401
    """Answer with a JSON file as it stands."""
    return Response(path.read_bytes(), media_type="application/json")


@router.get("/health", tags=["page"], response_model=schemas.HealthAnswer)
def health(broker: Broker) -> dict[str, Any]:
    """Tell that the page answers."""
    return {"status": "ok", "version": __version__, "waiting": broker.workers.waiting}


@router.get("/options", tags=["page"], response_model=schemas.OptionsAnswer)
def options(broker: Broker) -> dict[str, Any]:
    """List policies, models, formats and limits."""
    settings = broker.settings
    return {
        "version": __version__,
        "policies": POLICIES,
        "orders": ORDERS,
        "backfills": list(BACKFILLS),
        "rate_controls": list(CONTROLS),
        "models": {name: CALLED[name] for name in MODELS},
        "formats": list(FORMATS),
        "limits": {
            "upload": settings.upload,
            "text": settings.text,
            "jobs": settings.jobs,
            "memory": settings.memory,
            "seconds": settings.seconds,
            "store": settings.store,
        },
    }


@router.get("/storage", tags=["page"], response_model=schemas.StorageAnswer)
def storage(broker: Broker) -> dict[str, Any]:
    """Tell how much room logs and results take, and which are the oldest: `DELETE` their `path`."""
    return {
        "used": broker.store.used,
        "most": broker.store.most,
        "oldest": [
            {
                "path": f"/api/{item.kind}/{item.id}",
                "name": item.name,
                "created": item.created,
                "size": item.size,
            }
            for item in oldest(broker)
        ],
    }


def oldest(broker: JobBroker) -> list[Item]:
    """Return the items to be deleted first, where something has to be."""
    return [item for item in broker.store.all() if item.status in ("done", "failed")][:OFFERED]


@router.post(
    "/logs",
    tags=["logs"],
    status_code=202,
    response_model=ItemAnswer,
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "the file as it is: SWF, sacct, PBS, CSV, Parquet; may be compressed",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        }
    },
)
async def upload_log(
    request: Request,
    broker: Broker,
    name: Annotated[schemas.Name, Query(description="the file's name, to be shown")],
    procs: Annotated[Procs | None, Query(description="processors, if the log doesn't say")] = None,
    format: Annotated[
        str | None,
        Query(
            description="found from the content by default",
            json_schema_extra={"enum": list(FORMATS)},
        ),
    ] = None,
    timezone: Annotated[str | None, Query(max_length=60, examples=["Europe/Berlin"])] = None,
) -> dict[str, Any]:
    """Upload a log: the body is the file. It is read by a worker; ask for the log until it is done.

    `curl --data-binary @LOG ADDRESS/api/logs?name=LOG`
    """
    _check_words(format, timezone)
    asked = {"procs": procs, "format": format, "timezone": timezone}
    announced = request.headers.get("content-length", "")
    size = int(announced) if announced.isdecimal() else broker.settings.upload
    create = partial(broker.store.create, "logs", name, asked, task="read", size=size)
    item = await anyio.to_thread.run_sync(create)
    coming = broker.file(item, f"{UPLOAD}.part")
    try:
        async with await anyio.open_file(coming, "wb") as out:
            async for piece in request.stream():
                await out.write(piece)
        coming.replace(coming.with_name(UPLOAD))
    except BaseException:
        # Too large, the disk is full, or the sender went away: nothing is left behind.
        broker.remove("logs", item.id)
        raise
    return shown(broker.order(item))


def _check_words(format: str | None, timezone: str | None) -> None:
    if format is not None and format not in FORMATS:
        raise TraceError(f"unknown format {format!r}; {suggest(format, FORMATS)}")
    check_timezone(timezone)


@router.post("/logs/sample", tags=["logs"], status_code=202, response_model=ItemAnswer)
def demo_log(broker: Broker, given: schemas.DemoRequest) -> dict[str, Any]:
    """Make a log from a model with its published parameters."""
    name = given.name or f"{given.jobs:,} jobs of {CALLED[given.model]}"
    return shown(broker.place("sample", "logs", name, given.model_dump()))


@router.get("/logs/{id}/description", tags=["logs"], response_model=dict[str, Any])
def description(broker: Broker, id: ItemId) -> Response:
    """Return every measure of the log, as `onega describe --json`."""
    return stored_json(broker.file(broker.done("logs", id), "description.json"))


@router.get("/logs/{id}/figures/{figure}", tags=["logs"], response_model=schemas.FigureAnswer)
def log_figure(broker: Broker, id: ItemId, figure: str) -> Response:
    """Return one of the log's figures; their names are in the log's result."""
    return figure_of(broker, "logs", id, figure)


def figure_of(broker: JobBroker, kind: Kind, id: str, figure: str) -> Response:
    """Answer with a figure of an item, if it is among those that it has."""
    item = broker.done(kind, id)
    names = list(item.numbers["figures"])
    if figure not in names:
        raise MissingError(f"no figure {figure[:40]!r}; {suggest(figure[:40], names)}")
    known = names[names.index(figure)]  # our own word for it, not the request's
    return stored_json(broker.file(item, "figures", f"{known}.json"))


@router.get("/logs/{id}/download", tags=["logs"], response_class=Response)
async def download_log(broker: Broker, id: ItemId, format: LogFormat = "swf") -> Response:
    """Download a log's jobs."""
    item = broker.done("logs", id)
    path = broker.file(item, "jobs.parquet")
    name = download_name(item, f".{format}")
    if format == "swf":
        return await downloads.swf(lambda: read(path, "parquet"), name, broker)
    return downloads.table(path, name, format)


@router.post("/models", tags=["models"], status_code=202, response_model=ItemAnswer)
def fit(broker: Broker, given: schemas.FitRequest) -> dict[str, Any]:
    """Learn a model from a log."""
    if given.model not in MODELS:
        raise ModelError(f"no model {given.model[:40]!r}; {suggest(given.model[:40], MODELS)}")
    source = broker.done("logs", given.log)
    name = given.name or f"{given.model} of {source.name}"
    return shown(broker.place("fit", "models", name, given.model_dump()))


@router.get("/models/{id}/download", tags=["models"], response_model=dict[str, Any])
def download_model(broker: Broker, id: ItemId) -> Response:
    """Download a model's parameters, for `onega sample`."""
    item = broker.done("models", id)
    text = broker.file(item, "model.json").read_bytes()
    headers = downloads.attachment(download_name(item, ".json"))
    return Response(text, media_type="application/json", headers=headers)


@router.post("/models/{id}/sample", tags=["models"], status_code=202, response_model=ItemAnswer)
def sample(broker: Broker, id: ItemId, given: schemas.SampleRequest) -> dict[str, Any]:
    """Draw jobs from a model: a new log, compared with the one the model was learnt from."""
    source = broker.done("models", id)
    name = given.name or f"{given.jobs:,} jobs of {source.name}"
    return shown(broker.place("sample", "logs", name, given.model_dump() | {"model": id}))


def json_answer(content: Any) -> JSONResponse:  # noqa: ANN401
    """Answer with numbers that may be NumPy's or NaN."""
    return JSONResponse(json_safe(content))
