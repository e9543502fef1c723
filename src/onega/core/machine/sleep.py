"""Sleep states of idle processors, and a cap on the machine's power."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from onega.core.errors import MachineError
from onega.core.machine.checks import as_float, convert, number, seconds
from onega.core.units import LONGEST

DAY = 86400.0


@dataclass(frozen=True, slots=True)
class SleepState:
    """One depth of sleep.

    Parameters
    ----------
    timeout
        How long a processor (a node, where nodes are described) has been idle when it falls
        asleep so deep: seconds, or text such as ``"10m"``.
    power
        Watts per processor asleep.
    delay
        Seconds from being needed to being ready.
    wake_power
        Watts per processor meanwhile.
    """

    timeout: float
    power: float
    delay: float
    wake_power: float

    def __post_init__(self) -> None:
        convert(self, "sleep", timeout=seconds, power=number, delay=seconds, wake_power=number)


@dataclass(frozen=True, slots=True)
class Sleep:
    """What idle processors do.

    Parameters
    ----------
    states
        From the lightest to the deepest, with increasing timeouts.
    wake_ahead
        Wake the processors of the first waiting job's reservation in time for it.
    """

    states: tuple[SleepState, ...]
    wake_ahead: bool = False

    def __init__(
        self, states: SleepState | Iterable[SleepState], *, wake_ahead: bool = False
    ) -> None:
        given = (states,) if isinstance(states, SleepState) else tuple(states)
        object.__setattr__(self, "states", given)
        object.__setattr__(self, "wake_ahead", bool(wake_ahead))
        if not given:
            raise MachineError("sleep needs at least one state")
        for light, deep in pairwise(given):
            if light.timeout >= deep.timeout:
                raise MachineError(
                    "sleep states go from the lightest to the deepest, with increasing timeouts; "
                    f"got {light.timeout:g} s before {deep.timeout:g} s"
                )


@dataclass(frozen=True, slots=True)
class PowerCap:
    """Watts that the whole machine may draw; a job starts only if it stays below.

    Attributes
    ----------
    steps
        (seconds, watts): the cap from then on, increasing in time. Before the first there is none.
    daily
        The seconds are after midnight, and the steps come again every day.
    """

    steps: tuple[tuple[float, float], ...]
    daily: bool = False

    def __post_init__(self) -> None:
        if not self.steps:
            raise MachineError("a power cap needs at least one step")
        for since, watts in self.steps:
            number("power cap", watts, above_zero=True)
            if not (since == -math.inf or abs(since) <= LONGEST):
                raise MachineError(
                    f"a step of a power cap is at most {LONGEST:g} seconds away, got {since:g}"
                )
        for (earlier, _), (later, _) in pairwise(self.steps):
            if not earlier < later:
                raise MachineError(
                    f"steps of a power cap increase in time, got {earlier:g} before {later:g}"
                )

    @classmethod
    def of(
        cls, given: PowerCap | float | Mapping[str, float] | Sequence[tuple[float, float]]
    ) -> PowerCap:
        """Take watts, times of day with watts ({"08:00": 4000, "20:00": 9000}), or a list of steps.

        A list has pairs of (seconds after the log's epoch, watts).
        """
        if isinstance(given, PowerCap):
            return given
        if isinstance(given, int | float):
            return cls(((-math.inf, as_float("power cap", given)),))
        if isinstance(given, Mapping):
            clock = sorted(
                (_time_of_day(text), as_float("power cap", watts)) for text, watts in given.items()
            )
            return cls(tuple(clock), daily=True)
        try:
            steps = tuple((float(since), float(watts)) for since, watts in given)
        except (TypeError, ValueError, OverflowError):
            raise MachineError(
                "a power cap is a number of watts, times of day with watts, "
                f"or a list of (seconds, watts); got {given!r}"
            ) from None
        return cls(steps)


def _time_of_day(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,2}):([0-9]{2})", str(text).strip())
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:
        raise MachineError(f"power cap: {text!r} is no time of day such as '08:00'")
    return 3600.0 * int(found[1]) + 60.0 * int(found[2])
