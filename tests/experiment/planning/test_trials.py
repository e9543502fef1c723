"""Whether targets are met, from values that are given instead of simulated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

import onega
from experiment.workloads import Queue, log
from onega.core.policy import Policy
from onega.experiment.planning.targets import Target
from onega.experiment.planning.trials import Trials
from onega.experiment.replicates.draws import make_draws
from onega.experiment.replicates.runs import Case, Experiment

LOG = log()


def trials(source, *targets, n=40, confidence=0.95, searched=None):
    wanted = tuple(Target.parse(one) for one in targets)
    case = Case("easy", onega.Cluster(64), Policy.parse("easy"))
    experiment = Experiment(make_draws(source, rng=1), (case,), (wanted[0].measure,))
    return Trials(experiment, wanted, searched or (True,) * len(wanted), n, confidence)


def table(made, **columns):
    """One row a replicate, in the order of the measures; what isn't given is 1."""
    size = len(next(iter(columns.values())))
    return np.column_stack(
        [columns.get(one.key, np.ones(size)) for one in made.experiment.measures]
    )


@given(st.lists(st.booleans(), min_size=40, max_size=40), st.sampled_from([0.9, 0.95, 0.975]))
def test_resamples_are_left_out_only_when_they_could_not_change_the_answer(holds, confidence):
    made = trials(LOG, "mean(wait)<1h", confidence=confidence)
    values = table(made, mean_wait=np.where(holds, 60.0, 7200.0))
    allowed = round((1 - confidence) * 40)  # 4, 2, 1 of 40 may fail
    assert made.judge(64, values).passed == (holds.count(False) <= allowed)
    for done in (10, 20, 30):
        assert made._decided(values[:done], allowed) == (holds[:done].count(False) > allowed)


def test_only_what_is_searched_by_ends_a_trial():
    made = trials(LOG, "mean(wait)<1h", "utilisation>70%", searched=(True, False))
    values = table(made, mean_wait=np.full(40, 60.0), utilisation=np.full(40, 0.5))
    assert not made._decided(values[:10], 0.0)
    found = made.judge(64, values)
    assert (found.passed, found.met, found.joint) == (True, False, 0.0)
    assert found.support == (1.0, 0.0)


@pytest.mark.parametrize("spread", [1e-3, 0.1])
def test_draws_support_a_target_as_far_as_students_law_says(spread):
    """P(expected value on the right side of the limit), above as below."""
    made = trials(Queue(1.0, 1.0, 10), "mean(wait)<1h", "utilisation>70%", n=12)
    rng = np.random.default_rng(1)
    wait, busy = rng.normal(3600, 400, 12), rng.normal(0.71, spread, 12)
    found = made.judge(64, table(made, mean_wait=wait, utilisation=busy))
    error = [x.std(ddof=1) / np.sqrt(12) for x in (wait, busy)]
    expected = (
        t.cdf((3600 - wait.mean()) / error[0], 11),
        t.cdf((busy.mean() - 0.7) / error[1], 11),
    )
    assert found.support == pytest.approx(expected)
    assert found.joint == pytest.approx(min(expected))
