"""A machine, described once: every setting with its type, bounds, sentence and examples.

The file in TOML and the commented one of ``onega cluster init``, the help of the command's flags,
the keys of a sweep, the page's API and its form all come from these tables. A table's docstring is
what the commented file says of it. Examples stand in rows: the first of each setting belong
together, and so do the second; None where a setting isn't part of an example. A setting that is
left out is as the parts of `onega.Cluster` have it by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import UnionType
from typing import Annotated, Any, Final, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.fields import FieldInfo

from onega.core.machine.cluster import FASTEST, MOST_PROCS, ControlKind
from onega.core.machine.faults import InterruptionRule
from onega.core.machine.nodes import Placement
from onega.core.machine.overheads import LONGEST_OVERHEAD
from onega.core.units import LARGEST, LONGEST, size

Procs = Annotated[int, Field(ge=1, le=MOST_PROCS)]
Whole = Annotated[int, Field(ge=1, le=int(LARGEST))]
Amount = Annotated[float, Field(ge=0, le=LARGEST)]
Rate = Annotated[float, Field(ge=1 / FASTEST, le=FASTEST)]
Threshold = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Span = Annotated[float, Field(ge=0, le=LONGEST)] | str
"""A duration: seconds, or text such as "15m"; of failures also a law."""

LongSpan = Annotated[float, Field(gt=0, le=LONGEST)] | str
"""A duration that isn't nil."""

LEAST_MEMORY: Final = 64 * 2**20
"""Bytes that a bare number of a node's memory has at least: 64 TiB given in megabytes are more."""

Overhead = Annotated[float, Field(ge=0, le=LONGEST_OVERHEAD)] | str
"""A duration that a job manager may add, or a law."""

_CLOCK: Final = "Clock and power, per processor"
_NODES: Final = "Nodes and resources"
_QUEUES: Final = "Partitions, queues, limits"
_TROUBLE: Final = "What goes wrong, what takes longer"


