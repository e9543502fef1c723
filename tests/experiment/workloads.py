"""Small logs and queues for the tests of experiments."""

from __future__ import annotations

import numpy as np

import onega

WEEK = 604_800.0


def log(weeks: float = 6.0, jobs: int = 1500, seed: int = 1, procs: int = 64) -> onega.Workload:
    """Jobs of eight users over some weeks, with a daily cycle."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.uniform(0, weeks * WEEK, 3 * jobs))
    day = 0.5 + 0.5 * np.sin(2 * np.pi * (submit % 86400) / 86400)
    submit = np.floor(np.sort(rng.choice(submit, jobs, replace=False, p=day / day.sum())))
    submit[0], submit[-1] = 0.0, weeks * WEEK
    runtime = np.floor(rng.lognormal(7.5, 1.4, jobs)) + 1
    return onega.Workload(
        {
            "submit": submit,
            "runtime": runtime,
            "procs": 2 ** rng.integers(0, 6, jobs),
            "estimate": runtime * rng.uniform(1, 4, jobs),
            "user": rng.integers(1, 9, jobs),
            "wait": rng.exponential(100, jobs),
        },
        onega.Meta(procs=procs, source="made up"),
    )


class Queue:
    """Draws M/M/c customers: ``jobs`` of width 1, Poisson arrivals, exponential service."""

    def __init__(self, rate: float, mean: float, jobs: int) -> None:
        self.rate, self.mean, self.jobs = rate, mean, jobs

    def __call__(self, rng: np.random.Generator) -> onega.Workload:
        return onega.Workload(
            {
                "submit": np.cumsum(rng.exponential(1 / self.rate, self.jobs)),
                "runtime": rng.exponential(self.mean, self.jobs),
                "procs": np.ones(self.jobs, np.int64),
            }
        )
