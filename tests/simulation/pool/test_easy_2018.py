"""Backfilling as printed in 2018, by hand: where it and textbook EASY part."""

from __future__ import annotations

import pytest

import onega


@pytest.mark.parametrize(
    ("job", "easy", "printed"),
    [
        ((3, 6, 1), 3, 3),  # ends at 9, before the shadow time: both
        ((3, 7, 1), 3, 10),  # ends at the shadow time
        ((3, 40, 1), 3, 10),  # on the extra processor
    ],
)
def test_who_may_overtake(job, easy, printed):
    # On 4 processors: 2 busy until 10, the head needs 3 (one extra at 10) and runs 10 to 15.
    submit, runtime, procs = zip((0, 10, 2), (1, 5, 3), job)
    log = onega.Workload({"submit": submit, "runtime": runtime, "procs": procs})
    assert onega.simulate(log, 4, "easy").start.tolist() == [0, 10, easy]
    assert onega.simulate(log, 4, "easy-2018").start.tolist() == [0, 10, printed]


def test_the_first_candidate_that_does_not_fit_ends_the_pass():
    # Behind the head (4 wide, from 10 on) stand a candidate of 3, too wide now, and one of 1.
    rows = [(0, 10, 2), (1, 5, 4), (2, 4, 3), (3, 4, 1)]
    submit, runtime, procs = zip(*rows)
    log = onega.Workload({"submit": submit, "runtime": runtime, "procs": procs})
    assert onega.simulate(log, 4, "easy").start.tolist() == [0, 10, 15, 3]
    assert onega.simulate(log, 4, "easy-2018").start.tolist() == [0, 10, 15, 15]
