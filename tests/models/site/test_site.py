"""The whole-site generator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import onega
from onega.core.errors import ModelError
from onega.core.workload.distances import ks_distance
from onega.core.workload.meta import Meta
from onega.core.workload.rhythm import rhythm, window_sums
from onega.core.workload.workload import Workload
from onega.kernels.models.regulate import Weeks, exchange
from onega.models import MODELS, Site, from_json
from onega.models.jobs.jobs import jobs_of
from onega.models.site.campaigns import Campaigns, expanded
from onega.models.site.company import weekly_sums
from places import shared

DAY, WEEK = 86_400.0, 604_800.0


def regulated_log(weeks=30, users=12, rng=3, *, unknown=False):
    """Users who share every week's work, about as much each week: 40 jobs of one size."""
    random = np.random.default_rng(rng)
    rows = [(9 * 3600.0, 1)]  # the log's weeks begin where these do
    for week in range(weeks):
        shares = random.dirichlet(np.full(users, 0.3))
        jobs = random.multinomial(40 + week % 3, shares)
        for user, count in enumerate(jobs):
            day = random.integers(0, 7)
            hours = np.sort(random.uniform(9, 17, count))
            rows += [(week * WEEK + day * DAY + when * 3600, user + 1) for when in hours]
    submit, user = np.array(sorted(rows)).T
    n = submit.size
    table = {
        "submit": submit.round(),
        "wait": random.integers(0, 600, n),
        "runtime": random.integers(3000, 6000, n),
        "procs": random.choice([2, 4, 8], n),
        "estimate": np.full(n, 7200),
    }
    if not unknown:
        table["user"] = user.astype(int)
    return Workload(table, Meta(source="made", epoch=978307200.0, timezone="UTC", procs=16))


@pytest.fixture(scope="module")
def log():
    return regulated_log()


@pytest.fixture(scope="module")
def model(log):
    return Site.fit(log)


