"""Small problems of the detailed machine, written by hand or drawn: what isn't said is plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from typing import Any, NamedTuple

import numpy as np

from onega.core.machine.cluster import RateControl
from onega.core.machine.queues import Multifactor
from onega.core.policy import KeyFunction
from onega.kernels.machine import codes
from onega.kernels.machine.state import EVENT, PARTITION, STATE_OF_SLEEP
from onega.simulation.machine.problem import (
    Jobs,
    Nodes,
    Problem,
    make_limits,
    make_options,
)

NO_LIMIT = 2**40
STATIC_KEYS = {
    "fcfs": lambda row, job: row,
    "lcfs": lambda row, job: -row,
    "spf": lambda row, job: job["expect"],
    "lpf": lambda row, job: -job["expect"],
    "saf": lambda row, job: job["expect"] * job["procs"],
}
KEYS_OF_TIME = {
    "xf": codes.EXPANSION,
    "wfp3": codes.WFP3,
    "unicef": codes.UNICEF,
    "own": codes.OWN,
    "multifactor": codes.MULTIFACTOR,
}
BACKFILL = {None: codes.NO_BACKFILL, "easy": 1, "easy2": 2, "conservative": codes.ALL_RESERVED}


class Sleep(NamedTuple):
    """Sleep states from the lightest."""

    timeout: Sequence[float]
    delay: Sequence[float]
    wake_ahead: bool = False


@dataclass
class Draft:
    """A problem in words.

    jobs: one dictionary each; ``submit``, ``procs``, ``work`` and ``expect`` (as ``work`` if
    missing) at least; ``chunks`` and ``chunk`` where nodes are real, ``demand`` where anything is
    shared, ``options`` (dictionaries of the same) if it is moldable, ``accounts`` (numbers of
    limits), ``queue_rank``, and any field of ``JOB``.
    events: (time, code, job or node); reservations: (begin, end, node, amounts); steps: (time,
    resource, capacity); policies, placement, whole: (order, backfill), rule and flag of each
    partition; limits: (jobs, processors) of each account.
    """

    jobs: list[dict[str, Any]]
    capacity: Sequence[Sequence[float]] = ((4,),)
    node_partition: Sequence[int] = ()
    pooled: bool = True
    shared: Sequence[float] = ()
    policies: Sequence[tuple[str, str | None]] = (("fcfs", None),)
    placement: Sequence[int] = (codes.FIRST_FIT,)
    whole: Sequence[bool] = (False,)
    limits: Sequence[tuple[int, int]] = ()
    events: Sequence[tuple[float, int, int]] = ()
    reservations: Sequence[tuple[float, float, int, Sequence[float]]] = ()
    steps: Sequence[tuple[float, int, float]] = ()
    multifactor: Multifactor | None = None
    shares: Sequence[float] = ()
    sleep: Sleep | None = None
    on_interrupt: int = codes.REQUEUE
    checkpoint: float = 1.0
    rates: RateControl = field(default_factory=RateControl)
    draws: Sequence[float] = ()
    own: KeyFunction | None = None
    t0: float | None = None


def _column(rows: Sequence[Mapping[str, Any]], name: str, default: Any, kind: type) -> np.ndarray:
    return np.array([row.get(name, default) for row in rows], kind)


def _options(draft: Draft) -> dict[str, np.ndarray]:
    rows = [
        {**job, **option} for job in draft.jobs for option in job.get("options", [{}])
    ]  # what an option doesn't say, its job does
    kinds = len(draft.capacity[0])
    chunk = np.zeros((len(rows), kinds))
    demand = np.zeros((len(rows), len(draft.shared)))
    for place, row in enumerate(rows):
        chunk[place] = row.get("chunk", [row["procs"], *[0] * (kinds - 1)])
        demand[place] = row.get("demand", [0] * len(draft.shared))
    options, needs = make_options(
        chunk,
        procs=_column(rows, "procs", 1, np.int64),
        work=_column(rows, "work", 0, float),
        expect=np.array([row.get("expect", row["work"]) for row in rows], float),
        chunks=_column(rows, "chunks", 1, np.int64),
        limited=_column(rows, "limited", False, bool),
    )
    return {"options": options, "needs": needs, "demand": demand}


def _ranks(draft: Draft) -> np.ndarray:
    """By queue, then by the partition's order, then by arrival."""

    def key(row: int) -> tuple[float, float, int]:
        job = draft.jobs[row]
        first = {"expect": job["work"], **job, **job.get("options", [{}])[0]}
        order = draft.policies[job.get("partition", 0)][0]
        rule = STATIC_KEYS.get(order, STATIC_KEYS["fcfs"])
        return job.get("queue_rank", 0), rule(row, first), row

    ranks = np.empty(len(draft.jobs), np.int64)
    ranks[sorted(range(len(draft.jobs)), key=key)] = np.arange(len(draft.jobs))
    return ranks


