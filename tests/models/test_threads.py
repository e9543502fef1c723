"""A seed means the same whatever number of threads linear algebra would take."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import onega
from onega.core.threads import one_thread
from onega.models import MODELS


def log():
    rng = np.random.default_rng(3)
    hour = rng.integers(0, 8, 900)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(300, 900)).round(),
            "runtime": rng.lognormal(5 + 0.2 * hour, 1.2).round() + 1,
            "procs": 2 ** rng.integers(0, 7, 900),
            "user": hour,
        }
    )


@pytest.mark.parametrize("name", ["markov", "svr", "neural", "user-groups", "lublin"])
def test_fits_and_samples_have_the_same_bits_with_one_thread_and_two(name):
    jobs, found = log(), []
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = MODELS[name].fit(jobs, rng=7)
            sample = model.sample(200, rng=8)
        found.append((model.to_json(), sample.table.write_csv()))
    assert found[0] == found[1]


def test_threads_are_given_back():
    with threadpool_limits(2):
        before = [one["num_threads"] for one in threadpool_info()]
        with one_thread():
            assert {one["num_threads"] for one in threadpool_info()} == {1}
        assert [one["num_threads"] for one in threadpool_info()] == before
