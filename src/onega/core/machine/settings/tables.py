"""The tables of a cluster file, key by key, and what is said of a key at fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from onega.core.errors import suggest

Numbers = float | list[float]
Span = float | str
"""A duration: seconds, or text such as "15m"."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RateControlTable(_Table):
    """The table ``[rate_control]``."""

    kind: str | None = None
    rates: Numbers | None = None
    k_low: Numbers | None = None
    k_high: Numbers | None = None
    p_low: float | None = None
    p_high: float | None = None


class PowerTable(_Table):
    """The table ``[power]``."""

    busy: Numbers
    idle: Numbers | None = None


class NodesTable(_Table):
    """A table ``[[nodes]]``: a group of equal nodes."""

    count: int
    procs: int | None = None
    memory: float | str | None = None
    gpus: float | None = None
    resources: dict[str, float] | None = None


class PartitionTable(_Table):
    """A table ``[[partitions]]``."""

    name: int | str
    procs: int | None = None
    nodes: str | None = None
    policy: str | None = None
    placement: str | None = None
    whole_nodes: bool | None = None
    default: bool | None = None


class QueueTable(_Table):
    """A table ``[[queues]]``."""

    name: int | str
    priority: float | None = None
    max_jobs: int | None = None
    max_procs: int | None = None
    max_jobs_per_user: int | None = None
    max_procs_per_user: int | None = None
    max_time: Span | None = None
    factor: float | None = None
    default: bool | None = None


class UserLimitsTable(_Table):
    """The table ``[user_limits]``."""

    max_jobs: int | None = None
    max_procs: int | None = None


class MultifactorTable(_Table):
    """The table ``[multifactor]``."""

    age: float | None = None
    max_age: Span | None = None
    size: float | None = None
    fair_share: float | None = None
    queue: float | None = None
    half_life: Span | None = None
    period: Span | None = None
    shares: dict[str, float] | None = None


class SleepStateTable(_Table):
    """A table ``[[sleep.states]]``."""

    timeout: Span
    power: float
    delay: Span
    wake_power: float


class SleepTable(_Table):
    """The table ``[sleep]``."""

    states: list[SleepStateTable]
    wake_ahead: bool | None = None


class FailuresTable(_Table):
    """The table ``[failures]``."""

    time_to_failure: Span
    time_to_repair: Span


class OverheadsTable(_Table):
    """The table ``[overheads]``."""

    launch: Span | None = None
    completion: Span | None = None
    submission: Span | None = None
    release: Span | None = None
    report: Span | None = None


class InterruptionTable(_Table):
    """The table ``[interruption]``."""

    rule: str
    interval: Span | None = None


class ClusterFile(_Table):
    """The whole file; every part may be absent."""

    procs: int | None = None
    placement: str | None = None
    whole_nodes: bool | None = None
    power_cap: float | dict[str, float] | list[list[float]] | None = None
    rate_control: RateControlTable | None = None
    power: PowerTable | None = None
    nodes: list[NodesTable] | None = None
    resources: dict[str, float] | None = None
    partitions: list[PartitionTable] | None = None
    queues: list[QueueTable] | None = None
    user_limits: UserLimitsTable | None = None
    multifactor: MultifactorTable | None = None
    sleep: SleepTable | None = None
    failures: FailuresTable | None = None
    overheads: OverheadsTable | None = None
    interruption: InterruptionTable | None = None


def setting_names(table: type[BaseModel] = ClusterFile) -> Iterator[str]:
    """Yield the dotted name of every key that a file may have: ``power.busy`` and so on."""
    for name, field in table.model_fields.items():
        inner = None if _is_list(field.annotation) else _table_in(field.annotation)
        if inner is None:
            yield name
        else:
            yield from (f"{name}.{below}" for below in setting_names(inner))


def first_fault(error: ValidationError) -> Mapping[str, Any]:
    """Return the fault that is told: a misspelt key is missing as well, so what was misspelt."""
    found = error.errors()
    return next((one for one in found if one["type"] == "extra_forbidden"), found[0])


def explain(error: ValidationError) -> str:
    """Say what is wrong with the first key at fault, and where it stands."""
    first = first_fault(error)
    table: type[BaseModel] = ClusterFile
    place: list[str] = []
    for part in first["loc"]:
        if isinstance(part, int):
            if place:
                place[-1] += f" {part + 1}"
        elif part in table.model_fields:
            place.append(part)
            table = _table_in(table.model_fields[part].annotation) or table
    if first["type"] == "extra_forbidden":
        where = f" in [{'.'.join(place)}]" if place else ""
        key = str(first["loc"][-1])
        return f"unknown key {key!r}{where}; {suggest(key, table.model_fields)}"
    hint = f"; write [[{place[0]}]]" if first["type"] == "list_type" and place else ""
    got = "" if first["type"] == "missing" else f", got {first['input']!r}"
    return f"{'.'.join(place)}: {first['msg'].lower()}{got}{hint}"


def _table_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """Find the table that a key holds, or a list of which it holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for kind in get_args(annotation) if (found := _table_in(kind))), None)


def _is_list(annotation: Any) -> bool:  # noqa: ANN401
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return any(getattr(kind, "__origin__", None) is list for kind in kinds)
