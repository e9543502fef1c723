"""The machine: processors, service rates and their control, power, and all its parts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import pairwise
from typing import Final, Literal

from onega.core.errors import MachineError, OnegaWarning, suggest
from onega.core.machine.amounts import Amounts
from onega.core.machine.checks import as_float, distinct, number, word
from onega.core.machine.faults import Failures, Interruption
from onega.core.machine.nodes import MOST_NODES, PLACEMENTS, NodeGroup, Partition, stretches
from onega.core.machine.overheads import HasOverheads, Overheads
from onega.core.machine.queues import Multifactor, Queue, UserLimits
from onega.core.machine.sleep import PowerCap, Sleep

ControlKind = Literal["none", "random", "queue", "workload"]
MOST_PROCS: Final = 2**31 - 1
FASTEST: Final = 1e9
"""Rates are from its inverse to it: beyond, times of work and of the clock lose each other."""

CONTROLS: Final[Mapping[ControlKind, str]] = {
    "none": "one fixed rate",
    "queue": "by jobs in the system",
    "workload": "by remaining work, as far as known",
    "random": "at random",
}

NEEDED: Final[Mapping[ControlKind, tuple[str, ...]]] = {
    "none": (),
    "queue": ("k_low", "k_high"),
    "workload": ("k_low", "k_high"),
    "random": ("p_low", "p_high"),
}
"""What each kind of rate control takes beside the rates."""


def _numbers(name: str, value: float | Sequence[float]) -> tuple[float, ...]:
    given = (value,) if isinstance(value, int | float) else tuple(value)
    numbers = tuple(as_float(name, one) for one in given)
    if any(math.isnan(one) for one in numbers):
        raise MachineError(f"{name} must be numbers, got {given}")
    return numbers


@dataclass(frozen=True, slots=True)
class RateControl:
    """Service rates and the rule that switches them (Rumyantsev et al. 2018, II and III).

    All processors run at one common rate. There are n rates, from the lowest up, and n − 1
    thresholds in each direction; two rates are the paper's. A run starts at the lowest.

    Parameters
    ----------
    kind
        ``"none"``: stays at the first rate. ``"random"``: one rate up with probability ``p_high``
        at each submission, one down with ``p_low`` at each completion. ``"queue"``: up when a
        submission makes the number of jobs in the system exceed ``k_high``, down when a
        completion makes it ``k_low`` or less, by as many rates as thresholds are passed.
        ``"workload"``: up when a submission lifts the
        remaining work of all jobs in the system, in seconds at rate 1, above ``k_high``; down at
        the instant it sinks to ``k_low``. Work is what the scheduler knows of it (``knowledge``).
    rates
        Work done per second; increasing.
    k_low, k_high
        Thresholds: ``k_low[i]`` from rate i+1 down to i, ``k_high[i]`` from i up to i+1.
    p_low, p_high
        Probabilities of the random rule.
    """

    kind: ControlKind = "none"
    rates: tuple[float, ...] = (1.0,)
    k_low: tuple[float, ...] = ()
    k_high: tuple[float, ...] = ()
    p_low: float = 0.0
    p_high: float = 0.0

    def __init__(
        self,
        kind: ControlKind = "none",
        *,
        rates: float | Sequence[float] = (1.0,),
        k_low: float | Sequence[float] = (),
        k_high: float | Sequence[float] = (),
        p_low: float = 0.0,
        p_high: float = 0.0,
    ) -> None:
        for name, value in (
            ("kind", kind),
            ("rates", _numbers("rates", rates)),
            ("k_low", _numbers("k_low", k_low)),
            ("k_high", _numbers("k_high", k_high)),
            ("p_low", float(p_low)),
            ("p_high", float(p_high)),
        ):
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if self.kind not in CONTROLS:
            raise MachineError(
                f"unknown rate control {self.kind!r}; {suggest(str(self.kind), CONTROLS)}"
            )
        if not self.rates or not all(rate > 0 and math.isfinite(rate) for rate in self.rates):
            raise MachineError(f"rates must be positive numbers, got {self.rates}")
        if min(self.rates) < 1 / FASTEST or max(self.rates) > FASTEST:
            raise MachineError(
                f"rates must be from {1 / FASTEST:g} to {FASTEST:g} seconds of work a second, got "
                f"{self.rates}"
            )
        if any(low >= high for low, high in pairwise(self.rates)):
            raise MachineError(
                f"rates must increase from low to high (rate_low < rate_high), got {self.rates}"
            )
        if self.kind in ("queue", "workload"):
            self._check_thresholds()
        for name, chance in (("p_low", self.p_low), ("p_high", self.p_high)):
            if not 0 <= chance <= 1:
                raise MachineError(f"{name} is a probability from 0 to 1, got {chance}")

    def _check_thresholds(self) -> None:
        wanted = len(self.rates) - 1
        if len(self.k_low) != wanted or len(self.k_high) != wanted:
            raise MachineError(
                f"{len(self.rates)} rates need {wanted} k_low and {wanted} k_high, "
                f"got {len(self.k_low)} and {len(self.k_high)}"
            )
        for low, high in zip(self.k_low, self.k_high, strict=True):
            if not low <= high:
                raise MachineError(f"k_low must not exceed k_high, got {low:g} > {high:g}")
            if low < 0:
                raise MachineError(f"k_low must not be negative, got {low:g}")
        for name, ladder in (("k_low", self.k_low), ("k_high", self.k_high)):
            if any(a > b for a, b in pairwise(ladder)):
                raise MachineError(f"{name} must not decrease from rate to rate, got {ladder}")


@dataclass(frozen=True, slots=True)
class Power:
    """Watts per processor, busy and idle, at each rate (Rumyantsev et al. 2018, (11)).

    Parameters
    ----------
    busy, idle
        One number, or one for each rate. Any unit of power will do; energy comes out in that unit
        times seconds.
    """

    busy: tuple[float, ...]
    idle: tuple[float, ...]

    def __init__(
        self, busy: float | Sequence[float], idle: float | Sequence[float] = (0.0,)
    ) -> None:
        object.__setattr__(self, "busy", _numbers("busy power", busy))
        object.__setattr__(self, "idle", _numbers("idle power", idle))
        for name, values in (("busy", self.busy), ("idle", self.idle)):
            if not values or not all(value >= 0 and math.isfinite(value) for value in values):
                raise MachineError(f"{name} power must be numbers, at least 0; got {values}")
            number(f"{name} power", max(values))
        for busy_at, idle_at in zip(*self.at(max(len(self.busy), len(self.idle))), strict=True):
            if busy_at < idle_at:
                warnings.warn(
                    f"busy power {busy_at:g} is below idle power {idle_at:g}",
                    OnegaWarning,
                    stacklevel=3,
                )

    def at(self, levels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return busy and idle power at each of ``levels`` rates."""
        spread = []
        for name, values in (("busy", self.busy), ("idle", self.idle)):
            if len(values) not in (1, levels):
                raise MachineError(
                    f"{name} power needs one number or one for each of the {levels} rates, "
                    f"got {len(values)}"
                )
            spread.append(values * levels if len(values) == 1 else values)
        return spread[0], spread[1]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A machine: a pool of equal processors, and as much more of a real one as matters.

    Everything after ``power`` is left out by default, and costs nothing then. See docs/machine.md
    for the exact rule of each.

    Parameters
    ----------
    procs
        How many; may be left out where ``nodes`` or ``partitions`` say it.
    rates
        Service rates and their control; rate 1 throughout by default.
    power
        Watts per processor; None if energy isn't asked for.
    nodes
        Groups of equal nodes (`NodeGroup`), numbered from 1 in their order.
    placement, whole_nodes
        Which nodes a job gets: ``"first-fit"``, ``"best-fit"`` or ``"spread"``; and whether it
        gets whole ones.
    resources
        Amounts of what the machine has as a whole, by name: licences.
    partitions
        Dedicated parts, each with its own policy (`Partition`).
    queues
        Queues over the machine (`Queue`).
    user_limits
        What each user may have at once (`UserLimits`).
    multifactor
        Weights of the order ``multifactor`` (`Multifactor`).
    sleep
        Sleep states of idle processors (`Sleep`).
    power_cap
        A `PowerCap`, watts, times of day with watts, or a list of (seconds, watts).
    failures
        Laws by which nodes fail and come back (`Failures`).
    overheads
        Laws of launch and completion, and for the model of Slurm of submission and release
        (`Overheads`); or their text, the name of a file, ``"measured"`` or ``"none"``.
    interruption
        What becomes of interrupted jobs (`Interruption`); they are requeued by default.
    """

    procs: int = 0
    rates: RateControl = field(default_factory=RateControl)
    power: Power | None = None
    _: KW_ONLY
    nodes: Sequence[NodeGroup] = ()
    placement: str = "first-fit"
    whole_nodes: bool = False
    resources: Mapping[str, float] = field(default_factory=Amounts)
    partitions: Sequence[Partition] = ()
    queues: Sequence[Queue] = ()
    user_limits: UserLimits | None = None
    multifactor: Multifactor | None = None
    sleep: Sleep | None = None
    power_cap: PowerCap | float | Mapping[str, float] | Sequence[tuple[float, float]] | None = None
    failures: Failures | None = None
    overheads: HasOverheads | str | None = None
    interruption: Interruption | None = None

    def __post_init__(self) -> None:
        for name in ("nodes", "partitions", "queues"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "resources", Amounts(self.resources, what="resources"))
        if self.power_cap is not None:
            object.__setattr__(self, "power_cap", PowerCap.of(self.power_cap))
        if self.overheads is not None:
            told = self.overheads
            laws = Overheads.chosen(told) if isinstance(told, str) else Overheads.of(told)
            object.__setattr__(self, "overheads", laws)
        if self.procs == 0 and (self.nodes or self.partitions):
            object.__setattr__(self, "procs", _described_procs(self))
        given = as_float("procs of a machine", self.procs)
        if not given.is_integer() or given < 1:
            raise MachineError(
                f"a machine has a whole number of processors, at least 1; got {self.procs}"
            )
        if self.procs > MOST_PROCS:
            raise MachineError(
                f"a machine has at most {MOST_PROCS:,} processors here; got {self.procs}"
            )
        object.__setattr__(self, "procs", int(self.procs))
        if self.power is not None:
            self.power.at(len(self.rates.rates))
        if not self.is_plain:
            _check_parts(self)

    @property
    def is_plain(self) -> bool:
        """Whether it is just a pool of equal processors (with rates and power)."""
        return not any(
            (
                *(self.nodes, self.resources, self.partitions, self.queues, self.user_limits),
                *(self.sleep, self.failures, self.overheads, self.interruption),
                self.power_cap is not None,
            )
        )

    def require_plain(self, what: str) -> None:
        """Refuse a machine of which only the pool of processors would be looked at."""
        if not self.is_plain:
            raise MachineError(
                f"{what} knows a plain pool of processors only; leave nodes, partitions, queues, "
                "sleep, failures and the like out of the cluster"
            )


def _described_procs(cluster: Cluster) -> int:
    if cluster.nodes:
        return sum(group.count * group.procs for group in cluster.nodes)
    return sum(partition.procs or 0 for partition in cluster.partitions)


def _check_parts(cluster: Cluster) -> None:
    """Refuse parts that contradict each other."""
    word("placement", cluster.placement, PLACEMENTS)
    distinct("partitions", (one.name for one in cluster.partitions))
    distinct("queues", (one.name for one in cluster.queues))
    for what, parts in (("partitions", cluster.partitions), ("queues", cluster.queues)):
        if sum(one.default for one in parts) > 1:
            raise MachineError(f"only one of the {what} can be the default")
    if not cluster.nodes and any(one.nodes is not None for one in cluster.partitions):
        raise MachineError(
            "partitions have nodes where nodes are described; give their procs, or describe nodes"
        )
    if (cluster.nodes or cluster.partitions) and cluster.procs != _described_procs(cluster):
        what = "nodes" if cluster.nodes else "partitions"
        raise MachineError(
            f"the {what} have {_described_procs(cluster)} processors together, "
            f"the machine {cluster.procs}"
        )
    if sum(group.count for group in cluster.nodes) > MOST_NODES:
        raise MachineError(
            f"a machine has at most {MOST_NODES:,} nodes here; got "
            f"{sum(group.count for group in cluster.nodes):,}"
        )
    if len({group.memory is None for group in cluster.nodes}) > 1:
        raise MachineError("memory is given for some groups of nodes; give it for all or none")
    if cluster.power_cap is not None and cluster.power is None:
        raise MachineError("a power cap needs to know what processors draw; give power too")
    if cluster.nodes and cluster.partitions:
        _check_partition_nodes(cluster)


def _check_partition_nodes(cluster: Cluster) -> None:
    """Refuse a node that belongs to two partitions, or to none."""
    count = sum(group.count for group in cluster.nodes)
    owned: list[tuple[int, int, int | str]] = []
    for one in cluster.partitions:
        if one.nodes is None:
            raise MachineError(
                f"partition {one.name}: nodes are described, so give its nodes as in '1-16'"
            )
        owned += [(part[0], part[-1], one.name) for part in stretches(one.nodes)]
    owned.sort(key=lambda part: part[:2])
    left: list[int] = []
    reached, owner = 0, None
    for first, last, name in owned:
        if last > count:
            raise MachineError(
                f"partition {name}: there is no node {last}; the machine has {count}"
            )
        if first <= reached:
            raise MachineError(
                f"node {first} is in partition {owner} and in partition {name}, and here a node "
                "belongs to one: give each its own nodes, or make them queues ([[queues]], with "
                "limits such as max_procs), which use all nodes"
            )
        left += range(reached + 1, first)
        reached, owner = last, name
    left += range(reached + 1, count + 1)
    if left:
        some = ", ".join(map(str, left[:5]))
        raise MachineError(f"{len(left)} of {count} nodes are in no partition: {some}")
