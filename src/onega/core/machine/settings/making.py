"""The machine that settings describe: plain dictionaries, as a cluster file or flags give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from onega.core.errors import MachineError
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.machine.faults import Failures, Interruption
from onega.core.machine.nodes import NodeGroup, Partition
from onega.core.machine.overheads import Overheads
from onega.core.machine.queues import Multifactor, Queue, UserLimits
from onega.core.machine.settings.lines import Place
from onega.core.machine.sleep import Sleep, SleepState

_PARTS: Final[dict[str, Callable[..., Any]]] = {
    "nodes": NodeGroup,
    "partitions": Partition,
    "queues": Queue,
    "power": Power,
    "user_limits": UserLimits,
    "multifactor": Multifactor,
    "failures": Failures,
    "overheads": Overheads,
    "interruption": Interruption,
}
"""Parts of a cluster that are made from the keys of their tables."""


def parts_of(settings: Mapping[str, Any]) -> Iterator[tuple[Place, Callable[[], Any]]]:
    """Yield where each part stands, and what makes it; rates, which flags may complete, don't."""
    for name, make in _PARTS.items():
        given = settings.get(name, ())
        if isinstance(given, Mapping):
            yield (name,), partial(make, **given)
        else:
            yield from (((name, place), partial(make, **one)) for place, one in enumerate(given))
    for place, state in enumerate(settings.get("sleep", {}).get("states", ())):
        yield ("sleep", "states", place), partial(SleepState, **state)


def with_size(settings: Mapping[str, Any], procs: int | None, advice: str) -> dict[str, Any]:
    """Complete settings that don't say how large the machine is by the log's own size, if known."""
    if settings.keys() & {"procs", "nodes", "partitions"}:
        return dict(settings)
    if procs is None:
        raise MachineError(f"the log doesn't say how many processors the machine has; {advice}")
    return {**settings, "procs": procs}


def make_cluster(settings: Mapping[str, Any]) -> Cluster:
    """Make the machine that settings describe, as `read_settings` returns them."""
    made = {name: one for name, one in settings.items() if name not in (*_PARTS, "rate_control")}
    states = []
    for place, make in parts_of(settings):
        name = str(place[0])
        if name == "sleep":
            states.append(make())
        elif len(place) > 1:
            made.setdefault(name, []).append(make())
        else:
            made[name] = make()
    if "sleep" in settings:
        made["sleep"] = Sleep(states, wake_ahead=settings["sleep"].get("wake_ahead", False))
    return Cluster(rates=RateControl(**settings.get("rate_control", {})), **made)
