"""Small made logs whose ends mislead: what is measured over time depends on the window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import onega

HOUR = 3600.0
DAY = 24 * HOUR
EPOCH = 1_704_067_200.0  # 2024-01-01 00:00 UTC

BUSY_OF_ALL = (21 * 24 * 9 * HOUR + 60 * DAY) / (10 * 81 * DAY)
"""Busy share of `hourly` from the first submission to the last completion; else it is 0.9."""


def hourly(days: int = 21, *, long_last_job: bool = True, epoch: float | None = EPOCH):
    """A job an hour, of one processor for nine hours, on ten: 9 are busy from hour 8 on.

    The last job, with ``long_last_job``, runs for sixty days after the others.
    """
    submit = np.arange(24 * days + 1) * HOUR
    runtime = np.full(submit.size, 9 * HOUR)
    if long_last_job:
        runtime[-1] = 60 * DAY
    columns = {
        "submit": submit,
        "runtime": runtime,
        "procs": np.ones(submit.size, int),
        "wait": np.zeros(submit.size),
    }
    made = onega.Workload(columns).with_machine(10)
    return onega.Workload(made.table, replace(made.meta, epoch=epoch, source="hourly.swf"))
