"""The API of sizing: does a machine keep up, quick enough to follow a slider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import numpy as np
import polars as pl
from fastapi import APIRouter, Query, Response

from onega.core.errors import QueueingError
from onega.queueing.checks import NEEDED, Check
from onega.web import schemas
from onega.web.api import ERRORS, Broker, json_answer
from onega.web.job_broker import JobBroker
from onega.web.schemas import ID
from onega.web.tasks import LAW, USABLE

if TYPE_CHECKING:
    from onega.experiment.stability.usable_curve import UsableCurve
    from onega.queueing.estimates import LogFacts
    from onega.queueing.widths import Widths

LARGEST: Final = 200_000
"""Servers at most: a curve over three times as many takes half a second."""
POINTS: Final = 160
WIDEST_LAW: Final = 100_000
ASK_RATES: Final = "Give jobs per hour and a mean run time."
UNTESTED: Final = Check("one_law", holds=False, measures={}, words="add the log again to test it")
"""Of a log that an older page has kept."""

router = APIRouter(prefix="/api", tags=["sizing"], responses=ERRORS)

Positive = Annotated[float | None, Query(ge=1e-9, le=1e12, allow_inf_nan=False)]
Factor = Annotated[float, Query(ge=0.001, le=1000, allow_inf_nan=False)]


@router.get("/sizing", response_model=schemas.SizingAnswer)
def sizing(
    broker: Broker,
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
    """Tell whether first come, first served keeps up, here and at other sizes.

    For a log that isn't what the formula ρ = λ·C·E[S] < 1 assumes, by what its own jobs can use.
    """
    law, facts = _source(broker, log, widths)
    rate = arrival_rate or facts.get("arrival_rate")
    mean = mean_runtime or facts.get("mean_runtime")
    size = procs or facts.get("procs") or law.widest
    rate, mean = rate and rate * load_factor, mean and mean * runtime_factor
    return json_answer(
        answer_sizing(law, size, _facts(facts, size, rate, mean), facts.get("measure"))
    )


def _facts(kept: dict[str, Any], size: int, rate: float | None, mean: float | None) -> LogFacts:
    """Return what is known of the jobs if they come at another rate and run longer or shorter."""
    from onega.queueing.estimates import LogFacts

    if not kept:
        return LogFacts(rate, mean)
    assert rate is not None
    assert mean is not None
    longer, oftener = mean / kept["mean_runtime"], rate / kept["arrival_rate"]
    work, inside = kept.get("mean_work"), kept.get("window_procs")
    return LogFacts(
        rate,
        mean,
        mean_work=work and work * longer,
        window_load=inside and inside * longer * oftener / size,
        checks=tuple(Check(**one) for one in kept.get("checks", [])) or (UNTESTED,),
    )


def _source(broker: JobBroker, log: str | None, text: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the law of the widths, and what else the log knows."""
    from onega.queueing.widths import Widths

    if (log is None) == (text is None):
        raise QueueingError("give a log or widths, one of the two")
    if log is None:
        return _within(Widths.parse(str(text))), {}
    item = broker.done("logs", log)
    law = item.numbers["law"]
    if law is None:
        raise QueueingError(
            f"{item.name} has no jobs with a width, a run time and gaps between them"
        )
    name = f"log {item.name}"
    table = pl.read_parquet(broker.file(item, LAW))
    widths = _within(Widths(table["width"].to_numpy(), table["prob"].to_numpy(), name))
    facts = {**law, "procs": item.numbers["procs"]}
    usable = broker.file(item, USABLE)
    if usable.exists():
        from onega.experiment.stability.usable_curve import UsableCurve

        facts["measure"] = UsableCurve.from_polars(pl.read_parquet(usable))
    return widths, facts


def _within(law: Any) -> Any:  # noqa: ANN401
    if law.widest > WIDEST_LAW:
        raise QueueingError(f"the page takes widths up to {WIDEST_LAW:,}; got {law.widest:,}")
    return law


def answer_sizing(
    law: Widths, size: int, facts: LogFacts, measure: UsableCurve | None
) -> dict[str, Any]:
    """Answer for one machine, with the curve around it; as `onega.stability` would."""
    from onega.experiment.stability.measured import with_own_order
    from onega.queueing.constant import check_servers, stability_constant
    from onega.queueing.sentences import verdict_sentence
    from onega.queueing.stability import stability_of

    if size > LARGEST:
        raise QueueingError(f"the page takes up to {LARGEST:,} servers; got {size:,}")
    trimmed = law.trimmed().within(size)
    check_servers(trimmed, size)
    rate, mean = facts.arrival_rate, facts.mean_runtime
    if rate is not None and mean is not None and rate * mean * trimmed.mean > LARGEST:
        needed = f"{rate * mean * trimmed.mean:,.0f}"
        raise QueueingError(f"this work keeps {needed} servers busy; the page takes {LARGEST:,}")
    result = stability_of(trimmed, size, stability_constant(trimmed, size), facts)
    if measure is not None and not result.formula_holds:
        result = with_own_order(result, measure)
    last = min(max(3 * size, result.min_procs or 0, trimmed.widest + 10), 3 * LARGEST)
    sizes = np.unique(np.geomspace(trimmed.widest, last, POINTS).round().astype(np.int64))
    curve = result.curve(sizes)
    decided = result.offered_load is not None
    off = [one.words for one in result.checks or () if not one.holds and one.assumption in NEEDED]
    return {
        "headline": verdict_sentence(result, brief=True) if decided else ASK_RATES,
        "summary": result.summary(),
        "sentences": _without_list(result.sentences()[decided:]),
        "cautions": off,
        "curve": {name: curve[name].to_list() for name in curve.columns},
    }


def _without_list(sentences: list[str]) -> list[str]:
    """Leave out how the log differs from the formula: the page folds that list away."""
    whole = [one for one in sentences if not one.startswith("  •")]
    return [one.removesuffix(" This log differs:") for one in whole]
