"""What is told of one run first: the same numbers on the command line, in files and on the page."""

from __future__ import annotations

from typing import Any, Final

from onega.core.intervals import Interval
from onega.core.schedule.schedule import Schedule
from onega.core.schedule.window import Window, window_keys
from onega.traces.description.cautions import log_cautions, run_size_warning

BATCHES: Final = 30
"""Batches of jobs behind the interval of a mean wait."""


def wait_interval(schedule: Schedule) -> Interval | None:
    """Interval of the mean wait, by batch means; None if there are too few jobs for it."""
    if len(schedule) < 2 * BATCHES:
        return None
    return schedule.interval("wait", batches=BATCHES)


def run_summary(
    schedule: Schedule, window: Window | str = "log", *, left_out: int = 0
) -> dict[str, Any]:
    """Return the measures of a run in one flat dictionary, with what makes them mislead.

    Those of the whole run (`Schedule.summary`), under ``window_…`` those of a window, the interval
    of the mean wait, ``size_warning``, ``warnings`` and how many jobs were ``left_out``.
    """
    interval = wait_interval(schedule)
    return {
        **schedule.summary(),
        **window_keys(schedule, window),
        "size_warning": run_size_warning(schedule.workload, schedule.cluster.procs),
        "warnings": list(log_cautions(schedule.workload)),
        "mean_wait_low": None if interval is None else interval.low,
        "mean_wait_high": None if interval is None else interval.high,
        "left_out": left_out,
    }
