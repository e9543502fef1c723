"""What must hold for any schedule, whatever the policy (hypothesis)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import onega
from onega import Cluster, Power, RateControl, Schedule, Workload
from onega.core.policy import Policy
from reference import schedulers
from reference.schedulers import Job
from simulation.cases import OWN, POLICIES

CAREFULLY = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])

POWER = Power((3.0, 5.5), (1.25, 1.5))
CONTROLS = {
    "none": RateControl(rates=1.0),
    "random": RateControl("random", rates=(1.0, 1.3), p_low=0.4, p_high=0.6),
    "queue": RateControl("queue", rates=(0.7, 1.9), k_low=2, k_high=4),
    "workload": RateControl("workload", rates=(0.7, 1.9), k_low=10.0, k_high=40.0),
}

positive = st.floats(0.125, 1000, allow_nan=False)


@st.composite
def workloads(draw, exact_estimates=False, safe_estimates=False, distinct=False) -> Workload:
    """Up to 30 jobs for a machine of 8; whole or broken numbers."""
    times = st.integers(1, 9).map(float) if draw(st.booleans()) else positive
    gap = st.one_of(st.just(0.0), times) if not distinct else times
    rows = draw(
        st.lists(
            st.tuples(gap, times, st.integers(1, 8), st.floats(0.3, 4)), min_size=1, max_size=30
        )
    )
    gaps, runtime, procs, factor = (np.array(column) for column in zip(*rows))
    if exact_estimates:
        factor[:] = 1.0
    if safe_estimates:
        factor = np.maximum(factor, 1.0)
    return Workload(
        {
            "submit": np.cumsum(gaps),
            "runtime": runtime,
            "procs": procs,
            "estimate": runtime * factor,
        }
    )


policies = st.sampled_from(POLICIES).map(lambda one: Policy(OWN.get(one[0], one[0]), one[1]))
ties = st.sampled_from(["instant", "event"])
controls = st.sampled_from(sorted(CONTROLS))


def run(workload, policy, ties="instant", control="none", **options) -> Schedule:
    rates = CONTROLS[control]
    power = POWER if len(rates.rates) == 2 else Power(3.0, 1.25)
    return onega.simulate(workload, Cluster(8, rates, power), policy, ties=ties, rng=1, **options)


def pieces_of(schedule: Schedule) -> list[tuple[int, float, float]]:
    if schedule.pieces is None:
        return [(row, *when) for row, when in enumerate(zip(schedule.start, schedule.end))]
    pieces = schedule.pieces
    return list(zip(pieces.row.tolist(), pieces.start.tolist(), pieces.end.tolist()))


def clock(schedule: Schedule, time: float) -> float:
    """V(t) by adding up the pieces of the rate, the slow way."""
    rates = schedule.rates
    total = 0.0
    for since, until, level in zip(rates.since, [*rates.since[1:], np.inf], rates.level):
        total += rates.rates[level] * max(0.0, min(time, until) - since)
    return total


@CAREFULLY
@given(workloads(), policies, ties, controls)
def test_a_schedule_is_possible(workload, policy, ties, control):
    schedule = run(workload, policy, ties, control)
    procs, submit = workload.column("procs"), workload.column("submit")
    pieces = pieces_of(schedule)
    # no job starts before its submission, none is lost
    assert (schedule.start >= submit).all()
    assert np.isfinite(schedule.end).all()
    # capacity is never exceeded
    for _, begin, _ in pieces:
        at_work = sum(procs[row] for row, a, b in pieces if a <= begin < b)
        assert at_work <= 8
    # work is conserved: each job gets its own, on the work clock
    done = np.zeros(len(workload))
    for row, begin, end in pieces:
        assert end >= begin
        done[row] += clock(schedule, end) - clock(schedule, begin)
    np.testing.assert_allclose(done, workload.column("runtime"), rtol=1e-9, atol=1e-9)


@CAREFULLY
@given(workloads(), ties, controls)
def test_fcfs_keeps_the_order(workload, ties, control):
    assert (np.diff(run(workload, "fcfs", ties, control).start) >= 0).all()


@CAREFULLY
@given(workloads(), policies, ties, controls)
def test_energy_adds_up(workload, policy, ties, control):
    schedule = run(workload, policy, ties, control)
    summary = schedule.summary()
    system = schedule.system
    power, time = system["power"].to_numpy(), system["time"].to_numpy()
    machine = float(np.sum(power[:-1] * np.diff(time)))
    assert summary["energy"] == pytest.approx(machine, rel=1e-9)
    jobs = float(schedule.jobs["energy"].sum())
    assert summary["job_energy"] == pytest.approx(jobs, rel=1e-12)
    # the idle ones, straight from the series
    levels = schedule.rates.at(time)
    _, idle = schedule.cluster.power.at(len(schedule.rates.rates))
    unused = (8 - system["busy"].to_numpy()) * np.array(idle)[levels]
    assert jobs + float(np.sum(unused[:-1] * np.diff(time))) == pytest.approx(machine, rel=1e-9)
    assert summary["mean_power"] * summary["makespan"] == pytest.approx(machine, rel=1e-9)


@CAREFULLY
@given(workloads(), policies, ties, controls)
def test_summary_is_the_integral_of_the_series(workload, policy, ties, control):
    schedule = run(workload, policy, ties, control)
    summary, system = schedule.summary(), schedule.system
    time = system["time"].to_numpy()
    spans = np.diff(time)
    assume(time[-1] > time[0])

    def integral(values) -> float:
        return float(np.sum(np.asarray(values, float)[:-1] * spans))

    makespan = time[-1] - time[0]
    busy, rate = system["busy"].to_numpy(), system["rate"].to_numpy()
    waiting, running = system["waiting"].to_numpy(), system["running"].to_numpy()
    wasted = integral((8 - busy) * rate * (waiting > 0))  # Rumyantsev et al. (2018), (10)
    expected = {
        "makespan": makespan,
        "utilisation": integral(busy) / (8 * makespan),
        "mean_jobs_in_system": integral(waiting + running) / makespan,
        "mean_jobs_running": integral(running) / makespan,
        "mean_jobs_waiting": integral(waiting) / makespan,
        "wasted_capacity": wasted,
        "effective_load": integral(busy * rate) / makespan,
        "potential_load": integral(system["potential_load"].to_numpy()) / makespan,
        "mean_rate": integral(rate) / makespan,
    }
    scale = 8 * makespan
    for name, value in expected.items():
        assert summary[name] == pytest.approx(value, rel=1e-9, abs=1e-11 * scale), name


@CAREFULLY
@given(workloads(), policies, ties, controls)
def test_littles_law(workload, policy, ties, control):
    # Σ response = ∫ number in system: on a finished schedule without a word of probability
    schedule = run(workload, policy, ties, control)
    system, jobs = schedule.system, schedule.jobs
    spans = np.diff(system["time"].to_numpy())
    number = (system["waiting"] + system["running"]).to_numpy()
    assert float(np.sum(number[:-1] * spans)) == pytest.approx(float(jobs["response"].sum()))
    served = system["running"].to_numpy()
    assert float(np.sum(served[:-1] * spans)) == pytest.approx(float(jobs["service"].sum()))


@CAREFULLY
@given(workloads(distinct=True), policies, ties, controls, st.randoms(use_true_random=False))
def test_the_order_of_rows_means_nothing(workload, policy, ties, control, random):
    rows = list(range(len(workload)))
    random.shuffle(rows)
    straight = run(workload, policy, ties, control)
    shuffled = run(Workload(workload.table[rows]), policy, ties, control)
    assert shuffled.start.tolist() == straight.start[rows].tolist()
    assert shuffled.end.tolist() == straight.end[rows].tolist()
    by_job = shuffled.jobs.sort("submit").drop("job")
    assert by_job.equals(straight.jobs.drop("job"))


@CAREFULLY
@given(workloads(), policies, ties, controls)
def test_the_same_again(workload, policy, ties, control):
    one, two = (run(workload, policy, ties, control) for _ in range(2))
    assert one.start.tolist() == two.start.tolist()
    assert one.jobs.equals(two.jobs)


# -- what backfilling promises


def promises(workload: Workload, backfill: str, monkeypatch) -> tuple[list, dict[int, float]]:
    """Let the twin run, and write down the first reservation that each job gets."""
    first: dict[int, float] = {}
    jobs = [
        Job(*row) for row in workload.table.select("submit", "runtime", "estimate", "procs").rows()
    ]

    def noted_head(state, head):
        shadow, extra = original_head(state, head)
        first.setdefault(head, shadow)
        return shadow, extra

    def noted_window(claims, procs, v, job):
        begin = original_window(claims, procs, v, job)
        place = next(j for j, other in enumerate(jobs) if other is job)
        first.setdefault(place, begin)
        return begin

    original_head, original_window = schedulers._reservation, schedulers._earliest_window
    with monkeypatch.context() as patch:
        patch.setattr(schedulers, "_reservation", noted_head)
        patch.setattr(schedulers, "_earliest_window", noted_window)
        out = schedulers.simulate(jobs, 8, "fcfs", backfill)
    return out.start, first


@pytest.fixture(scope="module")
def patcher():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@CAREFULLY
@given(workload=workloads(safe_estimates=True))
def test_easy_keeps_its_promise_to_the_head(patcher, workload):
    # Jobs that end by their estimates: whoever was promised a start has it by then.
    _, promised = promises(workload, "easy", patcher)
    schedule = run(workload, "easy")
    for row, latest in promised.items():
        assert schedule.start[row] <= latest * (1 + 1e-12)


@CAREFULLY
@given(workload=workloads(exact_estimates=True))
def test_conservative_keeps_its_promise_to_everybody(patcher, workload):
    _, promised = promises(workload, "conservative", patcher)
    schedule = run(workload, "conservative")
    assert len(promised) == len(workload)
    for row, latest in promised.items():
        assert schedule.start[row] <= latest * (1 + 1e-12)


@CAREFULLY
@given(workloads(exact_estimates=True), ties)
def test_the_first_job_of_the_queue_is_never_worse_off_under_easy(workload, ties):
    # Without jobs behind it, a job starts at the same time or earlier than with jobs behind:
    # so says FCFS; under EASY others may only fill holes, which delays no job that was the head.
    easy = run(workload, "easy", ties)
    submit, start = workload.column("submit"), easy.start
    for row in range(len(workload)):
        if (start[:row] <= submit[row]).all():
            # It was the head from its arrival on: cut the log behind it.
            alone = run(Workload(workload.table[: row + 1]), "easy", ties)
            assert start[row] == pytest.approx(alone.start[row], rel=1e-12)
