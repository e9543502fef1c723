"""Logs made for the tests of users: planted reactions, groups, degenerate ones."""

from __future__ import annotations

import numpy as np

from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload

EPOCH = 978307200.0


def planted_log(rng, *, users=12, jobs=200, reaction=0.0, burst=1, procs=64):
    """A log whose users' run times depend on the queue they see: R's level = noise + b·W's level.

    Waits follow a congestion of their own (a slow wave and noise), so the queue is what it is,
    whoever reacts. ``burst``: so many neighbours of one user are the same job.
    """
    random = np.random.default_rng(rng)
    n = users * jobs
    submit = np.floor(np.sort(random.uniform(0, n * 300.0, n)))
    congestion = 0.5 + 0.5 * np.sin(submit / 9e4 + random.uniform(0, 6)) + random.random(n) * 0.3
    wait = np.floor(6000 * congestion)
    start = submit + wait
    user = random.integers(0, users, n)
    waiting = np.arange(n) - np.searchsorted(np.sort(start), submit, side="left")
    level = waiting.argsort().argsort() / n
    noise = random.random(n)
    for one in range(users):
        mine = np.flatnonzero(user == one)
        noise[mine] = np.repeat(random.random(-(-mine.size // burst)), burst)[: mine.size]
    runtime = np.floor(10 * np.exp2(8 * np.clip(noise + reaction * (level - 0.5), 0, 1.2)))
    table = {
        "submit": submit, "wait": wait, "runtime": runtime,
        "procs": random.choice([1, 2, 4, 8], n), "user": user + 1,
    }  # fmt: skip
    return Workload(table, Meta(source="planted", epoch=EPOCH, timezone="UTC", procs=procs * 40))


def grouped_log(rng=0, *, n=4000):
    """Two kinds of people: serial and long; wide and short. 20 users each, a few submit most."""
    random = np.random.default_rng(rng)
    weights = 1.0 / np.arange(1, 21)
    user = random.choice(40, n, p=np.concatenate((weights, weights)) / (2 * weights.sum()))
    serial = user < 20
    procs = np.where(serial, 1, random.choice([16, 32, 64], n))
    runtime = np.where(serial, random.lognormal(9, 0.5, n), random.lognormal(3, 0.5, n))
    table = {
        "submit": np.floor(np.sort(random.uniform(0, 60 * 86400, n))),
        "runtime": np.maximum(1, np.rint(runtime)), "procs": procs, "user": user + 1,
    }  # fmt: skip
    return Workload(table, Meta(source="grouped", epoch=EPOCH, procs=64))


def taking_turns(weeks=12, users=6, per_week=60):
    """Users who never come in the same week: one for all, so no job waits much."""
    random, week_long = np.random.default_rng(5), 604_800.0
    rows = []
    for week in range(weeks):
        when = np.sort(random.uniform(0, week_long, per_week)).round() + week * week_long
        rows += [(t, 1 + week % users) for t in when]
    submit, user = np.array(rows).T
    n = submit.size
    return Workload(
        {"submit": submit, "runtime": random.integers(3000, 9000, n), "procs": np.full(n, 4),
         "user": user.astype(int)},
        Meta(epoch=EPOCH, procs=4, timezone="UTC"),
    )  # fmt: skip
