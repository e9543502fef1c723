"""Queues with priorities and limits, limits of users, and the multifactor priority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onega.core.errors import MachineError
from onega.core.machine.amounts import Amounts
from onega.core.machine.checks import as_float, convert, long_seconds, number, seconds, whole
from onega.core.units import LARGEST


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its priority, and how much of the machine its jobs may have.

    Parameters
    ----------
    name
        The number in the log's queue field, or the name that the log gives it.
    priority
        Jobs of queues of higher priority come first, whatever the order.
    max_jobs, max_procs
        Running jobs and busy processors of the queue at once.
    max_jobs_per_user, max_procs_per_user
        The same of each user within the queue.
    max_time
        Longest estimate (run time where there is none): seconds, or text such as ``"12h"``.
    factor
        The queue's term of the multifactor priority, from 0 to 1.
    default
        Takes jobs whose queue isn't described, or not known.
    """

    name: int | str
    priority: float = 0
    max_jobs: int | None = None
    max_procs: int | None = None
    max_jobs_per_user: int | None = None
    max_procs_per_user: int | None = None
    max_time: float | None = None
    factor: float = 0.0
    default: bool = False

    def __post_init__(self) -> None:
        called = f"queue {self.name}"
        convert(
            self,
            called,
            optional=True,
            max_jobs=whole,
            max_procs=whole,
            max_jobs_per_user=whole,
            max_procs_per_user=whole,
            max_time=long_seconds,
        )
        if not abs(as_float(f"{called}: priority", self.priority)) <= LARGEST:
            raise MachineError(
                f"{called}: priority is from {-LARGEST:g} to {LARGEST:g}, got {self.priority}"
            )
        if not 0 <= number(f"{called}: factor", self.factor) <= 1:
            raise MachineError(f"{called}: factor is from 0 to 1, got {self.factor}")


@dataclass(frozen=True, slots=True)
class UserLimits:
    """Running jobs and busy processors that each user may have at once."""

    max_jobs: int | None = None
    max_procs: int | None = None

    def __post_init__(self) -> None:
        convert(self, "user limits", optional=True, max_jobs=whole, max_procs=whole)
        if self.max_jobs is None and self.max_procs is None:
            raise MachineError("user limits: give max_jobs or max_procs")


@dataclass(frozen=True, slots=True)
class Multifactor:
    """Weights of the order ``multifactor``, as Slurm's priority/multifactor has them.

    priority = age·min(1, wait / max_age) + size·(procs / machine) + fair_share·F + queue·factor,
    F = 2^(−(usage of the user / usage of all) / share of the user); usage is processor-seconds that
    decay with the half-life. The weights are round numbers, fair-share before the rest; times are
    Slurm's defaults.

    Parameters
    ----------
    age, size, fair_share, queue
        Weights.
    max_age, half_life, period
        Seconds, or text such as ``"7d"``: when the age counts in full; in what time usage halves;
        between two evaluations (0: at every scheduling pass).
    shares
        Of users, by the name that the log has for them, or by their number in it; a user that
        isn't named has 1.
    """

    age: float = 1000.0
    max_age: float = 7 * 86400.0
    size: float = 1000.0
    fair_share: float = 10000.0
    queue: float = 1000.0
    half_life: float = 7 * 86400.0
    period: float = 300.0
    shares: Mapping[Any, float] = field(default_factory=Amounts)

    def __post_init__(self) -> None:
        convert(self, "multifactor", age=number, size=number, fair_share=number, queue=number)
        convert(self, "multifactor", max_age=long_seconds, half_life=long_seconds, period=seconds)
        shares = Amounts(self.shares, what="shares")
        for user, share in shares.items():
            number(f"share of user {user}", share, above_zero=True)
        object.__setattr__(self, "shares", shares)
