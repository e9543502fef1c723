"""Which column of a table is what: by its name, a list of flags, or a small TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from onega.core.documents import read_toml
from onega.core.errors import TraceError, suggest
from onega.core.files import StrPath
from onega.core.units import BYTES
from onega.core.workload.clock import time_zones
from onega.core.workload.schema import JOB_TABLE, STATUSES, is_demand
from onega.traces.parsing import UNITS

TARGETS: Final = (*JOB_TABLE, "start", "end", "gap")
"""What a column can be: one of the job table's, a start or end on the wall clock, or the gap
between a job's submission and the next one's. Also ``demand_NAME``, what jobs need of something."""

USUAL_NAMES: Final = {
    "job": ("job", "job_id", "jobid", "id_job", "job_number"),
    "submit": ("submit", "submit_time", "submission_time", "time_submit", "qtime"),
    "start": ("start", "start_time", "time_start", "starting_time"),
    "end": ("end", "end_time", "time_end", "finish_time", "completion_time"),
    "runtime": ("runtime", "run_time", "service", "execution_time", "elapsed_raw"),
    "procs": (
        *("procs", "cores_used", "cores", "processors", "ncpus", "num_procs", "cpus", "num_cpus"),
        *("cpus_alloc", "processors_alloc", "cores_alloc", "requested_number_of_resources"),
    ),
    "requested_procs": (
        *("requested_procs", "cores_requested", "processors_req", "cpus_req", "cores_req"),
        *("procs_req",),
    ),
    "estimate": ("estimate", "requested_time", "walltime", "wallclock_req"),
    "wait": ("wait", "delays", "delay", "wait_time", "waiting_time"),
    "user": ("user", "user_id", "id_user", "username"),
    "group": ("group", "group_id", "account", "id_group"),
    "app": ("app",),
    "queue": ("queue", "qos"),
    "partition": ("partition",),
    "status": ("status", "state", "job_state", "final_state", "success"),
    "memory": ("memory",),
    "cpu_time": ("cpu_time",),
    "requested_memory": ("requested_memory",),
    "after": ("after",),
    "think": ("think",),
    "gap": ("gap", "interarrival", "interarrival_time"),
    "demand_gpus": (
        *("demand_gpus", "gpus", "gpus_req", "gpus_alloc", "gpus_requested", "gpus_used"),
        *("ngpus", "num_gpus", "gpu_count", "num_gpus_req", "num_gpus_alloc"),
    ),
    "demand_nodes": (
        *("demand_nodes", "nodes", "nodes_req", "nodes_alloc", "nodes_requested", "nodes_used"),
        *("nnodes", "num_nodes", "node_count", "num_nodes_req", "num_nodes_alloc"),
    ),
}
"""Names by which a column is known without being mapped (in any case)."""

_TIMES: Final = ("runtime", "estimate", "wait", "cpu_time", "think", "gap")
_MOMENTS: Final = ("submit", "start", "end")
_MEMORY: Final = ("memory", "requested_memory")

SHARED_BY: Final = {"job": "/job", "node": "/node"}
"""What an amount of memory may be of, if not of a processor: ``mb/job``, ``gb/node``."""


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """One column: its name in the file, the unit of its numbers, the form of its dates."""

    name: str
    unit: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """A whole mapping.

    Attributes
    ----------
    columns
        Target (see `TARGETS`) → column.
    timezone
        Zone of dates that don't say theirs.
    procs, nodes
        The machine's size.
    states
        The file's words for how a job ended → ours.
    separator
        The character between fields, where it can't be found from the header.
    """

    columns: Mapping[str, ColumnSpec] = field(default_factory=dict)
    timezone: str | None = None
    procs: int | None = None
    nodes: int | None = None
    states: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None


MapLike = ColumnMap | Mapping[str, str | ColumnSpec] | StrPath | None


def column_map(given: MapLike) -> ColumnMap:
    """Turn anything accepted as ``columns`` into a `ColumnMap`.

    A mapping of target to column name (``{"submit": "submit_time", "estimate": "limit:min"}``),
    or the path of a TOML file.
    """
    if given is None:
        return ColumnMap()
    if isinstance(given, ColumnMap):
        return given
    if isinstance(given, Mapping):
        return ColumnMap({target: _spec(target, value) for target, value in given.items()})
    return _from_toml(Path(given))


def with_flags(base: ColumnMap, flags: Iterable[str]) -> ColumnMap:
    """Add mappings written as ``target=name`` or ``target=name:unit``."""
    columns = dict(base.columns)
    for flag in flags:
        target, equals, name = flag.partition("=")
        if not equals or not name:
            raise TraceError(f"--column takes FIELD=NAME, as submit=submit_time; got {flag!r}")
        columns[target.strip()] = _spec(target.strip(), name.strip())
    return ColumnMap(
        columns, base.timezone, base.procs, base.nodes, base.states, separator=base.separator
    )


def _spec(target: str, value: str | ColumnSpec | Mapping[str, Any]) -> ColumnSpec:
    if target not in TARGETS and not is_demand(target):
        raise TraceError(f"no field {target!r} in a job table; {suggest(target, TARGETS)}")
    if isinstance(value, ColumnSpec):
        spec = value
    elif isinstance(value, str):
        name, colon, unit = value.rpartition(":")
        known = unit.lower() in UNITS or unit.lower().partition("/")[0] in BYTES
        spec = ColumnSpec(name, unit.lower()) if colon and known else ColumnSpec(value)
    else:
        extra = [key for key in value if key not in ("name", "unit", "date")]
        if extra or not isinstance(value.get("name"), str):
            raise TraceError(
                f"field {target!r} takes a column's name, or {{name = …, unit = …, date = …}}"
            )
        spec = ColumnSpec(value["name"], value.get("unit"), value.get("date"))
    _check_unit(target, spec)
    return spec


def _check_unit(target: str, spec: ColumnSpec) -> None:
    memory = {unit + of for of in ("", *SHARED_BY.values()) for unit in BYTES}
    accepted = UNITS if target in _TIMES else memory if target in _MEMORY else ()
    if spec.unit is not None and spec.unit not in accepted:
        known = ", ".join(sorted(accepted)) or "none"
        raise TraceError(f"unit {spec.unit!r} of field {target!r}; accepted: {known}")
    if spec.date is not None and target not in _MOMENTS:
        raise TraceError(f"field {target!r} has no date; only {', '.join(_MOMENTS)} have")


def _separator(given: object) -> str | None:
    if given is not None and not (isinstance(given, str) and len(given) == 1):
        raise TraceError(f"separator is one character, got {given!r}")
    return given


def _from_toml(path: Path) -> ColumnMap:
    try:
        named = f"{path}: "
        data = read_toml(path, lambda told: TraceError(told.removeprefix(named), path=path))
    except OSError as error:
        raise TraceError(f"can't be read: {error.strerror}", path=path) from None
    accepted = ("columns", "states", "machine", "timezone", "separator")
    for key in data:
        if key not in accepted:
            raise TraceError(f"unknown entry {key!r}; {suggest(key, accepted)}", path=path)
    try:
        columns = {name: _spec(name, value) for name, value in data.get("columns", {}).items()}
        machine = {key: _size(key, value) for key, value in data.get("machine", {}).items()}
        return ColumnMap(
            columns,
            timezone=check_timezone(data.get("timezone")),
            procs=machine.get("procs"),
            nodes=machine.get("nodes"),
            states=_states(data.get("states", {})),
            separator=_separator(data.get("separator")),
        )
    except TraceError as error:
        raise TraceError(error.message, path=path) from None
    except (AttributeError, TypeError) as error:
        raise TraceError(f"has another structure than a column map ({error})", path=path) from None


def _size(key: str, value: object) -> int:
    if key not in ("procs", "nodes") or not isinstance(value, int) or value < 1:
        raise TraceError(f"[machine] takes procs and nodes, positive whole numbers; got {key}")
    return value


def _states(words: Mapping[str, str]) -> dict[str, str]:
    for word, state in words.items():
        if state not in STATUSES:
            raise TraceError(f"state {word!r} = {state!r}; {suggest(str(state), STATUSES)}")
    return {word.lower(): state for word, state in words.items()}


def check_timezone(name: str | None) -> str | None:
    """Return a time zone's name if the time zone database knows it."""
    if name is not None and name not in time_zones():
        zones = sorted(time_zones())
        near = suggest(str(name), zones).split("? ")[0] + "?"
        hint = near if near.startswith("did you mean") else "accepted: names like Europe/Paris"
        raise TraceError(f"no time zone {name!r}; {hint}")
    return name
