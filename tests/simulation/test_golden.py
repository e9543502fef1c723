"""Real logs: a published schedule job by job, and mean waits of a program written independently."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.workload import Workload
from reference import schedulers
from reference.schedulers import Job

INSTANT = 18_145_525


@pytest.fixture
def published(shared) -> Workload:
    """KTH under EASY by pyss; the file is in the order of completion, the input was by job id."""
    log = onega.read(shared("traces", "pyss-easy-KTH-SP2.swf.gz"))
    return Workload(log.table.sort("job"), log.meta)


def test_pyss_easy_on_kth(published):
    schedule = onega.simulate(published, 100, "easy", ties="event")
    wait = published.column("wait")
    differ = np.flatnonzero(schedule.jobs["wait"].to_numpy() != wait)
    assert len(published) == 28481
    assert len(published) - differ.size == 28472  # 99.97 %
    # All that differs begins with one instant.
    theirs = published.column("submit") + wait
    assert np.minimum(schedule.start, theirs)[differ].min() == INSTANT


def test_pyss_hands_over_at_the_instant(published):
    """What the nine other jobs are: processors that pyss frees one event early.

    A job that ends exactly at its estimate is gone, for pyss, at the first pass of that instant,
    whichever event that is for. The twin has this rule as `handover`: with it, and from the same
    idle machine on, all waits are the published ones; without it, they are ours.
    """
    schedule = onega.simulate(published, 100, "easy", ties="event")
    theirs, ours = published.column("wait"), schedule.jobs["wait"].to_numpy()
    system = schedule.system
    idle = system.filter(system["running"] == 0)["time"].to_numpy()
    last = schedule.end[theirs != ours].max()
    submit = published.column("submit")
    rows = np.flatnonzero((submit >= idle[idle < INSTANT].max()) & (submit < idle[idle > last][0]))
    table = published.table[rows].select("submit", "runtime", "estimate", "procs")
    jobs = [Job(int(t), int(work), int(known), p) for t, work, known, p in table.rows()]
    for ties, expected in (("event", ours), ("handover", theirs)):
        out = schedulers.simulate(jobs, 100, "fcfs", "easy", ties)
        got = [start - job.submit for start, job in zip(out.start, jobs)]
        assert got == expected[rows].tolist(), ties


@pytest.mark.parametrize(
    ("log", "procs", "jobs", "policy", "mean_wait"),
    [
        ("KTH-SP2-1996-2.1-cln", 100, 28467, "fcfs", 390091.98672146694),
        ("KTH-SP2-1996-2.1-cln", 100, 28467, "easy", 6900.422454069624),
        ("HPC2N-2002-2.2-cln", 240, None, "fcfs", 16702.460558680148),
        ("HPC2N-2002-2.2-cln", 240, None, "easy", 11390.556038073455),
    ],
)
def test_mean_waits_of_an_independent_program(shared, log, procs, jobs, policy, mean_wait):
    raw = onega.read(shared("traces", f"{log}.swf.gz"))
    runnable = raw.select((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    assert jobs is None or len(runnable) == jobs
    schedule = onega.simulate(runnable, procs, policy)
    # The means are sums of whole seconds, so only the last division rounds.
    assert schedule.summary()["mean_wait"] == pytest.approx(mean_wait, rel=1e-12)


def test_pyss_from_the_file_as_it_is(shared):
    """Its rows stand in the order of completion: who came first at one instant is told by ids."""
    log = onega.read(shared("traces", "pyss-easy-KTH-SP2.swf.gz"))
    schedule = onega.simulate(log, 100, "easy", ties="event")
    assert (schedule.jobs["wait"].to_numpy() == log.column("wait")).sum() == 28472
