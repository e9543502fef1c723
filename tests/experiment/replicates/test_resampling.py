"""Resamples by weeks and by users: what stays, what changes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from experiment.workloads import WEEK, log
from onega.core.errors import ExperimentError
from onega.experiment.replicates.draws import busy_processors
from onega.experiment.replicates.resampling import whole_weeks

LOG = log(weeks=6.4)
SEEDS = st.integers(0, 10_000)


def rows(table: pl.DataFrame) -> list[tuple]:
    return table.select("runtime", "procs", "estimate").rows()


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_by_weeks_every_week_is_one_of_the_logs_in_place(seed):
    drawn = onega.resample(LOG, "weeks", rng=seed)
    weeks = {}
    for k in range(whole_weeks(LOG)):
        part = LOG.window(k * WEEK, (k + 1) * WEEK).table
        weeks[tuple(zip(part["submit"].to_numpy() - k * WEEK, rows(part), strict=True))] = k
    for k in range(whole_weeks(LOG)):
        part = drawn.window(k * WEEK, (k + 1) * WEEK).table
        found = tuple(zip(part["submit"].to_numpy() - k * WEEK, rows(part), strict=True))
        assert found in weeks
    assert drawn.span <= whole_weeks(LOG) * WEEK


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_by_users_everyone_brings_all_his_jobs_at_their_hours(seed):
    drawn = onega.resample(LOG, "users", rng=seed)
    streams = {user[0]: Counter(rows(part)) for user, part in LOG.table.group_by("user")}
    phases = {
        user[0]: Counter((part["submit"].to_numpy() % WEEK).tolist())
        for user, part in LOG.table.group_by("user")
    }
    for _, part in drawn.table.group_by("user"):
        jobs = Counter(rows(part))
        whose = [user for user, stream in streams.items() if stream == jobs]
        assert len(whose) == 1
        assert Counter((part["submit"].to_numpy() % WEEK).tolist()) == phases[whose[0]]


@pytest.mark.parametrize("by", ["weeks", "users"])
def test_a_resample_is_an_orderly_log(by):
    drawn = onega.resample(LOG, by, rng=3)
    assert drawn.table["job"].to_list() == list(range(1, len(drawn) + 1))
    assert drawn.table["submit"].is_sorted()
    for empty in ("wait", "after", "think"):
        assert not drawn.has(empty)
    assert drawn.meta.procs == LOG.meta.procs
    assert f"resampled by {by}" in drawn.meta.provenance[-1]
    assert "SeedSequence(3)" in drawn.meta.provenance[-1]
    assert onega.resample(LOG, by, rng=3) == drawn
    assert onega.resample(LOG, by, rng=4) != drawn


def test_jobs_beyond_the_last_whole_week_are_counted():
    beyond = int(np.sum(LOG.column("submit") >= 6 * WEEK))
    assert beyond > 0
    note = onega.resample(LOG, "weeks", rng=1).meta.provenance[-1]
    assert f"{beyond} jobs beyond the last whole week left out" in note


@pytest.mark.parametrize(("by", "most"), [("weeks", 4.0), ("users", 4.0)])
def test_the_mean_load_is_the_logs(by, most):
    """|z| < 4 over 200 resamples; by users, half a user's load in bias is allowed for."""
    whole = LOG.window(0, 6 * WEEK) if by == "weeks" else LOG
    own = float(np.sum(whole.column("procs") * whole.column("runtime")))
    span = 6 * WEEK if by == "weeks" else LOG.span
    loads = []
    for seed in range(200):
        drawn = onega.resample(LOG, by, rng=seed)
        area = float(np.sum(drawn.column("procs") * drawn.column("runtime")))
        loads.append(area / (6 * WEEK) / (own / span))
    error = np.std(loads, ddof=1) / np.sqrt(len(loads))
    assert abs(np.mean(loads) - 1) < most * error + (0.02 if by == "users" else 0)


@pytest.mark.parametrize("by", ["weeks", "users"])
def test_load_multiplies_the_load_on_the_same_draws(by):
    once, twice = (onega.resample(LOG, by, rng=5, load=load) for load in (1.0, 1.6))
    assert busy_processors(twice) == pytest.approx(1.6 * busy_processors(once), rel=0.12)
    if by == "weeks":
        assert rows(once.table) == rows(twice.table)
    else:  # the same users first, and then more
        assert not Counter(rows(once.table)) - Counter(rows(twice.table))
        assert twice.span <= 6 * WEEK + 1


def test_jobs_without_a_user_stay_where_they_are():
    half = LOG.with_columns(
        pl.when(pl.col("job") % 2 == 0).then(pl.col("user")).alias("user"), note="half"
    )
    drawn = onega.resample(half, "users", rng=1)
    unknown = half.table.filter(pl.col("user").is_null())
    stayed = drawn.table.filter(pl.col("user").is_null())
    assert stayed["submit"].to_list() == unknown["submit"].to_list()
    assert f"{unknown.height} jobs without a user kept" in drawn.meta.provenance[-1]


@pytest.mark.parametrize(
    ("workload", "by", "load", "hint"),
    [
        (log(weeks=1.5), "weeks", None, "at least 2"),
        (log(weeks=1.5), "users", None, "fit a model"),
        (LOG, "days", None, "accepted: weeks, users"),
        (LOG, "weeks", 0.0, "positive factor"),
        (LOG, "users", float("nan"), "positive factor"),
        (LOG.with_columns(user=pl.lit(None), note=""), "users", None, "resample by weeks"),
        (LOG.head(0), "weeks", None, "at least 2"),
    ],
)
def test_what_cannot_be_resampled_is_refused(workload, by, load, hint):
    with pytest.raises(ExperimentError, match=hint):
        onega.resample(workload, by, rng=1, load=load)


def test_weeks_without_jobs_are_drawn_like_any_other():
    """Four whole weeks, two of them empty: all four may be, once in 16 times."""
    sparse = onega.Workload(
        {"submit": [0.0, 3.5 * WEEK, 4.2 * WEEK], "runtime": [1.0, 2.0, 3.0], "procs": [1, 1, 1]}
    )
    lengths = []
    for seed in range(60):
        try:
            lengths.append(len(onega.resample(sparse, "weeks", rng=seed)))
        except ExperimentError as error:
            lengths.append(0 if "no job at all" in str(error) else -1)
    assert set(lengths) == {0, 1, 2, 3, 4}
