"""Fitting every model to 200 000 jobs and drawing a million, in seconds and as multiples of a sort.

The log is HPC2N if it lies beside the repository, else a synthetic one of the same length.
Goals: every family but the neural one is fitted in 5 s, and every family draws 10⁶ jobs in 5 s.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import onega
from onega.models import MODELS

JOBS = 202_871
DRAWN = 1_000_000


def log() -> onega.Workload:
    root = Path(__file__).resolve().parent.parent
    for place in (root.parent, root.parent.parent):
        path = place / "shared" / "traces" / "HPC2N-2002-2.2-cln.swf.gz"
        if path.exists():
            return onega.read(path)
    return MODELS["lublin"]().sample(JOBS, rng=1, cluster=240)


def seconds(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    workload = log()
    small = workload.head(2000)
    sort = min(seconds(lambda: np.sort(np.random.default_rng(1).random(DRAWN))) for _ in range(3))
    print(f"{len(workload)} jobs of {workload.meta.source}; sorting 10⁶ numbers: {sort:.3f} s")
    print(f"{'model':12} {'fit':>8} {'× sort':>7} {'10⁶ jobs':>9} {'× sort':>7}")
    for name, family in MODELS.items():
        family.fit(small, rng=1).sample(100, rng=1)  # compile
        fitted = []
        fit = seconds(lambda family=family, out=fitted: out.append(family.fit(workload, rng=1)))
        draw = seconds(lambda out=fitted: out[0].sample(DRAWN, rng=1))
        print(f"{name:12} {fit:7.2f}s {fit / sort:7.0f} {draw:8.2f}s {draw / sort:7.0f}")


if __name__ == "__main__":
    main()
