"""A small site's log."""

from __future__ import annotations

import numpy as np

import onega


def make_log(jobs=600, *, waits=True, people=True, dates=True, machine=64):
    random = np.random.default_rng(5)
    runtime = random.lognormal(6, 1.5, jobs).round() + 1
    table = {
        "submit": np.sort(random.uniform(0, 40 * 86400, jobs)).round(),
        "runtime": runtime,
        "procs": 2 ** random.integers(0, 6, jobs),
    }
    if people:
        table["user"] = random.integers(1, 9, jobs)
        table["estimate"] = np.ceil(runtime * random.uniform(1, 8, jobs) / 300) * 300
    if waits:
        table["wait"] = random.exponential(600, jobs).round()
    zone = {"epoch": 1.6e9, "timezone": "Europe/Stockholm"} if dates else {}
    return onega.Workload(table, onega.Meta(source="site.swf", procs=machine, **zone))
