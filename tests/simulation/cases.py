"""Random cases full of ties, and what makes simulator and twin comparable number by number.

The twin counts in Fractions; the simulator in floats. Rates are powers of two and times are whole
numbers, so that floats don't round either, unless a case divides by three too often: `exact`
tells, and such cases are compared elsewhere, with a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np

import onega
from onega.core.machine.cluster import RateControl
from onega.core.policy import Policy, Priority
from onega.core.rng import generator, seed_sequence
from onega.core.schedule.schedule import Schedule
from onega.core.workload.workload import Workload
from reference import schedulers
from reference.schedulers import Control, Job, Outcome

HALF = Fraction(1, 2)
RATES = {
    1: [(1,), (HALF,), (2,)],
    2: [(HALF, 1), (1, 2), (HALF, 2)],
    3: [(HALF, 1, 2), (1, 2, 4), (1, 2, 8)],
}


def static_key(now, submit, estimate, procs):
    """A user's order that doesn't look at the time."""
    return estimate * procs * procs - 3 * submit


def dynamic_key(now, submit, estimate, procs):
    """A user's order that changes its mind as time goes by."""
    wait = now - submit
    if wait > 4:
        return -wait * procs
    return estimate - 2 * wait


OWN = {"static": Priority(static_key, static=True), "dynamic": Priority(dynamic_key)}


def _unicef(now, submit, estimate, procs):
    return -float(now - submit) / (max(np.log2(float(procs)), 1e-9) * float(estimate))


TWIN_KEYS = {"unicef": _unicef, "static": static_key, "dynamic": dynamic_key}
"""Orders that the twin takes as functions; F1 to F4 are made with each table, see `_fit_key`."""

FITTED = {
    "f1": lambda r, n, s: np.log10(r) * n + 870 * s,
    "f2": lambda r, n, s: np.sqrt(r) * n + 25600 * s,
    "f3": lambda r, n, s: r * n + 6860000 * s,
    "f4": lambda r, n, s: r * np.sqrt(n) + 530000 * s,
}

ORDERS = ["fcfs", "lcfs", "spf", "lpf", "saf", "xf", "wfp3", "unicef", *FITTED, *OWN]
POLICIES = [
    *[(order, backfill) for order in ORDERS for backfill in (None, "easy", "conservative")],
    *[(order, None) for order in ("lcfs-pr", "spf-pr", "lpf-pr")],
    ("fcfs", "easy-2018"),
]
CONTROLS = ["none", "random", "queue", "workload"]


@dataclass(frozen=True)
class Case:
    """One simulation, to be run by both."""

    submit: list
    runtime: list
    procs: list
    estimate: list
    machine: int
    order: str = "fcfs"
    backfill: str | None = None
    ties: str = "instant"
    control: Control = field(default_factory=Control)
    knowledge: str = "estimate"
    enforce_limits: bool = False
    seed: int = 0

    def workload(self) -> Workload:
        return Workload(
            {
                "submit": [float(value) for value in self.submit],
                "runtime": [float(value) for value in self.runtime],
                "procs": self.procs,
                "estimate": [None if value is None else float(value) for value in self.estimate],
            }
        )

    def by_arrival(self) -> list[int]:
        return sorted(range(len(self.submit)), key=lambda row: self.submit[row])

    def jobs(self) -> list[Job]:
        """The table as the twin wants it: sorted, what is known spelled out."""
        jobs = []
        for row in self.by_arrival():
            work, estimate = self.runtime[row], self.estimate[row]
            if self.enforce_limits and estimate is not None:
                work = min(work, estimate)
            known = work if self.knowledge == "runtime" or estimate is None else estimate
            jobs.append(Job(self.submit[row], work, known, self.procs[row]))
        return jobs

    def run(self) -> Schedule:
        control = self.control
        rates = RateControl(
            control.kind,
            rates=[float(rate) for rate in control.rates],
            k_low=[float(k) for k in control.k_low],
            k_high=[float(k) for k in control.k_high],
            p_low=float(control.p_low),
            p_high=float(control.p_high),
        )
        return onega.simulate(
            self.workload(),
            onega.Cluster(self.machine, rates),
            Policy(OWN.get(self.order, self.order), self.backfill),
            knowledge=self.knowledge,
            ties=self.ties,
            enforce_limits=self.enforce_limits,
            rng=self.seed,
        )

    def twin(self) -> Outcome:
        jobs = self.jobs()
        control = self.control
        if control.kind == "random":
            draws = generator(seed_sequence(self.seed)).random(2 * len(jobs))
            control = Control(
                **{**vars(control), "u_arrival": draws[::2], "u_departure": draws[1::2]}
            )
        order = TWIN_KEYS.get(self.order, self.order)
        if self.order in FITTED:
            order = _fit_key(self.order, jobs)
        return schedulers.simulate(jobs, self.machine, order, self.backfill, self.ties, control)


def _fit_key(name: str, jobs: list[Job]):
    """F1–F4 of Carastan-Santos and de Camargo (2017): r estimate, n processors, s submission."""
    r, n, s = (
        np.array([float(getattr(job, what)) for job in jobs])
        for what in ("estimate", "procs", "submit")
    )
    keys = FITTED[name](r, n, np.log10(np.maximum(s, 1.0)))
    table = {(job.submit, job.estimate, job.procs): key for job, key in zip(jobs, keys)}
    return lambda now, submit, estimate, procs: table[submit, estimate, procs]


