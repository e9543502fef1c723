"""The window of time over which a machine is measured.

A log begins with a machine that looks empty, because what ran before isn't in it, and ends with one
that empties, because what came later isn't. Averages over time from the first submission to the
last completion mix that with the machine's usual state: one job that runs for two weeks after the
last submission makes a full machine look idle. `log_window` finds the stretch that the log itself
supports; docs/measures.md has the rule and its reasons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import ScheduleError
from onega.core.schedule.common import means_of
from onega.core.schedule.energy import count_over
from onega.core.schedule.measures import machine_measures
from onega.core.schedule.warmup import Warmup
from onega.core.types import Floats
from onega.core.units import duration, humanise_seconds
from onega.core.workload.clock import local_moment, local_zone

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule
    from onega.core.workload.meta import Meta
    from onega.core.workload.workload import Workload


FULL: Final = 0.9
"""Share of its usual level from which on a machine counts as filled."""

EMPTIED: Final = 0.5
"""Share of its usual level below which a machine counts as emptied at the last submission."""

LONG: Final = 30 * 86400.0
"""Seconds from which on a window's hours aren't told."""

ACCEPTED: Final = (
    "log (from when the machine has filled to the last submission), whole (from the first "
    "submission to the last completion), or START..END, each a date of the log such as 2024-01-02 "
    "or 2024-01-02T12:00, or a time after the first submission such as 2d; one of them may be left "
    "out"
)


@dataclass(frozen=True, slots=True)
class Window:
    """From when until when a machine is measured, in seconds after the log's epoch.

    Attributes
    ----------
    since, until
        The ends; infinite where the schedule's own are meant.
    kind
        ``"log"``: what the log supports; ``"whole"``: all of it; ``"given"``: as asked for.
    """

    since: float
    until: float
    kind: str = "given"

    @classmethod
    def of(cls, given: str | tuple[float, float] | Window, log: Workload) -> Window:
        """Read ``"log"``, ``"whole"``, ``"START..END"`` or (since, until) as a window of a log."""
        if isinstance(given, Window):
            return given
        if not isinstance(given, str):
            return cls(float(given[0]), float(given[1]))
        word = given.strip()
        if word == "log":
            return log_window(log)
        if word == "whole":
            return WHOLE
        start, dots, end = word.partition("..")
        if not dots:
            raise ScheduleError(f"unknown window {given!r}; accepted: {ACCEPTED}")
        since = -math.inf if not start.strip() else _instant(start.strip(), given, log)
        until = math.inf if not end.strip() else _instant(end.strip(), given, log)
        if not since < until:
            raise ScheduleError(f"the window {given!r} ends before it begins")
        return cls(since, until)

    def within(self, first: float, last: float) -> Window:
        """Return the part between two times."""
        return Window(max(self.since, first), min(self.until, last), self.kind)

    def part_with_jobs(self, submit: Floats, first: float, last: float) -> Window:
        """Return the part between two times; refuse a window in which no job was submitted."""
        part = self.within(first, last)
        if not self.holds(submit).any() or (self.kind == "given" and not part.length > 0):
            raise ScheduleError(
                f"no job was submitted in the window from {self.since:g} to {self.until:g} s; the "
                f"first was at {submit.min():g} s, the last at {submit.max():g} s"
            )
        return part

    def holds(self, submit: Floats) -> npt.NDArray[np.bool_]:
        """Mark the submissions inside; the last one of a log belongs to the log's own window."""
        before = submit <= self.until if self.kind == "log" else submit < self.until
        return np.asarray((submit >= self.since) & before)

    @property
    def meaning(self) -> str:
        """What kind of window it is, in words."""
        return {
            "log": "from when the machine had filled to the last submission",
            "whole": "from the first submission to the last completion",
        }.get(self.kind, "as asked for")

    @property
    def length(self) -> float:
        """Seconds."""
        return self.until - self.since

    def words(self, meta: Meta, first: float = 0.0) -> str:
        """Write the ends for a person: dates if the log has any, else days after ``first``."""
        moments = [local_moment(meta, end) for end in (self.since, self.until)]
        pattern = "%B %Y" if self.length >= LONG else "%B %Y %H:%M"
        dates = [f"{moment.day} {moment:{pattern}}" for moment in moments if moment is not None]
        if len(dates) == len(moments):
            return " to ".join(dates)
        ends = [humanise_seconds(end - first) for end in (self.since, self.until)]
        return f"{ends[0]} to {ends[1]} after the first submission"


WHOLE: Final = Window(-math.inf, math.inf, "whole")
"""From the first submission to the last completion."""


def _instant(text: str, whole: str, log: Workload) -> float:
    """Read an end of a window: a date of the log, or a time after its first submission."""
    try:
        return float(log.submissions[0]) + duration(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ScheduleError(
            f"the window {whole!r}: {text!r} is neither a time nor a date; accepted: {ACCEPTED}"
        ) from None
    if log.meta.epoch is None:
        raise ScheduleError(
            f"the window {whole!r} has a date, and the log has none; give times after the first "
            "submission, such as 2d..9d"
        )
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=local_zone(log.meta)[0])
    return zoned.timestamp() - log.meta.epoch


