"""The API of plans: which machine, policy or load meets a target."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from onega.core.policy import Policy
from onega.web import schemas
from onega.web.api import ERRORS, Broker, ItemId, figure_of, shown
from onega.web.schemas import ItemAnswer

router = APIRouter(prefix="/api", tags=["plans"], responses=ERRORS)


@router.post("/plans", status_code=202, response_model=ItemAnswer)
def make_plan(broker: Broker, given: schemas.PlanRequest) -> dict[str, Any]:
    """Find the fewest processors, the best policy or the largest load with which a target holds.

    The answer has a confidence of 95 %, over resamples of the log by weeks.
    """
    from onega.experiment.planning.targets import parse_targets

    broker.done("logs", given.log)
    targets = parse_targets(given.target)
    if given.vary != "policy":
        Policy.parse(given.policy)
    varied = {"procs": "processors", "policy": "policy", "load": "load"}[given.vary]
    name = given.name or f"{' and '.join(map(str, targets))} by {varied}"
    return shown(broker.place("plan", "plans", name, given.model_dump()))


@router.get("/plans/{id}/figures/{figure}", response_model=schemas.FigureAnswer)
def plan_figure(broker: Broker, id: ItemId, figure: str) -> Response:
    """Return the plan's figure, ``curve``: what was tried and what it gave."""
    return figure_of(broker, "plans", id, figure)