def random_control(rng: np.random.Generator, kind: str, scale: int = 1) -> Control:
    if kind == "none":
        return Control("none", RATES[1][rng.integers(3)])
    levels = int(rng.integers(2, 4))
    rates = RATES[levels][rng.integers(3)]
    if kind == "random":
        p_low, p_high = rng.choice([0.0, 0.25, 0.5, 1.0], 2)
        return Control(kind, rates, p_low=float(p_low), p_high=float(p_high))
    most = 6 if kind == "queue" else 20
    k_low = sorted(int(k) for k in rng.integers(0, most, levels - 1))
    rise = np.cumsum(rng.integers(0, most // 2 + 1, levels - 1))
    k_high = [k + int(more) for k, more in zip(k_low, rise)]
    return Control(kind, rates, tuple(k * scale for k in k_low), tuple(k * scale for k in k_high))


SHAPES = ["ties", "ties", "ties", "serial", "burst", "sparse", "late", "wide"]


def random_case(seed: int, order: str, backfill: str | None, ties: str, kind: str) -> Case:
    """A small case; everything follows from the seed."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[rng.integers(len(SHAPES))]
    n = int(rng.integers(1, 15))
    machine = 1 if shape == "serial" else int(rng.integers(1, 7))
    # W sinks at rate × running: dividing by 3 and 5 stays exact for a while on this scale.
    scale = 60**3 if kind == "workload" else 1
    gaps = rng.choice([0, 0, 1, 2] if shape != "sparse" else [0, 3, 7], n)
    if shape == "burst":
        gaps[:] = 0
    submit = np.cumsum(gaps) + (10**6 if shape == "late" else int(rng.integers(-3, 4)))
    runtime = rng.integers(1, 9, n)
    estimate = [
        [int(r), int(r) + int(more), max(1, int(r) - int(more)), None][choice]
        for r, more, choice in zip(
            runtime, rng.integers(1, 6, n), rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
        )
    ]
    procs = rng.integers(1, machine + 1, n)
    if shape == "wide":
        procs[rng.random(n) < 0.4] = machine
    rows = rng.permutation(n) if rng.random() < 0.2 else np.arange(n)
    return Case(
        [int(submit[row]) * scale for row in rows],
        [int(runtime[row]) * scale for row in rows],
        [int(procs[row]) for row in rows],
        [None if estimate[row] is None else estimate[row] * scale for row in rows],
        machine,
        order,
        backfill,
        ties,
        random_control(rng, kind, scale),
        str(rng.choice(["estimate", "runtime"], p=[0.8, 0.2])),
        bool(rng.random() < 0.2),
        seed,
    )


def numbers(out: Outcome) -> list:
    return [
        *out.start,
        *out.end,
        *(time for time, _ in out.switches),
        *(value for row in out.series for value in (row[0], row[5])),
    ]


def exact(out: Outcome, jobs: int) -> bool:
    """Whether all numbers of a run, and sums over jobs on its work clock, fit into 53 bits."""
    grid = 1
    for value in numbers(out):
        below = Fraction(value).denominator
        if below & (below - 1):
            return False
        grid = max(grid, below)
    return max(abs(value) for value in numbers(out)) * grid * 16 * (jobs + 1) < 2**53


def rate_changes(out: Outcome, first) -> list[tuple]:
    """(since, level) as a schedule keeps it: at most one change an instant, and only real ones."""
    last_of_instant = {first: 0, **dict(out.switches)}
    changes = list(last_of_instant.items())
    return changes[:1] + [new for old, new in pairwise(changes) if new[1] != old[1]]


def compare(case: Case, schedule: Schedule, out: Outcome) -> None:
    """Every start, end, piece of service, change of rate and row of the series, exactly."""
    rows = case.by_arrival()
    assert schedule.start[rows].tolist() == out.start
    assert schedule.end[rows].tolist() == out.end
    rates = schedule.rates
    history = [(float(t), int(level)) for t, level in zip(rates.since, rates.level)]
    assert history == rate_changes(out, min(case.submit))
    if schedule.policy.preemptive:
        pieces = schedule.pieces
        got = sorted(zip(pieces.row.tolist(), pieces.start.tolist(), pieces.end.tolist()))
        assert got == sorted((rows[j], a, b) for j, a, b in out.segments if a < b)
    else:
        assert schedule.pieces is None
    compare_series(schedule, out)


def compare_series(schedule: Schedule, out: Outcome) -> None:
    last = {row[0]: row for row in out.series}
    table = schedule.system
    rates = schedule.rates.rates
    assert table["time"].to_list() == list(last)
    assert table["rate"].to_list() == [rates[row[1]] for row in last.values()]
    for place, name in enumerate(("busy", "running", "waiting", "workload"), start=2):
        assert table[name].to_list() == [row[place] for row in last.values()], name


def check(case: Case) -> bool:
    """Compare; False if the case can't be computed exactly in floats (then nothing is compared)."""
    out = case.twin()
    if not exact(out, len(case.submit)):
        return False
    compare(case, case.run(), out)
    return True
