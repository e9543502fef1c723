"""The API of plans: which machine, policy or load meets a target."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from onega.core.policy import Policy
from onega.web import schemas
from onega.web.api import ERRORS, AtDesk, ItemId, figure_of, shown
from onega.web.schemas import ID, ItemAnswer

router = APIRouter(prefix="/api", tags=["plans"], responses=ERRORS)


@router.get("/plans", response_model=list[ItemAnswer])
def plans(
    desk: AtDesk, log: Annotated[str | None, Query(pattern=ID)] = None
) -> list[dict[str, Any]]:
    """List the plans, the newest first; of one log, if it is named."""
    found = desk.store.list("plans")
    return [shown(item) for item in found if log is None or item.request["log"] == log]


@router.post("/plans", status_code=202, response_model=ItemAnswer)
def make_plan(desk: AtDesk, given: schemas.PlanRequest) -> dict[str, Any]:
    """Find the fewest processors, the best policy or the largest load with which a target holds.

    The answer has a confidence of 95 %, over resamples of the log by weeks.
    """
    from onega.experiment.planning.targets import parse_targets

    desk.done("logs", given.log)
    targets = parse_targets(given.target)
    if given.vary != "policy":
        Policy.parse(given.policy)
    varied = {"procs": "processors", "policy": "policy", "load": "load"}[given.vary]
    name = given.name or f"{' and '.join(map(str, targets))} by {varied}"
    return shown(desk.place("plan", "plans", name, given.model_dump()))


@router.get("/plans/{id}", response_model=ItemAnswer)
def one_plan(desk: AtDesk, id: ItemId) -> dict[str, Any]:
    """Return a plan: how far it is, then its answer, as `onega plan --json`, and in words."""
    return shown(desk.store.get("plans", id))


@router.delete("/plans/{id}", status_code=204)
def delete_plan(desk: AtDesk, id: ItemId) -> None:
    """Delete a plan; one that is under way is stopped."""
    desk.remove("plans", id)


@router.get("/plans/{id}/figures/{figure}", response_model=schemas.FigureAnswer)
def plan_figure(desk: AtDesk, id: ItemId, figure: str) -> Response:
    """Return the plan's figure, ``curve``: what was tried and what it gave."""
    return figure_of(desk, "plans", id, figure)
