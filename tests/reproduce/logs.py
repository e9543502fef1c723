"""A small log with users, estimates, waits and dates."""

from __future__ import annotations

import numpy as np

import onega


def make_log(source="mine.swf", jobs=900, seed=3):
    random = np.random.default_rng(seed)
    runtime = random.lognormal(6, 1.5, jobs).round() + 1
    estimate = np.ceil(runtime * random.uniform(1, 8, jobs) / 300) * 300
    cut_off = np.arange(jobs) % 12 == 0  # these ran for all of their estimate
    table = {
        "submit": np.sort(random.uniform(0, 30 * 86400, jobs)).round(),
        "runtime": runtime,
        "procs": 2 ** random.integers(0, 6, jobs),
        "estimate": np.where(cut_off, runtime, estimate),
        "user": random.integers(1, 9, jobs),
    }
    workload = onega.Workload(
        table, onega.Meta(source=source, procs=64, epoch=1.6e9, timezone="Europe/Stockholm")
    )
    schedule = onega.simulate(workload, 64, "easy")
    wait = schedule.start - workload.column("submit")
    return onega.Workload({**table, "wait": wait}, workload.meta)
