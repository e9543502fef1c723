"""Sweeps on a real Dask cluster: two workers in processes of their own, on loopback."""

from __future__ import annotations

import warnings

import pytest

import onega
from experiment.dask_cluster import dask_cluster
from experiment.sweeps import same, small_log
from onega.core.errors import OnegaWarning

GRID = {
    "vary": {
        "policy": ["fcfs", "easy", "spf+easy", "conservative"],
        "procs": {"from": 8, "to": 24},
        "cluster.rate_control.kind": ["none", "random"],
    },
    "fixed": {
        "cluster": {"rate_control": {"rates": [1.0, 2.0], "p_low": 0.2, "p_high": 0.3}},
        "cluster.power.busy": 2.0,
        "seed": 5,
    },
}


@pytest.fixture(scope="module")
def log():
    return small_log(1000)


@pytest.fixture(scope="module")
def on_threads(log, tmp_path_factory):
    return onega.sweep(GRID, tmp_path_factory.mktemp("threads") / "out", workload=log)


def test_two_workers_give_the_same_bits_and_one_may_die(log, on_threads, tmp_path):
    """One after the other on one cluster, because a cluster takes seconds to start."""
    with dask_cluster(tmp_path) as one:
        workers = onega.Dask(one.address)
        calm = onega.sweep(GRID, tmp_path / "calm", workload=log, workers=workers)
        assert same(calm.to_polars(), on_threads.to_polars())
        pids = set(calm.timings()["worker"].str.split(":").list.get(1).to_list())
        assert pids == {str(worker.pid) for worker in one.workers}

        def kill_in_the_middle(tally):
            if tally.done == 10:
                one.workers[0].kill()

        with warnings.catch_warnings():
            # Whether the death is noticed before the end depends on how long the rest takes.
            warnings.filterwarnings("ignore", "the Dask worker .* is gone", OnegaWarning)
            shot = onega.sweep(
                GRID,
                tmp_path / "shot",
                workload=log,
                workers=workers,
                on_run=kill_in_the_middle,
            )
        assert one.workers[0].wait(10) == -9
        assert shot.problems == ()
        assert shot.summary()["complete"]
        assert same(shot.to_polars(), on_threads.to_polars())
