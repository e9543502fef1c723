"""Backfilling on a plain array of seconds: slower than clever, quick enough for long queues.

Everything is a whole number of seconds and the rate is one. What is free in each coming second
stands in an array; a job's reservation is the first stretch of it that is wide enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.schedulers import Job


def first_window(free: np.ndarray, job: Job) -> int:
    """The first second from which on the job fits for all of its estimate."""
    narrow = np.concatenate([[0], np.cumsum(free < job.procs)])
    return int(np.argmax(narrow[job.estimate :] == narrow[: -job.estimate]))


def starts(jobs: Sequence[Job], procs: int, keys: Sequence[float], backfill: str) -> list[int]:
    """Start of each job; `backfill` is `easy` or `conservative`, `keys` order the queue."""
    start = [-1] * len(jobs)
    waiting: list[int] = []
    running: list[int] = []
    submitted, now = 0, min(job.submit for job in jobs)
    while submitted < len(jobs) or running:
        ends = [start[j] + jobs[j].work for j in running]
        now = min([*ends, *(job.submit for job in jobs[submitted : submitted + 1])])
        running = [j for j, end in zip(running, ends) if end > now]
        while submitted < len(jobs) and jobs[submitted].submit == now:
            waiting.append(submitted)
            submitted += 1
        waiting.sort(key=lambda j: (keys[j], j))
        idle = procs - sum(jobs[j].procs for j in running)
        horizon = 1 + sum(jobs[j].estimate for j in waiting + running)
        free = np.full(horizon, procs)
        for j in running:  # an overdue job is expected to end now
            free[: max(0, start[j] + jobs[j].estimate - now)] -= jobs[j].procs
        blocked = False
        for j in list(waiting):
            job = jobs[j]
            if idle == 0 or (backfill == "easy" and blocked and job.procs > idle):
                continue  # it can't start, and what it might reserve concerns nobody
            at = first_window(free, job)
            if at == 0 and job.procs <= idle:
                start[j] = now
                running.append(j)
                waiting.remove(j)
                idle -= job.procs
            elif backfill == "easy" and blocked:
                continue
            blocked = blocked or start[j] < 0
            free[at : at + job.estimate] -= job.procs
    return start
