"""Batsim's table of jobs: read as an observed schedule, and written from a simulated one."""

import json

import numpy as np
import polars as pl
import pytest

import onega
from onega import Schedule, Workload
from onega.cli.app import main
from onega.traces.batsim.jobs import batsim_jobs

BATSIM = """\
job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,\
final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,\
allocated_resources,consumed_energy,metadata
1,w0,a,0.000000,2,100.000000,1,COMPLETED_SUCCESSFULLY,0.0,10.0,10.0,0.0,10.0,1.0,0-1,-1.0,""
2,w0,b,1.500000,4,100.000000,0,COMPLETED_WALLTIME_REACHED,10.0,100.0,110.0,8.5,108.5,1.085,0-3,-1,""
3,w0,a,2.000000,3,-1.000000,0,COMPLETED_KILLED,110.0,5.0,115.0,108.0,113.0,22.6,0-1 3,-1.0,""
4,w0,a,2.000000,3,-1.000000,0,COMPLETED_FAILED,115.0,5.0,120.0,113.0,118.0,23.6,0-2,-1.0,""
"""
EVALYS = """\
jobID,workload_name,submission_time,requested_number_of_resources,requested_time,success,\
starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources
7,w0,0.0,2,100.0,1,5.0,10.0,15.0,5.0,15.0,1.5,0-1
9,w0,1.5,4,100.0,0,15.0,100.0,115.0,13.5,113.5,1.135,0-3
"""


def test_batsim_is_observed(tmp_path):
    (tmp_path / "out_jobs.csv").write_text(BATSIM)
    log = onega.read(tmp_path / "out_jobs.csv")
    assert log.table["status"].to_list() == ["completed", "timeout", "cancelled", "failed"]
    assert log.table["estimate"].to_list() == [100, 100, None, None]
    seen = Schedule.observed(log, 4)
    assert seen.start.tolist() == [0, 10, 110, 115]
    assert seen.end.tolist() == [10, 110, 115, 120]


def test_evalys_is_observed(tmp_path):
    (tmp_path / "jobs.csv").write_text(EVALYS)
    log = onega.read(tmp_path / "jobs.csv")
    assert log.table.select("job", "procs", "wait", "status").rows() == [
        (7, 2, 5.0, "completed"),
        (9, 4, 13.5, "failed"),
    ]
    assert Schedule.observed(log, 4).start.tolist() == [5, 15]


def processors(text):
    """Read ``0-3 8``."""
    found = set()
    for part in text.split():
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def some_jobs(count=200):
    rng = np.random.default_rng(1)
    return Workload(
        {
            "submit": np.cumsum(rng.integers(0, 60, count)).astype(float),
            "runtime": rng.integers(1, 400, count).astype(float),
            "procs": rng.integers(1, 9, count),
            "estimate": rng.integers(60, 500, count).astype(float),
        }
    )


@pytest.mark.parametrize("policy", ["easy", "fcfs+conservative"])
def test_a_simulated_schedule_comes_back(tmp_path, policy):
    schedule = onega.simulate(some_jobs(), 8, policy, enforce_limits=True)
    table = batsim_jobs(schedule)
    held = [processors(text) for text in table["allocated_resources"]]
    assert list(map(len, held)) == table["requested_number_of_resources"].to_list()
    assert set().union(*held) <= set(range(8))
    for row in range(len(schedule)):
        beside = (schedule.start < schedule.end[row]) & (schedule.end > schedule.start[row])
        for other in np.flatnonzero(beside):
            assert other == row or not held[row] & held[other]
    cut = table["final_state"] == "COMPLETED_WALLTIME_REACHED"
    assert cut.to_list() == schedule.limited.tolist()
    assert 0 < cut.sum() < len(schedule)
    table.write_csv(tmp_path / "out_jobs.csv")
    again = Schedule.observed(onega.read(tmp_path / "out_jobs.csv"), 8)
    np.testing.assert_array_equal(again.start, schedule.start)
    np.testing.assert_allclose(again.end, schedule.end, rtol=1e-12)


def test_jobs_that_never_end():
    log = Workload({"submit": [0.0, 5.0], "runtime": [100.0, 1.0], "procs": [4, 4]})
    down = {"time": [1.0], "event": ["down"], "procs": [4]}
    table = batsim_jobs(onega.simulate(log, 4, "easy", events=down))
    assert set(table["final_state"]) <= {"REJECTED", "COMPLETED_KILLED"}
    assert table["success"].to_list() == [0, 0]
    assert table["allocated_resources"].to_list() == ["", ""]


def test_the_command_writes_it(tmp_path):
    onega.write(some_jobs(20), tmp_path / "log.json")
    words = ["simulate", tmp_path / "log.json", "--procs", "8", "--policy", "easy", "--out"]
    words += [tmp_path / "out", "--format", "batsim"]
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, words)))
    assert ended.value.code in (0, None)
    names = sorted(one.name for one in (tmp_path / "out").iterdir())
    assert names == ["out_jobs.csv", "summary.json", "system.csv"]
    waits = pl.read_csv(tmp_path / "out" / "out_jobs.csv")["waiting_time"]
    numbers = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert waits.mean() == pytest.approx(numbers["mean_wait"])
