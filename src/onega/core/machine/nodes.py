"""Nodes of a machine and the partitions that they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, Literal, get_args

from onega.core.errors import MachineError, PolicyError
from onega.core.machine.amounts import Amounts
from onega.core.machine.checks import whole, word
from onega.core.policy import PREEMPTIVE, SLURM, Policy
from onega.core.units import size

Placement = Literal["first-fit", "best-fit", "spread"]
PLACEMENTS: Final = get_args(Placement)
"""Which nodes a job's chunks go to: by number; the fullest that fit first; the emptiest first."""

MOST_NODES: Final = 1_000_000
"""Nodes of one machine, and of one list of them."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Equal nodes.

    Parameters
    ----------
    count
        How many.
    procs
        Processors of each.
    memory
        Of each: bytes, or text such as ``"64GiB"``; None if memory doesn't matter.
    gpus
        Of each.
    resources
        Anything else that a node has, by name.
    """

    count: int
    procs: int = 1
    memory: float | str | None = None
    gpus: float = 0
    resources: Mapping[str, float] = field(default_factory=Amounts)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", whole("count of nodes", self.count))
        object.__setattr__(self, "procs", whole("procs of a node", self.procs))
        if self.memory is not None:
            try:
                object.__setattr__(self, "memory", size(self.memory))
            except (ValueError, AttributeError) as error:
                raise MachineError(f"memory of a node: {error}") from None
        others = Amounts(self.resources, what="resources of a node")
        for name in ("procs", "memory", "gpus"):
            if name in others:
                raise MachineError(f"resources of a node: {name} has a field of its own")
        object.__setattr__(self, "resources", others)
        Amounts(self.amounts, what="a node")

    @property
    def amounts(self) -> dict[str, float]:
        """Everything that a node has, by name, processors first; what it has none of is absent."""
        amounts = {"procs": float(self.procs)}
        if self.memory is not None:
            amounts["memory"] = float(self.memory)
        if self.gpus:
            amounts["gpus"] = self.gpus
        return amounts | dict(self.resources)


@dataclass(frozen=True, slots=True)
class Partition:
    """A dedicated part of the machine with its own policy.

    Parameters
    ----------
    name
        The number in the log's partition field, or the name that the log gives it.
    procs
        Its processors, where nodes aren't described.
    nodes
        Its nodes, where they are: numbers from 1, ``"1-16"`` or ``"1-8,12"``.
    policy
        ``ORDER[+BACKFILL]``; the run's own if None.
    placement, whole_nodes
        The cluster's if None.
    default
        Takes jobs whose partition isn't described, or not known.
    """

    name: int | str
    procs: int | None = None
    nodes: str | None = None
    policy: str | Policy | None = None
    placement: str | None = None
    whole_nodes: bool | None = None
    default: bool = False

    def __post_init__(self) -> None:
        called = f"partition {self.name}"
        if (self.procs is None) == (self.nodes is None):
            raise MachineError(f"{called}: give its procs, or its nodes as in '1-16'")
        if self.procs is not None:
            object.__setattr__(self, "procs", whole(f"procs of {called}", self.procs))
        if self.nodes is not None:
            stretches(str(self.nodes), called)
            object.__setattr__(self, "nodes", str(self.nodes))
        if self.placement is not None:
            word("placement", self.placement, PLACEMENTS)
        if self.policy is not None:
            object.__setattr__(self, "policy", detailed_policy(self.policy))


def detailed_policy(given: str | Policy) -> Policy:
    """Read a policy; refuse those that only the plain pool of processors knows."""
    policy = Policy.parse(given)
    if policy.order == SLURM or policy.order in PREEMPTIVE:
        raise PolicyError(
            f"policy {policy} is for a plain pool of processors (slurm knows overheads too); a "
            "detailed machine takes any other order, e.g. fcfs, easy or multifactor+conservative"
        )
    return policy


def stretches(text: str, what: str = "nodes") -> list[range]:
    """Read numbers from 1 as stretches, without listing them; at most `MOST_NODES` together."""
    found: list[range] = []
    for part in str(text).replace(" ", "").split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise MachineError(
                f"{what}: {_shortened(text)} are no numbers of nodes from 1; e.g. 3, '3-7' or "
                "'1,5-6'"
            )
        found.append(range(first, last + 1))
    if sum(map(len, found)) > MOST_NODES:
        raise MachineError(
            f"{what}: {_shortened(text)} name {sum(map(len, found)):,} nodes; at most "
            f"{MOST_NODES:,} are taken"
        )
    return found


def _shortened(text: str) -> str:
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}…"


def numbers(text: str, what: str = "nodes") -> list[int]:
    """Read numbers from 1: ``"3"``, ``"3-7"``, ``"1,5-6"``.

    Examples
    --------
    >>> numbers("1,5-7")
    [1, 5, 6, 7]
    """
    return list(chain.from_iterable(stretches(text, what)))
