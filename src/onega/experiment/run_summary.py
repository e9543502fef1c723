"""What is told of one run first: the same numbers on the command line, in files and on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from onega.core.intervals import Interval
from onega.core.schedule.schedule import Schedule
from onega.core.schedule.window import Window, window_keys
from onega.core.units import count_of
from onega.traces.description.cautions import log_cautions, run_size_warning

BATCHES: Final = 30
"""Batches of jobs behind the interval of a mean wait."""


def wait_interval(schedule: Schedule) -> Interval | None:
    """Interval of the mean wait, by batch means; None if there are too few jobs for it."""
    if np.count_nonzero(np.isfinite(schedule.start)) < 2 * BATCHES:
        return None
    return schedule.interval("wait", batches=BATCHES)


def unstarted_warning(numbers: Mapping[str, Any]) -> str | None:
    """Say over which jobs a run's waits are if some waited for ever; None if none did.

    They count in no mean, which may so look better the more of them there are.
    """
    waiting, started = numbers.get("unstarted_jobs", 0), numbers.get("started_jobs", 0)
    if not waiting:
        return None
    those = f"waits are of the {count_of(started, 'job')} that started"
    return (
        f"{waiting:,} of {count_of(numbers['jobs'], 'job')} never ran to an end, still waiting "
        f"when nothing more could happen; {those if started else 'none started'}."
    )


def run_summary(
    schedule: Schedule, window: Window | str = "log", *, left_out: int = 0
) -> dict[str, Any]:
    """Return the measures of a run in one flat dictionary, with what makes them mislead.

    Those of the whole run (`Schedule.summary`), under ``window_…`` those of a window, the interval
    of the mean wait, ``size_warning``, ``unstarted_warning``, ``warnings`` and how many jobs were
    ``left_out``.
    """
    interval = wait_interval(schedule)
    whole = schedule.summary()
    return {
        **whole,
        **window_keys(schedule, window),
        "size_warning": run_size_warning(schedule.workload, schedule.cluster.procs),
        "unstarted_warning": unstarted_warning(whole),
        "warnings": list(log_cautions(schedule.workload)),
        "mean_wait_low": None if interval is None else interval.low,
        "mean_wait_high": None if interval is None else interval.high,
        "left_out": left_out,
    }
