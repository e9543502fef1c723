"""Groups of users: clustering, the model, users for jobs of other models."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from experiment.users.logs import grouped_log
from models.contract import example_log
from onega.core.errors import ModelError
from onega.core.workload.chains import autocorrelation, equal_neighbours, floor_power
from onega.core.workload.distances import ks_distance
from onega.models import Markov, UserGroups, compose, group_users, load, suggest_groups
from onega.models.users.clusters import clara, job_kinds, nearest, pam, user_distances
from onega.models.users.mixture import JobMixture
from places import shared


@pytest.fixture(scope="module")
def log():
    return grouped_log()


@pytest.fixture(scope="module")
def model(log):
    return UserGroups.fit(log, groups=2)


def cost(distance, medoids):
    return distance[:, list(medoids)].min(axis=1).sum()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(1, 3))
def test_pam_is_no_worse_than_any_single_exchange(seed, users, groups):
    random = np.random.default_rng(seed)
    counts = random.integers(1, 20, (users, 5))
    distance = user_distances(counts)
    label = pam(distance, groups)
    assert label.size == users
    assert len(set(label)) <= groups
    # The labels don't tell PAM's medoids where several of a group are equally good (any two users
    # are): for one choice of them no exchange may be better.
    best = []
    for one in sorted(set(label)):
        members = np.flatnonzero(label == one)
        within = distance[np.ix_(members, members)].sum(axis=0)
        best.append(members[within <= within.min() + 1e-12])
    assert any(no_exchange_is_better(distance, list(chosen)) for chosen in product(*best))


def no_exchange_is_better(distance, medoids):
    found = cost(distance, medoids)
    return all(
        found <= cost(distance, [*medoids[:place], other, *medoids[place + 1 :]]) + 1e-12
        for place in range(len(medoids))
        for other in set(range(len(distance))) - set(medoids)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_distance_is_the_seeds_formula(seed, users, kinds):
    counts = np.random.default_rng(seed).integers(0, 9, (users, kinds))
    counts[:, 0] += 1
    distance = user_distances(counts)
    n = counts.sum()
    for a in range(users):
        for b in range(users):
            alpha = counts[a] / counts[a].sum() - counts[b] / counts[b].sum()
            expected = np.sqrt((alpha**2).sum()) * (counts[a].sum() + counts[b].sum()) / n
            assert distance[a, b] == pytest.approx(0 if a == b else expected, abs=1e-7)


def test_clara_finds_the_best_medoids_of_a_small_set():
    random = np.random.default_rng(3)
    values = np.concatenate([random.normal(m, 0.2, 15) for m in (0, 5, 9)])
    medoids = clara(values, 3, random)
    distance = np.square(values[:, None] - values)
    best = min(cost(distance, some) for some in combinations(range(values.size), 3))
    places = [int(np.flatnonzero(values == m)[0]) for m in medoids]
    assert cost(distance, places) == pytest.approx(best)
    np.testing.assert_array_equal(
        nearest(values, medoids), np.abs(values[:, None] - medoids).argmin(axis=1)
    )


def test_kinds_of_jobs():
    medoids = np.array([2.0, 6.0])
    kinds = job_kinds(np.array([1.0, 3, 4, 100]), np.array([4.0, 64, 3, 70]), medoids, 3)
    assert kinds.tolist() == [0, 3, 4, 5]


def test_two_kinds_of_people_are_told_apart(log):
    grouping = group_users(log, 2)
    assert grouping.groups == 2
    first, second = (set(grouping.users[grouping.group == k]) for k in (0, 1))
    assert {frozenset(first), frozenset(second)} == {
        frozenset(range(1, 21)), frozenset(range(21, 41))
    }  # fmt: skip
    table = grouping.to_polars()
    assert table["share_of_area"].sum() == pytest.approx(1)
    assert table["share_of_jobs"].sum() == pytest.approx(1)
    assert table["share_of_users"].to_list() == [0.5, 0.5]
    assert table["share_of_area"].is_sorted(descending=True)
    assert grouping.summary()["groups"] == 2


def test_one_log_gives_one_grouping(log):
    a, b = group_users(log, 3), group_users(log, 3)
    np.testing.assert_array_equal(a.group, b.group)


def test_suggestion_stops_before_a_group_without_area(log):
    choice = suggest_groups(log, most=5)
    shares = choice.to_polars()
    smallest = shares.group_by("groups").agg(pl.col("share_of_area").min()).sort("groups")
    for row in smallest.to_dicts():
        if row["groups"] <= choice.suggested:
            assert row["share_of_area"] >= 0.01
        if row["groups"] == choice.suggested + 1:
            assert row["share_of_area"] < 0.01


def test_sample_keeps_laws_shares_and_people(log, model):
    drawn = model.sample(20_000, rng=1)
    # Two independent samples of 4000 and 20 000: KS below 0.035 with probability 1 − 10⁻³; jobs of
    # sessions repeat, and a Gaussian mixture is not the log's law exactly.
    assert ks_distance(log.column("procs"), drawn.column("procs")) < 0.05
    assert ks_distance(log.column("runtime"), drawn.column("runtime")) < 0.07
    share = np.mean(drawn.column("group") == 1)
    expected = model.to_polars()["share_of_jobs"][0]
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 20_000)
    counts = np.bincount(drawn.column("user"), minlength=41)[1:]
    truth = np.bincount(log.column("user"), minlength=41)[1:] / len(log)
    deviation = np.abs(counts - 20_000 * truth) / np.sqrt(20_000 * truth * (1 - truth))
    assert deviation.max() < 4.5  # 40 normal deviates: probability 3·10⁻⁴
    for k, group in enumerate(model.groups, 1):
        procs = drawn.column("procs")[drawn.column("group") == k].astype(float)
        assert np.mean(floor_power(procs) == procs) >= group.powers - 0.02


def test_sessions_make_neighbours_alike():
    from models.contract import example_log

    log = example_log()
    drawn = UserGroups.fit(log).sample(20_000, rng=2)
    shuffled = np.random.default_rng(0).permutation(drawn.column("user"))
    assert equal_neighbours(drawn.column("user")) > 1.5 * equal_neighbours(shuffled)
    assert autocorrelation(np.log2(drawn.column("runtime"))) > 0.05


def test_chains_with_groups_keep_both(log, model, tmp_path):
    """Fig. 7.3: temporal relations of the chain survive, and so do the shares of groups."""
    markov = Markov.fit(log)
    both = compose(profiles=markov, users=model)
    plain, drawn = markov.sample(20_000, rng=4), both.sample(20_000, rng=4)
    np.testing.assert_array_equal(plain.column("procs"), drawn.column("procs"))
    np.testing.assert_array_equal(plain.column("runtime"), drawn.column("runtime"))
    expected = model.to_polars()["share_of_jobs"][0]
    kinds_log = np.mean(log.column("procs") == 1)
    kinds = np.mean(drawn.column("procs") == 1)
    # Groups go by kinds of jobs: their shares can differ by what the chain's kinds differ by.
    share = np.mean(drawn.column("group") == 1)
    assert abs(share - expected) < abs(kinds - kinds_log) + 4 * np.sqrt(0.25 / 20_000)
    serial = drawn.column("procs") == 1
    assert set(drawn.column("user")[serial]) <= set(range(1, 21))
    both.save(tmp_path / "both.json")
    assert load(tmp_path / "both.json").sample(300, rng=1) == both.sample(300, rng=1)


def test_mixture_of_a_few_equal_jobs_is_one_component():
    mixture = JobMixture.fit(np.full(7, 4.0), np.full(7, 60.0), np.random.default_rng(0))
    assert mixture.weights.size == 1
    width, length = mixture.place(np.zeros(3, int), np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(np.exp2(width), 4)
    np.testing.assert_allclose(np.exp2(length), 60)


def test_mixture_draws_its_covariance():
    covariance = np.array([[2.0, 0.8], [0.8, 1.0]])
    mixture = JobMixture(np.ones(1), np.array([[3.0, 8.0]]), covariance[None])
    random = np.random.default_rng(1)
    n = 200_000
    normal = random.standard_normal((2, n))
    x, y = mixture.place(np.zeros(n, int), *normal)
    # Standard errors of covariances of 200 000 draws are below 0.007: four of them.
    np.testing.assert_allclose(np.cov(x, y), covariance, atol=0.028)


class TestPoorLogs:
    def test_no_users(self, log):
        bare = log.with_columns(pl.lit(None, dtype=pl.Int32).alias("user"), note="bare")
        with pytest.raises(ModelError, match="doesn't say who submitted"):
            group_users(bare)

    def test_one_user(self, log):
        alone = log.with_columns(pl.lit(7, dtype=pl.Int32).alias("user"), note="alone")
        with pytest.raises(ModelError, match="from 1 to 1, as the log has 1 user"):
            group_users(alone)
        assert group_users(alone, 1).to_polars()["share_of_users"].to_list() == [1.0]
        assert (
            UserGroups.fit(alone, groups=1).sample(200, rng=1).column("user").tolist() == [1] * 200
        )
        assert suggest_groups(alone).suggested == 1

    def test_every_user_has_one_job(self, log):
        lonely = log.head(300).with_columns(
            pl.int_range(300, dtype=pl.Int32).alias("user"), note="one each"
        )
        drawn = UserGroups.fit(lonely, groups=3).sample(500, rng=0)
        assert drawn.column("group").max() <= 3

    def test_constant_widths(self, log):
        narrow = log.with_columns(pl.lit(1, dtype=pl.Int64).alias("procs"), note="narrow")
        drawn = UserGroups.fit(narrow, groups=2).sample(500, rng=0)
        assert drawn.column("procs").max() == 1

    def test_some_jobs_without_user_are_counted(self, log):
        some = log.with_columns(
            pl.when(pl.col("job") % 10 == 0).then(None).otherwise(pl.col("user")).alias("user"),
            note="holes",
        )
        assert group_users(some).without_user == 400
        assert UserGroups.fit(some).without_user == 400


def test_figures(log, model):
    grouping = group_users(log, 3)
    for kind in grouping.figure_kinds():
        assert grouping.plot(kind).data
    assert suggest_groups(log, most=3).plot().data
    assert model.plot("groups").data


def test_run_times_end_at_the_longest_and_none_pile_up_there():
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    model = UserGroups.fit(log)
    real = log.column("runtime")
    real = real[real > 0]
    for rng in (1, 2):
        made = model.sample(len(log), rng=rng)
        runtime = made.column("runtime")
        at_the_longest = 0
        for number, group in enumerate(model.groups, 1):
            own = runtime[made.column("group") == number]
            assert own.max() <= group.longest
            at_the_longest += np.sum(own == group.longest)
        assert at_the_longest <= 10  # the log has 4; clipping gave 240
        assert np.quantile(runtime, 0.99) / np.quantile(real, 0.99) < 1.6  # it was 2.55


def test_truncated_normals_have_their_law():
    from scipy.stats import truncnorm

    mixture = JobMixture([1.0], [[0.0, 10.0]], [[[1.0, 0.0], [0.0, 4.0]]])
    normal = np.random.default_rng(1).standard_normal((2, 50_000))
    _, length = mixture.place(np.zeros(50_000, int), *normal, (7.0, 11.0))
    law = truncnorm(-np.inf, 0.5, loc=10, scale=2)
    grid = np.linspace(7, 11, 30)
    seen = np.searchsorted(np.sort(length), grid, side="right") / 50_000
    assert length.min() == 7.0
    assert np.abs(seen - law.cdf(grid)).max() < 0.009  # KS at 50 000: beyond once in 1000
    assert np.all(np.diff(length[np.argsort(normal[1])]) >= 0)  # what is long stays long


def test_the_literal_generation_is_section_5_3():
    """⌊n·p_k⌋ jobs of each group, no users, a share of widths moved to powers of two."""
    log = example_log()
    model = UserGroups.fit(log, generation="literal")
    made = model.sample(4000, rng=1)
    assert made.table["user"].null_count() == 4000
    counts = np.array([group.counts.sum() for group in model.groups])
    seen = np.bincount(made.column("group"), minlength=counts.size + 1)[1:]
    assert np.all(seen >= np.floor(4000 * counts / counts.sum()))
    with pytest.raises(ModelError, match="did you mean 'literal'"):
        UserGroups.fit(log, generation="litteral")