NUMBERS = ("partition", "user", "after")
TIMES = ("submit", "queue_factor", "launch", "completion", "think", "saved", "start")
DEFAULTS = {"after": -1, "start": nan}


def _jobs(draft: Draft) -> Jobs:
    jobs = draft.jobs
    many = np.array([len(job.get("options", [{}])) for job in jobs], np.int64)
    made = Jobs(len(jobs), first_option=np.cumsum(many) - many, options=many)
    for kind, names in ((np.int64, NUMBERS), (float, TIMES)):
        for name in names:
            made[name] = _column(jobs, name, DEFAULTS.get(name, 0), kind)
    by_time = np.array([order in KEYS_OF_TIME for order, _ in draft.policies])[made["partition"]]
    made["rank"] = np.where(by_time, _column(jobs, "queue_rank", 0, np.int64), _ranks(draft))
    for row, job in enumerate(jobs):
        for place, account in enumerate(job.get("accounts", ()), start=1):
            made.setdefault(f"limit_{place}", np.zeros(len(jobs), np.int64))[row] = account + 1
    return made


def _events(draft: Draft) -> np.ndarray:
    rows = sorted(draft.events, key=lambda row: row[0])
    node_events = (codes.FAIL, codes.RETURN, codes.DRAIN)
    return np.array(
        [
            (time, code, -1, who) if code in node_events else (time, code, who, -1)
            for time, code, who in rows
        ],
        EVENT,
    )


def _partitions(draft: Draft) -> np.ndarray:
    rules = np.zeros(len(draft.policies), PARTITION)
    rules["order"] = [KEYS_OF_TIME.get(order, codes.STATIC) for order, _ in draft.policies]
    rules["reservations"] = [BACKFILL[rule] for _, rule in draft.policies]
    rules["placement"] = np.resize(draft.placement, rules.size)
    rules["whole"] = np.resize(draft.whole, rules.size)
    return rules


def build(draft: Draft) -> Problem:
    """The arrays of a draft."""
    nodes = len(draft.capacity)
    sleep = draft.sleep or Sleep([], [])
    first = min(job.get("submit", 0) for job in draft.jobs)
    return Problem(
        t0=float(first if draft.t0 is None else draft.t0),
        jobs=_jobs(draft),
        **_options(draft),
        nodes=Nodes(
            pooled=draft.pooled,
            partition=np.array(draft.node_partition or [0] * nodes, np.int64),
            capacity=np.array(draft.capacity, float),
            shared=np.array(draft.shared, float),
        ),
        partitions=_partitions(draft),
        limits=make_limits(draft.limits),
        events=_events(draft),
        reservations=sorted(draft.reservations, key=lambda row: row[0]),
        steps=sorted(draft.steps, key=lambda row: row[0]),
        multifactor=draft.multifactor,
        shares=np.array(draft.shares, float),
        sleep=np.array(list(zip(sleep.timeout, sleep.delay)), STATE_OF_SLEEP),
        wake_ahead=sleep.wake_ahead,
        on_interrupt=draft.on_interrupt,
        checkpoint=float(draft.checkpoint),
        rates=draft.rates,
        draws=np.array(draft.draws or [1.0] * (2 * len(draft.jobs)), float),
        own=draft.own,
    )


def stretched(problem: Problem, factor: float) -> Problem:
    """The same problem on another scale of time."""

    def longer(group: Any, *names: str) -> Any:
        if isinstance(group, Jobs):
            return Jobs(group.size, **(group | {name: group[name] * factor for name in names}))
        if not isinstance(group, np.ndarray):
            return replace(group, **{name: getattr(group, name) * factor for name in names})
        records = group.copy()
        for name in names:
            records[name] *= factor
        return records

    rates = problem.rates
    if rates.kind == "workload":
        rates = RateControl(
            "workload",
            rates=rates.rates,
            k_low=[k * factor for k in rates.k_low],
            k_high=[k * factor for k in rates.k_high],
        )
    return replace(
        problem,
        t0=problem.t0 * factor,
        jobs=longer(
            problem.jobs,
            "submit",
            "launch",
            "completion",
            "think",
            "start",
            "saved",
        ),
        options=longer(problem.options, "work", "expect"),
        events=longer(problem.events, "time"),
        reservations=[
            (begin * factor, end * factor, *what) for begin, end, *what in problem.reservations
        ],
        steps=[(time * factor, *what) for time, *what in problem.steps],
        sleep=longer(problem.sleep, "timeout", "delay"),
        multifactor=problem.multifactor
        and longer(problem.multifactor, "max_age", "half_life", "period"),
        checkpoint=problem.checkpoint * factor,
        rates=rates,
    )
