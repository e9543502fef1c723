"""The API of what is kept, the same for logs, runs, models and plans: list, look at, delete."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query

from onega.web.api import ERRORS, Broker, ItemId, shown
from onega.web.schemas import ID, ItemAnswer
from onega.web.store import KINDS, Kind

router = APIRouter(prefix="/api", responses=ERRORS)

RESULTS: Final[dict[Kind, str]] = {
    "logs": "what the log says",
    "runs": "its numbers, as `onega simulate --json`",
    "models": "its parameters in short",
    "plans": "its answer, as `onega plan --json`, and in words",
}
"""What an item has when it is done."""

LEFT: Final[dict[Kind, str]] = {
    "logs": "its runs stay",
    "runs": "one that is under way is stopped",
    "models": "logs drawn from it stay",
    "plans": "one that is under way is stopped",
}
"""What a deletion leaves, or ends."""


def add_routes(kind: Kind) -> None:
    """Offer the three requests for one kind of item."""
    one = kind.removesuffix("s")

    def every(broker: Broker) -> list[dict[str, Any]]:
        return [shown(item) for item in broker.store.list(kind)]

    def of_log(
        broker: Broker, log: Annotated[str | None, Query(pattern=ID)] = None
    ) -> list[dict[str, Any]]:
        return [shown(item) for item in broker.store.list(kind, log=log)]

    def get(broker: Broker, id: ItemId) -> dict[str, Any]:
        return shown(broker.store.get(kind, id))

    def delete(broker: Broker, id: ItemId) -> None:
        broker.remove(kind, id)

    some = "" if kind == "logs" else "; of one log, if it is named"
    listing = every if kind == "logs" else of_log
    tags: list[str | Enum] = [kind]
    router.get(
        f"/{kind}",
        name=kind,
        tags=tags,
        response_model=list[ItemAnswer],
        description=f"List the {kind}, the newest first{some}.",
    )(listing)
    router.get(
        f"/{kind}/{{id}}",
        name=f"one_{one}",
        tags=tags,
        response_model=ItemAnswer,
        description=f"Return a {one}: how far it is, then {RESULTS[kind]}.",
    )(get)
    router.delete(
        f"/{kind}/{{id}}",
        name=f"delete_{one}",
        tags=tags,
        status_code=204,
        description=f"Delete a {one}; {LEFT[kind]}.",
    )(delete)


for kind in KINDS:
    add_routes(kind)