def test_campaigns_by_hand():
    day = [0, 0, 1, 7, 8, 15, 22]
    log = Workload(
        {
            "submit": [36_000.0 + DAY * d + 600 * k for k, d in enumerate(day)],
            "wait": [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            "runtime": [100.0, 7200.0, 300.0, 400.0, 500.0, 600.0, 700.0],
            "procs": [1, 2, 3, 4, 5, 6, 7],
            "user": [5, 9, 5, 5, 5, 9, 9],
        },
        Meta(epoch=978307200.0, timezone="UTC", procs=8),
    )
    found = Campaigns.of(jobs_of(log, least=1), within=2 * DAY)
    assert (found.period, found.phase, found.rounds) == (WEEK, 36_000.0, 3)
    # By round and user; the last job stands in a fourth week that isn't whole.
    assert found.user.tolist() == [0, 1, 0, 1]
    assert found.place.tolist() == [0, 0, 1, 2]
    assert found.size.tolist() == [2, 1, 2, 1]
    assert found.procs.tolist() == [1, 3, 2, 4, 5, 6]
    assert found.submit.tolist() == [0, DAY + 1200, 600, 1800, DAY + 2400, DAY + 3000]
    assert found.totals.tolist() == [[15_400.0, 4100.0, 3600.0], [3.0, 2.0, 1.0]]
    # User 5's second job of a week waited for the first one.
    assert found.after.tolist() == [-1, 0, -1, -1, 0, -1]
    assert found.think[1] == DAY + 1200 - 100
    assert found.rate == pytest.approx((15_400 + 4100 + 3600) / (3 * WEEK))
    # User 5 stays for weeks 0 and 1, user 9 comes in weeks 0 and 2: three stays of four weeks.
    assert found.stay == pytest.approx(4 / 3)


def test_the_season_is_the_mean_stay_unless_it_is_given(log, model):
    """Counted user by user."""
    week = ((log.column("submit") - 9 * 3600) // WEEK).astype(int)
    stays = []
    for user in np.unique(log.column("user")):
        here = np.unique(week[(log.column("user") == user) & (week < model.campaigns.rounds)])
        stays += [len(one) for one in np.split(here, np.flatnonzero(np.diff(here) > 1) + 1)]
    assert model.campaigns.stay == pytest.approx(np.mean(stays))
    assert model.season == round(np.mean(stays))
    assert Site.fit(log, season=7).season == 7


def test_exchanges_by_hand():
    """Two people, two weeks: the heavy ones fall together and are taken apart again."""
    weeks = Weeks(
        np.array([[0, 1], [2, 3]]), np.array([0, 1, 0, 1]), np.array([9.0, 1.0, 9.0, 1.0, 0.0]),
        np.array([1.0, 1.0, 1.0, 1.0, 0.0]), np.full((2, 2), 0.5), np.ones(2), np.zeros((2, 2)),
        np.array([[10.0, 10.0], [2.0, 2.0]]), np.array([[10.0, 10.0], [2.0, 2.0]]),
    )  # fmt: skip
    weeks.sums[:] = weekly_sums(weeks)
    assert weeks.sums.tolist() == [[18.0, 2.0], [2.0, 2.0]]
    none = np.array([1]), np.array([0]), np.array([5])
    assert exchange(weeks, *none, 1) == 0
    assert exchange(weeks, np.array([1]), np.array([0]), np.array([1]), 0) == 0  # too far
    assert exchange(weeks, np.array([1, 1]), np.array([0, 0]), np.array([1, 1]), 1) == 1
    assert weeks.content.tolist() == [[0, 1], [3, 2]]
    assert weeks.sums.tolist() == [[10.0, 10.0], [2.0, 2.0]]


def test_no_week_goes_farther_than_a_season_and_each_comes_once(model):
    from onega.models.site.company import Crowd

    some = model.campaigns
    crowd = Crowd(some, 4, True, lambda number: 1.0, np.random.default_rng(1))
    first = next(iter(crowd.passes()))
    assert np.array_equal(np.sort(first.campaign), np.arange(some.user.size))
    assert np.abs(first.round - some.place[first.campaign]).max() <= 4
    # One place in nine is its own; more would be the log again.
    assert (first.round == some.place[first.campaign]).mean() < 0.2
    assert np.array_equal(first.person, some.user[first.campaign])
    weekly = np.bincount(first.round, weights=some.work[first.campaign])
    source = np.sort(some.totals[0])
    np.testing.assert_allclose(np.sort(weekly), source, rtol=0.1)


def test_weeks_stay_regulated_and_independent_users_do_not(log, model):
    several = [model.sample(len(log), rng=seed) for seed in range(6)]
    free = replace(model, regulated=False).sample(len(log), rng=1)

    def variation(one):
        week = ((one.column("submit") - 9 * 3600) // WEEK).astype(int)
        sums = np.bincount(week, weights=one.column("procs") * one.column("runtime"))[:28]
        return np.std(sums) / np.mean(sums)

    # A dozen users can't share every total exactly: single samples have 0.06 to 0.10 for 0.10.
    assert np.mean([variation(one) for one in several]) == pytest.approx(variation(log), rel=0.25)
    assert variation(free) > 2 * variation(log)


def test_sizes_and_cycles_are_the_logs(log, model):
    drawn = model.sample(len(log), rng=2)
    # Two samples of 1200 jobs would differ by 0.055 with probability 0.05; this one is no sample.
    assert ks_distance(log.column("runtime"), drawn.column("runtime")) < 0.02
    assert ks_distance(log.column("procs"), drawn.column("procs")) < 0.02
    hours = drawn.column("submit") % DAY / 3600
    assert ((hours > 8.6) & (hours < 17.4)).all()  # sessions move by ten minutes
    assert drawn.table["user"].n_unique() == 12
    assert (drawn.column("estimate") == 7200).all()
    log_values, values = set(log.column("runtime")), drawn.column("runtime")
    assert np.mean(np.isin(values, list(log_values))) < 0.9  # blurred


def test_longer_than_the_log_is_not_the_same_again(model, log):
    long = model.sample(3 * len(log), rng=1)
    first = long.column("submit")[0]
    assert (long.column("submit")[-1] - first) / (3 * log.span) == pytest.approx(1, abs=0.05)
    weeks = window_sums(long.column("submit"), WEEK, long.column("procs") * long.column("runtime"))
    assert not np.allclose(weeks[:28], weeks[30:58], rtol=0.01)


def test_population_load_and_machine(model, log):
    twice = replace(model, population=2.0).sample(2 * len(log), rng=1)
    assert twice.table["user"].n_unique() == 24
    assert twice.span / log.span == pytest.approx(1, abs=0.05)
    half = replace(model, population=0.5).sample(len(log) // 2, rng=1)
    assert half.span / log.span == pytest.approx(1, abs=0.1)  # which weeks come is chance

    def users_a_week(one):
        week = ((one.column("submit") - 9 * 3600) // WEEK).astype(int)
        return len(set(zip(week, one.column("user"), strict=True))) / len(set(week))

    assert 0.4 < users_a_week(half) / users_a_week(log) < 0.75  # small weeks fill totals best
    drawn = model.sample(len(log), rng=1, load=0.8, machine=64)
    area = float(drawn.column("procs") @ drawn.column("runtime"))
    assert area / (64 * drawn.span) == pytest.approx(0.8, rel=1e-3)
    hours = drawn.column("submit") % DAY / 3600
    assert ((hours > 8.6) & (hours < 17.4)).all()  # more users, not another day
    note = next(one for one in drawn.meta.provenance if "times the users" in one)
    assert float(note.rsplit("×", 1)[1]) == pytest.approx(1, abs=0.1)
    small = model.sample(200, rng=1, machine=4)
    assert small.column("procs").max() == 4
    assert any("cut to 4" in one for one in small.meta.provenance)


def test_other_loads_are_as_regulated(log, model):
    """A fifth more or less: the variation of weekly work stays; Poisson's would be 0.16."""

    def variation(one):
        work = one.column("procs") * one.column("runtime")
        sums = window_sums(one.column("submit"), WEEK, work)
        return np.std(sums) / np.mean(sums)

    own = np.mean([variation(model.sample(len(log), rng=seed)) for seed in range(6)])
    load = float(log.column("procs") @ log.column("runtime")) / (16 * log.span)
    for factor in (0.8, 1.2):
        several = [
            model.sample(int(factor * len(log)), rng=seed, load=factor * load) for seed in range(6)
        ]
        assert np.mean([variation(one) for one in several]) < 1.35 * own


def test_growth(model, log):
    grown = replace(model, growth=1.0).sample(4 * len(log), rng=1)
    weeks = window_sums(grown.column("submit"), WEEK)
    at = np.array([weeks[:10].mean(), weeks[52:62].mean()])
    assert at[1] / at[0] == pytest.approx(2, rel=0.15)


def test_start_and_the_day_of_the_week(model):
    for start in (0.0, 3.5 * DAY):
        drawn = model.sample(100, rng=1, start=start)
        assert drawn.column("submit")[0] >= start
        assert drawn.column("submit")[0] < start + WEEK


def test_users_who_wait_close_the_loop(log, model):
    drawn = model.sample(len(log), rng=1)
    table = drawn.table
    follows = table["after"].is_not_null()
    assert 0.1 < follows.mean() < 1
    before = table["after"].drop_nulls().to_numpy() - 1
    user = table["user"].to_numpy()
    np.testing.assert_array_equal(user[follows.to_numpy()], user[before])
    assert (table["think"].drop_nulls() >= 0).all()
    closed = onega.simulate(drawn, 8, "easy", dependencies=True)
    opened = onega.simulate(drawn, 8, "easy")
    assert closed.summary()["mean_wait"] < opened.summary()["mean_wait"]
    bare = Site.fit(log.with_columns(wait=None, note="no waits"))
    assert bare.sample(100, rng=1).table["after"].null_count() == 100


def test_a_log_without_users_is_made_of_bursts():
    strangers = Site.fit(regulated_log(unknown=True))
    drawn = strangers.sample(500, rng=1)
    assert drawn.table["user"].n_unique() > 5
    assert rhythm(drawn).weekly_work_cv < 0.3


def test_expanded_by_hand():
    joined, nth = expanded(np.array([5, 0, 9]), np.array([2, 0, 3]))
    assert joined.tolist() == [5, 6, 9, 10, 11]
    assert nth.tolist() == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"season": -1}, "season must be"),
        ({"blur": 0.7}, "blur must lie"),
        ({"population": 0.0}, "0 < population"),
        ({"growth": -1.0}, "growth <= 10"),
    ],
)
def test_parameters_that_make_no_sense(model, changes, message):
    with pytest.raises(ModelError, match=message):
        replace(model, **changes)


def test_arrivals_are_its_own(log):
    with pytest.raises(ModelError, match="takes no arrivals"):
        Site.fit(log, arrivals="poisson")
    with pytest.raises(ModelError, match="takes no arrivals"):
        Site.fit(log, cycle="polynomial")


def test_edited_files_are_refused_with_a_reason(model):
    data = model.to_dict()
    for name, value, message in (
        ("size", [1] * model.campaigns.size.size, "add up to the jobs"),
        ("place", model.campaigns.place[::-1].tolist(), "places ascend"),
        ("rounds", 3, "places lie in"),
        ("period", 0.0, "period > 0"),
    ):
        inner = {**data["campaigns"], name: value}
        with pytest.raises(ModelError, match=message):
            Site.from_dict({k: v for k, v in {**data, "campaigns": inner}.items() if k != "kind"})
    assert from_json(model.to_json()) == model


def test_no_user_left(model):
    with pytest.raises(ModelError, match="no user is left"):
        replace(model, population=1e-9).sample(10, rng=1)


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln"])
def test_a_scheduler_feels_the_log(name):
    """Waits of archive logs' samples over the logs' own; seen over ten seeds: 0.9 to 1.2."""
    log, _ = onega.clean(onega.read(shared("traces", f"{name}.swf.gz")))
    model = MODELS["site"].fit(log)
    own = onega.simulate(log, policy="easy").summary()["mean_wait"]
    drawn = [model.sample(len(log), rng=seed) for seed in range(3)]
    waits = [onega.simulate(one, policy="easy").summary()["mean_wait"] for one in drawn]
    assert 0.8 < np.mean(waits) / own < 1.25
    real = rhythm(log)
    for one in map(rhythm, drawn):
        assert one.weekly_work_cv == pytest.approx(real.weekly_work_cv, rel=0.15)
        for unit in ("hour", "day", "week"):
            name = f"dispersion_{unit}"
            assert getattr(one, name) == pytest.approx(getattr(real, name), rel=0.25)
        assert one.night_runtime == pytest.approx(real.night_runtime, rel=0.1)
        assert one.weekend_procs == pytest.approx(real.weekend_procs, rel=0.1)
