"""The machine that settings describe: plain dictionaries, as a cluster file or flags give them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.machine.faults import Failures, Interruption
from onega.core.machine.nodes import NodeGroup, Partition
from onega.core.machine.overheads import Overheads
from onega.core.machine.queues import Multifactor, Queue, UserLimits
from onega.core.machine.sleep import Sleep, SleepState

_LISTS: Final[dict[str, Callable[..., Any]]] = {
    "nodes": NodeGroup,
    "partitions": Partition,
    "queues": Queue,
}
_TABLES: Final[dict[str, Callable[..., Any]]] = {
    "power": Power,
    "user_limits": UserLimits,
    "multifactor": Multifactor,
    "failures": Failures,
    "overheads": Overheads,
    "interruption": Interruption,
}
"""Parts of a cluster that are made from the keys of their tables."""


def parts_of(
    settings: Mapping[str, Any],
) -> Iterator[tuple[tuple[str | int, ...], Callable[[], Any]]]:
    """Yield where each part stands, and what makes it; rates, which flags may complete, don't."""
    for name, make in _LISTS.items():
        for number, one in enumerate(settings.get(name, ())):
            yield (name, number), partial(make, **one)
    for name, make in _TABLES.items():
        if name in settings:
            yield (name,), partial(make, **settings[name])
    for number, state in enumerate(settings.get("sleep", {}).get("states", ())):
        yield ("sleep", "states", number), partial(SleepState, **state)


def make_cluster(settings: Mapping[str, Any]) -> Cluster:
    """Make the machine that settings describe, as `read_settings` returns them."""
    made: dict[str, Any] = {
        name: settings[name]
        for name in ("procs", "placement", "whole_nodes", "power_cap", "resources")
        if name in settings
    }
    for name, make in _LISTS.items():
        made[name] = [make(**one) for one in settings.get(name, ())]
    for name, make in _TABLES.items():
        if name in settings:
            made[name] = make(**settings[name])
    if "sleep" in settings:
        states = [SleepState(**state) for state in settings["sleep"]["states"]]
        made["sleep"] = Sleep(states, wake_ahead=settings["sleep"].get("wake_ahead", False))
    return Cluster(rates=RateControl(**settings.get("rate_control", {})), **made)