def setting(
    text: str,
    examples: list[Any],
    *,
    label: str = "",
    unit: str = "",
    default: Any = None,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Describe a setting that may be left out; a form shows its label and unit."""
    more: dict[str, Any] = {"unit": unit} if unit else {}
    return Field(
        default, description=text, examples=examples, title=label or None, json_schema_extra=more
    )


required: Final = partial(setting, default=...)
"""Describe a setting that its table needs."""


def part(heading: str, text: str | None = None, examples: list[Any] | None = None) -> Any:  # noqa: ANN401
    """Describe a table: the heading of the commented file that it stands under."""
    more: dict[str, Any] = {"heading": heading}
    return Field(None, description=text, examples=examples, json_schema_extra=more)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RateControlSettings(_Table):
    """Service rates and the rule that switches between them."""

    kind: ControlKind | None = setting(
        "none, random, queue or workload.", ["queue", "workload", "random"], label="Rule"
    )
    rates: Rate | list[Rate] | None = setting(
        "Service rates, increasing; a log's run times are at rate 1.",
        [[1.0, 1.25], [1.0, 1.25], [1.0, 1.25]],
        label="Rate",
    )
    k_low: Threshold | list[Threshold] | None = setting(
        "Jobs, or seconds of known work, at which to slow down.",
        [10, 100000, None],
        label="Slow down at",
        unit="jobs, or seconds of work",
    )
    k_high: Threshold | list[Threshold] | None = setting(
        "Jobs, or seconds of known work, above which to speed up.",
        [50, 300000, None],
        label="Speed up above",
        unit="jobs, or seconds of work",
    )
    p_low: Share | None = setting(
        "Chance to slow down at a completion.",
        [None, None, 0.1],
        label="Chance to slow down",
        unit="at a completion",
    )
    p_high: Share | None = setting(
        "Chance to speed up at a submission.",
        [None, None, 0.1],
        label="Chance to speed up",
        unit="at a submission",
    )


class PowerSettings(_Table):
    """What a processor draws: one number, or one for each rate."""

    busy: Amount | list[Amount] = required(
        "Watts of a busy processor.", [100.0, [5.0, 8.0]], label="Busy", unit="W"
    )
    idle: Amount | list[Amount] | None = setting(
        "Watts of an idle processor.", [50.0, [2.5, 3.0]], label="Idle", unit="W"
    )


class SleepStateSettings(_Table):
    """Sleep states from the lightest to the deepest."""

    timeout: Span = required("Idle for so long before it.", ["10m", "1h"])
    power: Amount = required("Watts per processor asleep.", [10.0, 2.0])
    delay: Span = required("How long waking takes.", ["30s", "3m"])
    wake_power: Amount = required("Watts per processor while waking.", [80.0, 90.0])


class SleepSettings(_Table):
    """What idle processors do (whole nodes, if nodes are described)."""

    wake_ahead: bool | None = setting(
        "Wake the processors of the first waiting job's reservation in time.", [False]
    )
    states: list[SleepStateSettings]


class NodesSettings(_Table):
    """Groups of equal nodes, numbered from 1 in this order; without them processors are a pool."""

    count: Whole = required("How many nodes.", [12, 4])
    procs: Whole | None = setting("Processors of each.", [8, 8])
    memory: Amount | str | None = setting(
        "Memory of each: 64G, 48000M, … (powers of 1024).", ["64GiB", "256GiB"]
    )
    gpus: Amount | None = setting("GPUs of each.", [None, 4])
    resources: dict[str, Amount] | None = setting(
        "Anything else of each, by name.", [None, {"ssd": 2}]
    )

    @field_validator("memory")
    @classmethod
    def _has_a_unit(cls, given: float | str | None) -> float | str | None:
        """Refuse a bare number that can't be the bytes of a node, such as Slurm's RealMemory."""
        if given is None or str(given).strip()[-1:].isalpha():
            return given
        if 0 < (bare := size(given)) < LEAST_MEMORY:
            raise ValueError(
                f"{bare:.15g} bytes are less than a node has; give the unit, e.g. "
                f"'{bare:.15g}M' (Slurm's RealMemory is in M)"
            )
        return given


class PartitionSettings(_Table):
    """Dedicated parts of the machine, each with a policy."""

    name: int | str = required(
        "The number in the log's partition field, or the log's name for it.", [1, 2]
    )
    procs: Whole | None = setting("Processors, if no nodes are described.", [None, None])
    nodes: str | None = setting("Nodes by number, if nodes are described.", ["1-12", "13-16"])
    policy: str | None = setting("ORDER[+BACKFILL].", ["easy", "fcfs+conservative"])
    placement: Placement | None = setting("As for the machine.", [None, "best-fit"])
    whole_nodes: bool | None = setting("As for the machine.", [None, True])
    default: bool | None = setting("Takes the jobs of all other partitions.", [True, None])


class QueueSettings(_Table):
    """Queues over the machine: higher priority first, whatever the order of the policy."""

    name: int | str = required(
        "The number in the log's queue field, or the log's name for it.", [1, 2]
    )
    priority: Annotated[float, Field(ge=-LARGEST, le=LARGEST)] | None = setting(
        "Higher first.", [10, 0]
    )
    max_time: LongSpan | None = setting("Longest estimate.", ["1h", None])
    max_procs: Whole | None = setting("Most processors at once.", [32, None])
    max_jobs: Whole | None = setting("Most jobs at once.", [None, 100])
    max_jobs_per_user: Whole | None = setting("Most jobs of a user at once.", [None, 10])
    max_procs_per_user: Whole | None = setting("Most processors of a user at once.", [None, 64])
    factor: Share | None = setting("The queue's term in the policy multifactor.", [None, 0.5])
    default: bool | None = setting("Takes the jobs of all other queues.", [None, True])


class UserLimitsSettings(_Table):
    """What each user may have at once, in all queues together."""

    max_jobs: Whole | None = setting("Most jobs.", [20])
    max_procs: Whole | None = setting("Most processors.", [96])


class MultifactorSettings(_Table):
    """Weights of the policy "multifactor", as Slurm's priority/multifactor has them."""

    age: Amount | None = setting("Of the time that a job has waited.", [1000])
    max_age: LongSpan | None = setting("When the age counts in full.", ["7d"])
    size: Amount | None = setting("Of the width.", [1000])
    fair_share: Amount | None = setting("Of the user's share against what was used.", [10000])
    queue: Amount | None = setting("Of the queue's factor.", [1000])
    half_life: LongSpan | None = setting("After it usage counts half.", ["7d"])
    period: Span | None = setting("Between two evaluations; 0: at every scheduling pass.", ["5m"])
    shares: dict[str, Annotated[float, Field(gt=0, le=LARGEST)]] | None = setting(
        "Shares of users by the log's name or number; 1 for all others.", [{"17": 3.0}]
    )


class FailuresSettings(_Table):
    """Failures of nodes (of processors, without nodes): exponential(mean=), weibull(shape=, mean=),
    lognormal(sigma=, median=), gamma(shape=, mean=), or a fixed duration. --seed repeats them.
    """  # noqa: D205

    time_to_failure: LongSpan = required("How long a node works.", ["weibull(shape=0.7, mean=60d)"])
    time_to_repair: LongSpan = required("How long it fails.", ["lognormal(sigma=1.0, median=4h)"])


class InterruptionSettings(_Table):
    """What becomes of interrupted jobs."""

    rule: InterruptionRule = required("lost, requeue or checkpoint.", ["checkpoint"])
    interval: LongSpan | None = setting("Work between checkpoints.", ["1h"])


class OverheadsSettings(_Table):
    """Seconds that the job manager adds: a law, or a fixed duration."""

    launch: Overhead | None = setting(
        "Holds the processors before a job's work.", ["gamma(mean=2, sd=1)"]
    )
    completion: Overhead | None = setting("Holds the processors after a job's work.", ["1s"])
    submission: Overhead | None = setting(
        "Of a submission; the next one waits for it (policy slurm).", ["0.5s"]
    )
    release: Overhead | None = setting(
        "From the end until nodes can be used again: release + report · width (slurm).", ["0.5s"]
    )
    report: Overhead | None = setting("See release (slurm).", [0.01])
    beat: Overhead | None = setting(
        "Of a beat of the background loop beyond its second (slurm).", [0.02]
    )
    cycle: Overhead | None = setting("Of a backfill cycle beyond its interval (slurm).", [0.01])


class ClusterSettings(_Table):
    """A machine; every part may be absent."""

    procs: Procs | None = setting(
        "Processors; may be left out where nodes, partitions or the log say it.",
        [128],
        label="Processors",
    )
    placement: Placement | None = setting(
        "Which nodes a job gets: first-fit, best-fit or spread.", ["first-fit"]
    )
    whole_nodes: bool | None = setting("Whether a job gets whole nodes.", [False])
    power_cap: float | dict[str, float] | list[list[float]] | None = setting(
        "Most watts of the machine: a number, times of day with watts, or [s, W] pairs.",
        [{"08:00": 10000.0, "20:00": 12800.0}],
    )
    rate_control: RateControlSettings | None = part(_CLOCK)
    power: PowerSettings | None = part(_CLOCK)
    sleep: SleepSettings | None = part(_CLOCK)
    nodes: list[NodesSettings] | None = part(_NODES)
    resources: dict[str, Amount] | None = part(
        _NODES,
        "What the whole machine has, by name; `onega simulate --demands FILE` says what jobs need.",
        [{"matlab": 16}],
    )
    partitions: list[PartitionSettings] | None = part(_QUEUES)
    queues: list[QueueSettings] | None = part(_QUEUES)
    user_limits: UserLimitsSettings | None = part(_QUEUES)
    multifactor: MultifactorSettings | None = part(_QUEUES)
    failures: FailuresSettings | None = part(_TROUBLE)
    interruption: InterruptionSettings | None = part(_TROUBLE)
    overheads: OverheadsSettings | None = part(_TROUBLE)


def table_of(field: FieldInfo) -> tuple[type[BaseModel] | None, bool]:
    """Return the table that a setting holds, if it holds one, and whether it is a list of them."""
    kinds = get_args(field.annotation)
    for kind in kinds if get_origin(field.annotation) is UnionType else (field.annotation,):
        several = get_origin(kind) is list
        inner = get_args(kind)[0] if several else kind
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return inner, several
    return None, False


def setting_names(table: type[BaseModel] = ClusterSettings) -> Iterator[str]:
    """Yield the dotted name of every key that a file may have: ``power.busy`` and so on."""
    for name, field in table.model_fields.items():
        inner, several = table_of(field)
        if inner is None or several:
            yield name
        else:
            yield from (f"{name}.{below}" for below in setting_names(inner))


def described(name: str) -> FieldInfo:
    """Return the description of a setting, ``rate_control.k_low``."""
    *tables, key = name.split(".")
    table: type[BaseModel] = ClusterSettings
    for one in tables:
        inner, _ = table_of(table.model_fields[one])
        assert inner is not None
        table = inner
    return table.model_fields[key]


def sentence(name: str) -> str:
    """Return the sentence about a setting."""
    return described(name).description or ""
