"""Real logs: a published schedule job by job, and mean waits of a program written independently."""

from __future__ import annotations

import polars as pl
import pytest

import onega
from onega.core.workload.workload import Workload


@pytest.fixture
def published(shared) -> Workload:
    """KTH under EASY by pyss; the file is in the order of completion, the input was by job id."""
    log = onega.read(shared("traces", "pyss-easy-KTH-SP2.swf.gz"))
    return Workload(log.table.sort("job"), log.meta)


def test_pyss_easy_on_kth(published):
    schedule = onega.simulate(published, 100, "easy", ties="event")
    wait = published.column("wait")
    assert len(published) == 28481
    assert (schedule.jobs["wait"].to_numpy() == wait).all()


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
    """Its rows stand in the order of completion: ids tell which came first at one instant."""
    log = onega.read(shared("traces", "pyss-easy-KTH-SP2.swf.gz"))
    schedule = onega.simulate(log, 100, "easy", ties="event")
    assert (schedule.jobs["wait"].to_numpy() == log.column("wait")).sum() == 28481
