"""Schedules of detailed runs: measures beside a count of every half second of the story."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from onega.kernels.machine import codes
from onega.simulation.machine.result import make_schedule
from reference.machine.build import Draft, Sleep, build
from reference.machine.machine import run

STEP = 0.5
STATES = (
    onega.SleepState(timeout=4, power=2, delay=2, wake_power=9),
    onega.SleepState(timeout=11, power=1, delay=3, wake_power=12),
)
POWER = onega.Power(busy=10, idle=5)


def draw(seed: int, *, nodes: bool) -> Draft:
    """A random story: sleep, overheads, cancellations, interruptions, dependencies, failures."""
    rng = np.random.default_rng(seed)
    count, size = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    jobs = []
    for row in range(count):
        procs, work = int(rng.integers(1, size + 1)), float(rng.integers(1, 15))
        job = {
            "submit": float(rng.integers(0, 25)),
            "procs": procs,
            "work": work,
            "expect": work + float(rng.integers(0, 4)),
            "launch": float(rng.integers(0, 3)),
            "completion": float(rng.integers(0, 3)),
        }
        if nodes:
            job |= {"chunks": procs, "chunk": [1]}
        if row and rng.random() < 0.3:
            job |= {"after": int(rng.integers(0, row)), "think": float(rng.integers(0, 5))}
        jobs.append(job)
    jobs.sort(key=lambda job: job["submit"])
    for row, job in enumerate(jobs):
        job["after"] = min(job.get("after", -1), row - 1)
    kinds = [codes.CANCEL, codes.INTERRUPT, codes.KILL, codes.LEAVE]
    events = [
        (float(rng.integers(0, 40)), int(rng.choice(kinds)), int(rng.integers(0, count)))
        for _ in range(rng.integers(0, 5))
    ]
    if nodes:
        for node in range(size):
            if rng.random() < 0.5:
                fails = float(rng.integers(0, 30))
                events.append((fails, codes.FAIL, node))
                if rng.random() < 0.8:
                    events.append((fails + float(rng.integers(1, 20)), codes.RETURN, node))
    return Draft(
        jobs,
        capacity=[[1]] * size if nodes else [[size]],
        pooled=not nodes,
        policies=[("fcfs", "easy")],
        events=sorted(events, key=lambda event: event[0]),
        on_interrupt=int(rng.integers(0, 3)),
        checkpoint=3.0,
        sleep=Sleep(
            [state.timeout for state in STATES],
            [state.delay for state in STATES],
            wake_ahead=bool(rng.random() < 0.5),
        ),
    )


def told(seed: int, *, nodes: bool):
    draft = draw(seed, nodes=nodes)
    problem = build(draft)
    outcome = run(problem)
    workload = onega.Workload(
        {
            "submit": problem.jobs["submit"],
            "runtime": problem.options["work"],
            "procs": problem.options["procs"],
            "estimate": problem.options["expect"],
        }
    )
    size = int(problem.nodes.capacity.sum())
    cluster = onega.Cluster(size, power=POWER, sleep=onega.Sleep(STATES))
    row = np.arange(len(workload))
    schedule = make_schedule(workload, cluster, onega.Policy.parse("easy"), (problem, outcome, row))
    return problem, outcome, schedule


def watts_at(when: float, problem, outcome, schedule) -> float:
    """Count every processor at one instant, from the raw outcome."""
    size, drawn, counted = schedule.cluster.procs, 0.0, 0
    procs = schedule.workload.column("procs")
    for job, start, wake, _, end in outcome.attempts.tolist():
        if start + wake <= when < end:
            drawn += procs[job] * POWER.busy[0]
            counted += procs[job]
    for kind, since, until, count, depth, _ in outcome.parts.tolist():
        if not since <= when < until:
            continue
        if kind == codes.DOWN:
            counted += count
        elif kind == codes.WAKING:
            drawn += count * STATES[depth].wake_power
            counted += count
        else:
            asleep = [state for state in STATES if when - since >= state.timeout]
            if asleep:
                drawn += count * asleep[-1].power
                counted += count
    return float(drawn + (size - counted) * POWER.idle[0])


@pytest.mark.parametrize("nodes", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_energy_is_the_sum_over_every_half_second(seed, nodes):
    problem, outcome, schedule = told(seed, nodes=nodes)
    if not np.isfinite(schedule.start).any():
        pytest.skip("nobody ran")
    instants = np.arange(schedule.begin, schedule.last, STEP)
    energy = sum(STEP * watts_at(t, problem, outcome, schedule) for t in instants)
    summary = schedule.summary()
    assert summary["energy"] == pytest.approx(energy)
    parts = ("job_energy", "idle_energy", "sleep_energy", "wake_energy")
    assert sum(summary[name] for name in parts) == pytest.approx(energy)
    table = schedule.system
    lengths = np.diff(np.append(table["time"].to_numpy(), schedule.last))
    assert table["power"].to_numpy() @ lengths == pytest.approx(energy)


@pytest.mark.parametrize("nodes", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_counts_and_work_left_over_time(seed, nodes):
    problem, outcome, schedule = told(seed, nodes=nodes)
    table = schedule.system
    procs = schedule.workload.column("procs")
    came = np.where(np.isnan(outcome.submit), np.inf, outcome.submit)
    left = np.where(np.isnan(outcome.end), np.inf, outcome.end)
    for row in table.iter_rows(named=True):
        t = row["time"]
        on = (outcome.attempts["start"] <= t) & (t < outcome.attempts["end"])
        assert row["running"] == on.sum()
        assert row["busy"] == procs[outcome.attempts["job"][on]].sum()
        present = (came <= t) & (t < left)
        assert row["waiting"] == present.sum() - on.sum()
        assert row["workload"] == pytest.approx(
            sum(remaining(job, t, problem, outcome) for job in np.flatnonzero(present))
        )


def remaining(job: int, when: float, problem, outcome) -> float:
    """Work that a job has left at an instant, from its attempts at rate 1."""
    left = problem.options["work"][job]
    for number in np.flatnonzero(outcome.attempts["job"] == job):
        begin, end = outcome.attempts["begin"][number], outcome.attempts["end"][number]
        if np.isnan(begin) or begin > when:
            continue
        done = min(when, end) - begin
        if when >= end and problem.on_interrupt == codes.CHECKPOINT:
            done = np.floor(done / problem.checkpoint) * problem.checkpoint
        elif when >= end:
            done = 0.0
        left -= min(done, left)
    return float(left)


@pytest.mark.parametrize("seed", range(40))
def test_the_event_log_tells_every_start_and_end(seed):
    _, outcome, schedule = told(seed, nodes=True)
    events, jobs = schedule.events, schedule.jobs
    started = events.filter(pl.col("event") == "started")
    assert started.height == outcome.attempts["job"].size
    for state in ("completed", "cancelled", "killed", "lost", "dropped"):
        ends = events.filter(pl.col("event") == state).sort("job")
        mine = jobs.filter(pl.col("state") == state).sort("job")
        assert ends["job"].to_list() == mine["job"].to_list()
        assert ends["time"].to_list() == mine["end"].to_list()
    assert events["time"].is_sorted()


@pytest.mark.parametrize("seed", [1, 22, 49])
def test_every_figure_of_a_story_with_cancellations_and_failures(seed):
    _, _, schedule = told(seed, nodes=True)
    for kind in schedule.figure_kinds():
        assert schedule.plot(kind).data, kind
