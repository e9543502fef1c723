"""What goes wrong: failures and interruptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from onega.core.errors import MachineError
from onega.core.machine.checks import convert, long_seconds, word
from onega.core.machine.laws import Draws, Law

InterruptionRule = Literal["lost", "requeue", "checkpoint"]
INTERRUPTIONS: Final[Mapping[InterruptionRule, str]] = {
    "lost": "the job is gone",
    "requeue": "it waits again in its old place, and starts from nothing",
    "checkpoint": "it waits again, and goes on from its last checkpoint",
}


@dataclass(frozen=True, slots=True)
class Failures:
    """Random failures, of each node on its own.

    Parameters
    ----------
    time_to_failure, time_to_repair
        Laws (`onega.Law`) or their text: ``"weibull(shape=0.7, mean=30d)"``.
    """

    time_to_failure: Draws
    time_to_repair: Draws

    def __init__(
        self, time_to_failure: str | float | Draws, time_to_repair: str | float | Draws
    ) -> None:
        object.__setattr__(self, "time_to_failure", Law.of(time_to_failure))
        object.__setattr__(self, "time_to_repair", Law.of(time_to_repair))
        for name in ("time_to_failure", "time_to_repair"):
            law = getattr(self, name)
            if isinstance(law, Law) and law.mean == 0:
                raise MachineError(f"failures: {name} is above 0, got {law}")


@dataclass(frozen=True, slots=True)
class Interruption:
    """What becomes of a job whose node fails or that is interrupted by an event.

    Parameters
    ----------
    rule
        ``"lost"``, ``"requeue"`` or ``"checkpoint"``.
    interval
        Seconds of work between checkpoints (or text such as ``"1h"``).
    """

    rule: str = "requeue"
    interval: float | None = None

    def __post_init__(self) -> None:
        word("interruption", self.rule, INTERRUPTIONS)
        if (self.rule == "checkpoint") != (self.interval is not None):
            raise MachineError(
                "interruption: an interval goes with the rule 'checkpoint', and the rule with it"
            )
        convert(self, "interruption", optional=True, interval=long_seconds)
