"""Make the stream `night` of docs/adequacy.md: two hours of jobs with a night of three between.

python examples/night_stream.py night.swf
"""

from __future__ import annotations

import sys

import numpy as np

import onega

PROCS, JOBS_A_DAY, DAY, SECOND_DAY = 128, 60, 3600.0, 4 * 3600.0


def night_stream(seed: int = 2026) -> onega.Workload:
    """Draw 120 jobs: run times log-uniform from 20 to 1200 s, widths powers of two up to 64."""
    rng = np.random.default_rng(seed)
    days = [np.floor(begin + np.sort(rng.uniform(0, DAY, JOBS_A_DAY))) for begin in (0, SECOND_DAY)]
    submit = np.concatenate(days)
    runtime = np.floor(np.exp(rng.uniform(np.log(20), np.log(1200), submit.size)))
    procs = 2 ** rng.integers(0, 7, submit.size)
    minutes = np.ceil(runtime * rng.choice([1.0, 1.5, 2, 3], submit.size) / 60 + 0.01)
    return onega.Workload(
        {
            "submit": submit - submit[0],
            "runtime": runtime,
            "procs": procs,
            "estimate": 60 * minutes,
        },
        onega.Meta(procs=PROCS),
    )


if __name__ == "__main__":
    onega.write(night_stream(), sys.argv[1])