def log_window(log: Workload) -> Window:
    """Find the stretch of time over which a log says how full its machine was.

    The usual level L is the median over time of the processors that the log's jobs hold in the
    second half of the submissions' span. The window goes from the first instant at which they hold
    0.9·L to the last submission; or, if they hold less than L/2 at the last submission (a log cut
    by completions), to the last instant before it at which they hold 0.9·L. A window shorter than
    the mean run time can't tell how full a machine is: then it is `WHOLE`. Starts are the log's
    own; a job whose wait isn't known counts from its submission, so that the window is the same
    for all policies that a log is simulated under.
    """
    found: Window = log.cached((_log_window,), lambda: _log_window(log))
    return found


def _log_window(log: Workload) -> Window:
    held = held_processors(log)
    if held is None:
        return WHOLE
    time, procs, mean_runtime = held
    first, last = (float(log.submissions[place]) for place in (0, -1))
    usual = _median_over(time, procs, (first + last) / 2, last)
    full = time[:-1][(procs[:-1] >= FULL * usual) & (time[:-1] >= first) & (time[:-1] <= last)]
    if full.size == 0:
        return WHOLE
    # No level: the machine is idle for most of the time, and there is nothing that it fills to.
    since, until = (float(full[0]), last) if usual > 0 else (first, last)
    at_last = procs[max(0, int(np.searchsorted(time, last, side="left")) - 1)]
    if at_last < EMPTIED * usual:
        place = np.flatnonzero((procs >= FULL * usual) & (time < last))[-1]
        until = min(last, float(time[place + 1]))
    window = Window(since, until, "log")
    supported = window.length >= mean_runtime and bool(window.holds(log.submissions).any())
    return window if supported else WHOLE


def held_processors(
    log: Workload, *, observed: bool = False
) -> tuple[Floats, Floats, float] | None:
    """Return when the processors held by a log's jobs change, to what, and the mean run time.

    A job whose wait isn't known counts from its submission, or, with ``observed``, not at all.
    None if no such job of the log has a width and a run time.
    """
    submit, wait, runtime, procs = (
        np.asarray(log.column(name), np.float64) for name in ("submit", "wait", "runtime", "procs")
    )
    known = (runtime > 0) & (procs > 0) & (np.isfinite(wait) if observed else True)
    if not known.any():
        return None
    start = (submit + np.nan_to_num(np.maximum(wait, 0.0)))[known]
    end = start + runtime[known]
    time = np.unique(np.concatenate([start, end]))
    held = count_over(time, start, end, procs[known])
    return time, held, float(runtime[known].mean())


def _median_over(time: Floats, values: Floats, first: float, last: float) -> float:
    """Median over time, from ``first`` to ``last``, of what holds from each time to the next."""
    length = np.diff(np.clip(np.append(time, max(last, time[-1])), first, last))
    order = np.argsort(values, kind="stable")
    gone = np.cumsum(length[order])
    return float(values[order][np.searchsorted(gone, gone[-1] / 2)])


def window_summary(
    schedule: Schedule, given: str | tuple[float, float] | Window = "log"
) -> dict[str, Any]:
    """Measures of [since, until): of jobs submitted in it, and of the machine during it.

    Job measures (waits, slowdowns, …) are over the jobs submitted in the window, whenever they
    ended. Measures of the machine (utilisation, energy, jobs in the system, …) are averages and
    integrals over the window.
    """
    asked = Window.of(given, schedule.workload)
    submit = schedule.workload.column("submit")
    window = asked.part_with_jobs(submit, schedule.begin, schedule.last)
    jobs = schedule.jobs.filter(pl.Series(asked.holds(submit)))
    policy = schedule.policy
    return {
        "window": window.kind,
        "since": window.since,
        "until": window.until,
        "jobs": jobs.height,
        "procs": schedule.cluster.procs,
        "policy": str(policy) if policy else "observed",
        "knowledge": policy.knowledge if policy else None,
        **means_of(jobs),
        **machine_measures(schedule, window.since, window.until),
    }


def window_keys(
    schedule: Schedule, given: str | tuple[float, float] | Window = "log"
) -> dict[str, Any]:
    """Return a window's measures under names of their own, to stand beside those of the whole run.

    ``window`` (which), ``window_start``, ``window_end`` (s), ``window_words``, then
    ``window_utilisation``, ``window_mean_power``, ….
    """
    found = window_summary(schedule, given)
    window = Window(found.pop("since"), found.pop("until"), found.pop("window"))
    for name in ("procs", "policy", "knowledge"):
        del found[name]
    words = window.words(schedule.workload.meta, float(schedule.workload.submissions[0]))
    ends = {"window_start": window.since, "window_end": window.until, "window_words": words}
    named = {f"window_{name}": value for name, value in found.items()}
    return {"window": window.kind, **ends, **named}


def settled_summary(schedule: Schedule, warmup: str | float) -> dict[str, Any]:
    """Measures from the end of the warm-up on, and how long that was by which rule."""
    rule = Warmup.parse(warmup)
    cut = rule.removed(schedule)
    submit = np.sort(schedule.workload.column("submit"))
    since = float(submit[cut.removed])
    return {
        **window_summary(schedule, (since, math.inf)),
        "warm_up": str(rule),
        "warm_up_jobs": cut.removed,
        "settled": cut.settled,
    }
