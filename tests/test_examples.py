"""The script that takes the printed backfilling rule apart says what the simulator says."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import onega

SCRIPT = Path(__file__).parents[1] / "examples" / "printed_backfilling.py"
PROCS = 16


@pytest.fixture(scope="module")
def waits():
    return runpy.run_path(str(SCRIPT))["waits"]


def made_log(seed: int) -> onega.Workload:
    """Whole seconds and few of them, so that ties and jobs that overrun their estimates abound."""
    rng = np.random.default_rng(seed)
    jobs = 300
    runtime = rng.integers(1, 60, jobs).astype(float)
    return onega.Workload(
        {
            "submit": np.sort(rng.integers(0, 2500, jobs)).astype(float),
            "runtime": runtime,
            "procs": rng.integers(1, PROCS + 1, jobs),
            "estimate": np.maximum(1.0, np.round(runtime * rng.uniform(0.5, 3.0, jobs))),
        },
        onega.Meta(procs=PROCS),
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("policy", "extra_counts", "prefix"), [("easy", True, False), ("easy-2018", False, True)]
)
def test_waits_are_those_of_the_simulator(waits, policy, extra_counts, prefix, seed):
    log = made_log(seed)
    found = waits(log, PROCS, extra_counts=extra_counts, prefix=prefix)
    assert found == onega.simulate(log, PROCS, policy).jobs["wait"].to_list()


def test_rule_between_the_two_is_another(waits):
    log = made_log(0)
    found = waits(log, PROCS, extra_counts=False, prefix=False)
    assert found != waits(log, PROCS, extra_counts=True, prefix=False)
    assert found != waits(log, PROCS, extra_counts=False, prefix=True)


def test_the_stream_with_a_night_is_as_its_page_says():
    stream = runpy.run_path(str(SCRIPT.with_name("night_stream.py")))["night_stream"]()
    submit = stream.column("submit")
    gaps = np.diff(submit)
    assert (len(stream), stream.meta.procs, submit[0]) == (120, 128, 0.0)
    assert gaps.argmax() == 59  # the night is between the two days, some three hours
    assert 2.9 * 3600 < gaps.max() < 3.2 * 3600
    assert (stream.column("estimate") >= stream.column("runtime")).all()
