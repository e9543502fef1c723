"""Waits of a workload on a simulated machine."""

from __future__ import annotations

import pytest

from onega.comparison.scheduled import scheduled
from onega.core.errors import ModelError
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload

# Two processors: a narrow job, a wide one that waits for it, and a narrow one that may overtake.
JOBS = {"submit": [0.0, 1.0, 2.0], "runtime": [10.0, 10.0, 8.0], "procs": [1, 2, 1]}


def test_waits_by_hand():
    found = scheduled(Workload(JOBS, Meta(procs=2)))
    assert found["wait_fcfs"] == pytest.approx((0 + 9 + 18) / 3)
    assert found["wait_easy"] == pytest.approx((0 + 9 + 0) / 3)
    assert found["utilisation_fcfs"] == pytest.approx(38 / (2 * 28))
    assert found["utilisation_easy"] == pytest.approx(38 / (2 * 20))


def test_the_machine_is_needed():
    with pytest.raises(ModelError, match="give its processors"):
        scheduled(Workload(JOBS, Meta()))
    assert scheduled(Workload(JOBS, Meta()), 2, policies=("fcfs",)) == pytest.approx(
        {"wait_fcfs": 9.0, "utilisation_fcfs": 38 / 56}
    )
