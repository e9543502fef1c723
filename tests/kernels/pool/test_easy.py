"""The quick EASY kernel is the general loop, job by job, also where it hands a long queue over."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.core.policy import Policy
from onega.kernels.pool.easy import LONGEST_QUEUE
from onega.simulation.pool import run, setup


def made_log(rng, jobs, procs, load):
    """Whole seconds, so that ties abound; estimates below and above the run times."""
    width = rng.integers(1, procs + 1, jobs)
    runtime = rng.integers(1, 200, jobs).astype(float)
    estimate = np.maximum(1.0, np.round(runtime * rng.choice([0.5, 1.0, 1.0, 3.0], jobs)))
    gap = (width * runtime).mean() / (load * procs)
    submit = np.floor(np.cumsum(rng.exponential(gap, jobs)))
    return onega.Workload(
        {"submit": submit, "runtime": runtime, "procs": width, "estimate": estimate}
    )


def both(log, procs):
    """Starts and ends by the quick kernel and by the general loop."""
    policy = Policy.parse("easy").knowing("estimate")
    columns = setup.make_columns(log, np.array(log.column("runtime")), policy, None)
    task = run.Task(columns, onega.Cluster(procs), policy, "instant")
    quick = run._run_easy(task)
    general = run._run_machine(task, setup.make_state(*task.prepare()))
    return quick, general


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 40), st.floats(0.3, 3.0))
def test_equal_on_small_logs(seed, jobs, procs, load):
    quick, general = both(made_log(np.random.default_rng(seed), jobs, procs, load), procs)
    assert (quick.start == general.start).all()
    assert (quick.end == general.end).all()


@pytest.mark.parametrize(("jobs", "load"), [(20_000, 0.8), (4 * LONGEST_QUEUE, 2.0)])
def test_equal_on_long_logs_and_through_the_handover(jobs, load):
    log = made_log(np.random.default_rng(5), jobs, 64, load)
    quick, general = both(log, 64)
    assert (quick.start == general.start).all()
    assert (quick.end == general.end).all()
    submit = log.column("submit")
    started = np.searchsorted(np.sort(general.start), submit[-1], side="right")
    if load > 1:
        assert jobs - started > LONGEST_QUEUE, "this case is meant to hand over"


def test_a_burst_longer_than_the_line_at_once():
    jobs = LONGEST_QUEUE + 10
    log = onega.Workload(
        {
            "submit": np.zeros(jobs),
            "runtime": np.arange(1.0, jobs + 1),
            "procs": np.ones(jobs, dtype=int),
        }
    )
    schedule = onega.simulate(log, 1, "easy")
    assert (np.sort(schedule.start) == np.concatenate([[0], np.cumsum(np.arange(1.0, jobs))])).all()


def test_progress_tells_the_share_of_the_log_and_ends_at_one():
    told = []
    log = made_log(np.random.default_rng(1), 2000, 16, 0.8)
    for policy in ("fcfs", "easy", "spf+easy", "lcfs-pr"):
        told.clear()
        onega.simulate(log, 16, policy, progress=told.append)
        assert told[-1] == 1.0
        assert told == sorted(told)
