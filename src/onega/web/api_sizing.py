"""The API of sizing: does a machine keep up, quick enough to follow a slider."""

from __future__ import annotations

from typing import Annotated, Any, Final

import numpy as np
from fastapi import APIRouter, Query, Response

from onega.core.errors import QueueingError
from onega.web import schemas
from onega.web.api import ERRORS, AtDesk, json_answer
from onega.web.desk import Desk
from onega.web.schemas import ID

LARGEST: Final = 200_000
"""Servers at most: a curve over three times as many takes half a second."""
POINTS: Final = 160
WIDEST_LAW: Final = 100_000

router = APIRouter(prefix="/api", tags=["sizing"], responses=ERRORS)

Positive = Annotated[float | None, Query(ge=1e-9, le=1e12, allow_inf_nan=False)]
Factor = Annotated[float, Query(ge=0.001, le=1000, allow_inf_nan=False)]


@router.get("/sizing", response_model=schemas.SizingAnswer)
def sizing(
    desk: AtDesk,
    log: Annotated[str | None, Query(pattern=ID, description="widths and rates of a log")] = None,
    widths: Annotated[
        str | None,
        Query(max_length=2000, description="instead of a log", examples=["1:0.5,4:0.3,16:0.2"]),
    ] = None,
    procs: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    arrival_rate: Annotated[Positive, Query(description="jobs per second")] = None,
    mean_runtime: Annotated[Positive, Query(description="seconds")] = None,
    load_factor: Annotated[Factor, Query(description="times as many jobs")] = 1.0,
    runtime_factor: Annotated[Factor, Query(description="times as long")] = 1.0,
) -> Response:
    """Tell whether first come, first served keeps up: ρ = λ·C·E[S] < 1, here and at other sizes."""
    law, facts = _source(desk, log, widths)
    rate = arrival_rate or facts.get("arrival_rate")
    mean = mean_runtime or facts.get("mean_runtime")
    size = procs or facts.get("procs") or law.widest
    answer = answer_sizing(law, size, rate and rate * load_factor, mean and mean * runtime_factor)
    return json_answer(answer | {"cautions": facts.get("cautions", [])})


def _source(desk: Desk, log: str | None, text: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the law of the widths, and what else the log knows."""
    from onega.queueing.widths import Widths

    if (log is None) == (text is None):
        raise QueueingError("give a log or widths, one of the two")
    if log is None:
        return _within(Widths.parse(str(text))), {}
    item = desk.done("logs", log)
    assert item.result is not None
    law = item.result["law"]
    if law is None:
        raise QueueingError(
            f"{item.name} has no jobs with a width, a run time and gaps between them"
        )
    name = f"log {item.name}"
    widths = _within(Widths(np.array(law["widths"]), np.array(law["probs"]), name))
    return widths, {**law, "procs": item.result["procs"]}


def _within(law: Any) -> Any:  # noqa: ANN401
    if law.widest > WIDEST_LAW:
        raise QueueingError(f"the page takes widths up to {WIDEST_LAW:,}; got {law.widest:,}")
    return law


def answer_sizing(law: Any, size: int, rate: float | None, mean: float | None) -> dict[str, Any]:  # noqa: ANN401
    """Answer for one machine, with the curve around it."""
    from onega.queueing.stability import stability

    if size > LARGEST:
        raise QueueingError(f"the page takes up to {LARGEST:,} servers; got {size:,}")
    trimmed = law.trimmed()
    if rate is not None and mean is not None and rate * mean * trimmed.mean > LARGEST:
        needed = f"{rate * mean * trimmed.mean:,.0f}"
        raise QueueingError(f"this work keeps {needed} servers busy; the page takes {LARGEST:,}")
    result = stability(trimmed, procs=size, arrival_rate=rate, mean_runtime=mean)
    last = min(max(3 * size, result.min_procs or 0, trimmed.widest + 10), 3 * LARGEST)
    sizes = np.unique(np.geomspace(trimmed.widest, last, POINTS).round().astype(np.int64))
    curve = result.curve(sizes)
    return {
        "summary": result.summary(),
        "sentences": result.sentences(),
        "curve": {name: curve[name].to_list() for name in curve.columns},
    }
