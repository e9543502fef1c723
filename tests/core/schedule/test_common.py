"""The same jobs on both sides of a comparison."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.schedule.common import common_jobs, comparable_jobs, means_of
from onega.experiment.replicates.policies import compare_policies
from onega.figures.schedule import compare_schedules


def mixed():
    """Four jobs: one cancelled, one without a wait, one too wide for four processors."""
    return onega.Workload(
        {
            "submit": [0.0, 1.0, 2.0, 3.0, 4.0],
            "runtime": [5.0, 0.0, 5.0, 5.0, 6.0],
            "procs": [1, 1, 1, 9, 2],
            "wait": [0.0, 1e6, None, 0.0, 7.0],
        }
    )


def test_only_jobs_that_both_sides_can_have_are_kept():
    kept, report = comparable_jobs(mixed(), 4)
    assert kept.table["job"].to_list() == [1, 5]
    assert report.dropped == 3
    assert {finding.rule for finding in report} == {"never_ran", "too_wide"}


def test_a_log_without_such_jobs_is_refused():
    with pytest.raises(onega.SimulationError, match="observed waits are what"):
        comparable_jobs(mixed().select(pl.col("wait").is_null()), 4)


def test_tables_are_cut_to_the_jobs_that_all_have():
    log = mixed().select((pl.col("runtime") > 0) & (pl.col("procs") < 9))
    simulated = onega.simulate(log, 4, "fcfs")
    observed = onega.Schedule.observed(mixed(), 4)
    tables = common_jobs([observed.jobs, simulated.jobs])
    assert [table["job"].to_list() for table in tables] == [[1, 5], [1, 5]]
    assert means_of(tables[0])["mean_wait"] == 3.5
    figure = compare_schedules({"observed": observed, "fcfs": simulated})
    # 1e6 s of the job that never ran would be the last point of the observed line.
    assert float(np.max(figure.data[0].x)) == 7.0


def test_jobs_that_cannot_be_told_apart_are_left_as_they_are():
    table = pl.DataFrame({"job": [1, 1], "wait": [0.0, 1.0]})
    other = pl.DataFrame({"job": [1], "wait": [0.0]})
    assert [one.height for one in common_jobs([table, other])] == [2, 1]


def test_policies_stand_beside_observed_waits_only_of_the_same_jobs():
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.exponential(3600, 900))
    log = onega.Workload(
        {
            "submit": submit,
            "runtime": rng.exponential(3000, 900) + 1,
            "procs": np.ones(900, int),
            "wait": np.zeros(900),
        }
    ).with_machine(2)
    how = {"replicates": 2, "rng": 1, "measures": ["mean(wait)"]}
    assert compare_policies(log, 2, ["fcfs", "easy"], **how).observed is not None
    some = log.with_columns(
        pl.when(pl.col("job") > 9).then(pl.col("wait")).alias("wait"), note="some waits"
    )
    assert compare_policies(some, 2, ["fcfs", "easy"], **how).observed is None
