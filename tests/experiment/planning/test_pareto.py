"""Trade-offs: the front, its knee, and the choices by name."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from experiment.workloads import log
from onega.core.errors import ExperimentError
from onega.experiment.planning.pareto import (
    BALANCED,
    CHEAPEST,
    QUICKEST,
    WITHIN,
    efficient,
    energy_machines,
    knee,
    settings,
)
from reference import experiments as naive

LOG = log(weeks=4, jobs=800)
POWER = onega.Power((100, 250), (50, 90))
LADDER = energy_machines(64, rates=[(0.6, 1.0)], power=[POWER], k_low=[0, 1e4, 1e5, 1e6])
run = partial(onega.trade_off, LOG, policy="easy", replicates=20, rng=1)

NUMBERS = st.integers(0, 12).map(float)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=30))
def test_the_front_is_the_naive_one(points):
    cost, pain = (np.array(values) for values in zip(*points, strict=True))
    assert efficient(cost, pain).tolist() == naive.front(cost.tolist(), pain.tolist())


def test_the_knee_is_where_the_front_bends():
    cost = np.array([1.0, 2.0, 3.0, 10.0])
    assert knee(cost, np.array([100.0, 10.0, 8.0, 0.0])) == 1
    assert knee(cost[:2], np.array([5.0, 1.0])) == 0
    assert knee(cost[:1], np.array([5.0])) == 0
    # Units don't matter.
    assert knee(1e6 * cost, np.array([0.1, 0.01, 0.008, 0.0])) == 1


def test_a_slower_clock_costs_less_and_hurts_more():
    found = run(LADDER)
    cost, pain = found.means()
    assert (np.diff(cost) < 0).all()
    assert (np.diff(pain) > 0).all()
    assert found.front() == found.names[::-1]
    choices = found.choices()
    assert (choices[CHEAPEST], choices[QUICKEST]) == ("k=1e6", "k=0")
    assert WITHIN not in choices
    assert found.best() == choices[BALANCED]
    assert found.met is None
    assert found.runs == 80


def test_values_are_those_of_the_simulator_on_the_same_workloads():
    found = run(LADDER)
    from onega.experiment.replicates.draws import make_draws

    workload = make_draws(LOG, rng=1).workload(3)
    for name, machine in LADDER.items():
        summary = onega.simulate(workload, machine, "easy").summary()
        assert found.replicates.of("mean_power", name)[3] == summary["mean_power"]
        assert found.replicates.of("mean(wait)", name)[3] == summary["mean_wait"]


def test_the_cheapest_within_the_target_meets_it():
    limit = 1.001 * run(LADDER).replicates.of("mean(wait)", "k=1e4").max()
    found = run(LADDER, target=f"mean(wait)<{limit}")
    cost, _ = found.means()
    good = [place for place, trial in enumerate(found.trials) if trial.met]
    assert 0 < len(good) < 4
    assert found.best() == found.choices()[WITHIN] == found.names[min(good, key=cost.__getitem__)]
    assert found.met
    assert found.summary()["best"] == found.best()


def test_a_target_that_none_meets_names_the_nearest():
    found = run(LADDER, target="max(wait)<1")
    assert found.met is False
    assert found.summary()["best"] is None
    assert found.summary()["nearest"] == found.best() == "k=0"


def test_changes_are_paired_with_the_first():
    found = run(LADDER)
    values = found.replicates.values[:, :, 0]
    changes = found.changes(found.cost)
    assert (changes[:, 0] == 0).all()
    assert changes[4, 2] == pytest.approx((values[4, 2] - values[4, 0]) / values[:, 0].mean())
    # Much surer than the powers themselves, which go with the load of the weeks that were drawn.
    assert changes[:, 2].std() < values[:, 2].std() / values[:, 0].mean()


def test_every_machine_is_in_the_table():
    table = run(LADDER, objective="mean_workload").to_polars()
    assert table["machine"].to_list() == list(LADDER)
    assert table["k_low"].to_list() == [0, 1e4, 1e5, 1e6]
    assert table["on_front"].all()
    assert {"mean_power_low", "mean_workload_high", "mean_power_change", "choice"} <= set(
        table.columns
    )
    assert "window_mean_power_change" in table.columns  # what the choices are by


def test_grids_hold_all_pairs_that_make_sense():
    made = energy_machines(
        8, rates=[(0.5, 1.0), (0.8, 1.0)], power=[POWER, POWER], k_low=[0, 10], k_high=[5, 10, 20]
    )
    # Of 2 × 3 pairs, 10..5 makes none.
    assert len(made) == 2 * 5
    assert "k=0..5, rates 0.5/1" in made
    assert made["k=10..20, rates 0.8/1"].rates.k_high == (20.0,)
    assert all(machine.rates.k_low <= machine.rates.k_high for machine in made.values())


def test_sleep_is_part_of_the_grid():
    nap = onega.Sleep(onega.SleepState(600, 5, 60, 100))
    made = energy_machines(
        8, rates=[(0.5, 1.0)], power=[POWER], k_low=[0, 10], sleep={"never": None, "10m": nap}
    )
    assert list(made)[::2] == ["k=0, sleep never", "k=0, sleep 10m"]
    assert made["k=0, sleep 10m"].sleep is nap
    assert made["k=0, sleep never"].sleep is None


def test_sleep_alone_is_a_grid_too():
    nap = onega.Sleep(onega.SleepState(600, 5, 60, 100))
    made = energy_machines(8, power=[onega.Power(250, 90)], sleep={"never": None, "10m": nap})
    assert list(made) == ["sleep never", "sleep 10m"]
    assert settings(made["sleep 10m"]) == {
        "rates": "1",
        "k_low": None,
        "k_high": None,
        "sleep_after": 600.0,
    }


@pytest.mark.verification
def test_sleeping_saves_energy_and_costs_time():
    nap = onega.Sleep(onega.SleepState(600, 5, 300, 100))
    made = energy_machines(64, power=[onega.Power(250, 90)], sleep={"never": None, "10m": nap})
    cost, pain = run(made, replicates=4).means()
    assert cost[1] < cost[0]
    assert pain[1] > pain[0]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"k_low": [10], "k_high": [5]}, "nothing to compare"),
        ({"power": [POWER, POWER]}, "1 sets, 2 powers"),
        ({"rates": [(1.0, 0.5)]}, "must increase"),
        ({"rates": [(1.0,)]}, "k_low"),
        ({"kind": "queues"}, "unknown rate control"),
    ],
)
def test_wrong_grids_are_refused(arguments, hint):
    given_ = {"rates": [(0.5, 1.0)], "power": [POWER], "k_low": [0], **arguments}
    with pytest.raises(ExperimentError, match=hint):
        energy_machines(8, **given_)


@pytest.mark.parametrize(
    ("machines", "arguments", "hint"),
    [
        ({}, {}, "at least one machine"),
        (LADDER, {"resample": "none"}, "bands need replicates"),
        ({"plain": onega.Cluster(64)}, {}, "needs the processors' power"),
        (LADDER, {"cost": "watts"}, "not a measure"),
        (LADDER, {"replicates": 10, "target": "mean(wait)<1h"}, "at least 20 resamples"),
    ],
)
def test_wrong_questions_are_refused(machines, arguments, hint):
    with pytest.raises(ExperimentError, match=hint):
        run(machines, **arguments)


@pytest.mark.parametrize("kind", ["front", "bands", "changes"])
def test_figures_show_all_machines(kind):
    found = run(LADDER, target="mean(wait)<1h")
    figure = found.plot(kind)
    assert max(len(trace.x) for trace in figure.data) >= len(LADDER)
    if kind == "front":
        texts = " ".join(note.text for note in figure.layout.annotations)
        assert all(what in texts for what in (CHEAPEST, QUICKEST, BALANCED, WITHIN))
    if kind == "bands":
        assert len(figure.data) == 20 + 1
