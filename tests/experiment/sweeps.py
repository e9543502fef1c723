"""Small logs and sweeps for the tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import onega

MACHINE = 16


def small_log(jobs: int = 200, seed: int = 1) -> onega.Workload:
    rng = np.random.default_rng(seed)
    runtime = rng.lognormal(5, 1.2, jobs).round() + 1
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(60.0, jobs)).round(),
            "runtime": runtime,
            "estimate": (runtime * rng.uniform(1, 4, jobs)).round(),
            "procs": 2 ** rng.integers(0, 4, jobs),
            "user": rng.integers(1, 9, jobs),
        },
        onega.Meta(procs=MACHINE),
    )


def write_sweep(folder: Path, body: str, jobs: int = 200) -> Path:
    """Write a log and a sweep file that reads it."""
    onega.write(small_log(jobs), folder / "log.swf")
    path = folder / "sweep.toml"
    path.write_text(f'[fixed]\ntrace = "log.swf"\n{body}')
    return path


def same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables are equal bit for bit: names, types, order, values."""
    return one.schema == other.schema and one.equals(other, null_equal=True)
