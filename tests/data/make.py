"""Make the small logs of this folder again: ``python tests/data/make.py``.

Three logs of 400 jobs from our own model of Lublin and Feitelson, with the users, estimates and
waits that a log of the archive would have. No site's data are in them: they stand in for archive
logs where those aren't beside the repository.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import onega

MACHINES = {"made-100": 100, "made-128": 128, "made-1024": 1024}
JOBS = 400
LIMITS = (60, 120, 180, 300, 360, 600, 720, 900, 1200, 1740, 1800, 2400, 2700, 3000, 3540, 3600,
          6000, 7200, 8400, 9000, 10800, 12000, 13800, 14400, 18000, 21600, 25200, 28800, 36000,
          43200, 54000, 64800)  # fmt: skip
"""Seconds that users like to ask for."""


def make(machine: int) -> onega.Workload:
    """Make one log: a few users submit most jobs, most estimates are too long, some too short."""
    rng = np.random.default_rng(machine)
    log = onega.models.Lublin().sample(JOBS, rng=machine, cluster=machine)
    runtime = log.column("runtime").round() + 1
    limits = np.array(LIMITS, dtype=float)
    places = np.searchsorted(limits, runtime * rng.choice([0.9, 1, 1, 2, 5], JOBS))
    table = log.table.with_columns(
        submit=pl.Series(log.column("submit").round()),
        runtime=pl.Series(runtime),
        estimate=pl.Series(limits[np.minimum(places, limits.size - 1)]),
        wait=pl.Series(rng.exponential(600, JOBS).round()),
        user=pl.Series(np.minimum(rng.zipf(1.6, JOBS), 40).astype(np.int32)),
    )
    return onega.Workload(table, replace(log.meta, procs=machine, source="made", epoch=8e8))


def main() -> None:
    for name, machine in MACHINES.items():
        onega.write(make(machine), Path(__file__).with_name(f"{name}.swf"))


if __name__ == "__main__":
    main()
