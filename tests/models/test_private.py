"""What a private fit gives away, and what it costs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import onega
from models.contract import example_log
from onega.cli import main
from onega.comparison.privacy import excess_copying, privacy
from onega.core.errors import ModelError
from onega.models import MODELS
from onega.models.noise import Noise, raked, reached, tilted
from onega.models.private import (
    COARSE,
    GAP_COARSE,
    GAP_GRID,
    GRID,
    SHARES,
    Private,
    avoid_single_users,
    width_edges,
)
from places import shared


def naive_privacy(log, made):
    records = [(int(p), round(r)) for p, r in zip(log.column("procs"), log.column("runtime"))]
    unique = {one for one in records if records.count(one) == 1}
    drawn = [(int(p), round(r)) for p, r in zip(made.column("procs"), made.column("runtime"))]
    return (
        len(unique),
        len(unique & set(drawn)) / len(unique),
        np.mean([d in unique for d in drawn]),
    )


def test_copies_are_those_of_a_loop():
    log, made = example_log(400), example_log(300, rng=7)
    found = privacy(log, made)
    expected = naive_privacy(log, made)
    got = (found.unique_records, found.repeated, found.copies)
    assert got == pytest.approx(expected)
    assert privacy(log, log).repeated == 1


def test_noise_is_laplaces_with_the_stated_scale():
    noise = Noise(np.random.default_rng(1), {"gaps": 0.4, "work": 0.1})
    scale = 3 / 0.4
    seen = noise._noisy("gaps", np.full(200_000, 1e6), 3)[0] - 1e6
    assert seen.std() == pytest.approx(scale * np.sqrt(2), rel=0.02)
    assert seen.mean() == pytest.approx(0, abs=5 * scale * np.sqrt(2 / 200_000))
    sums = [noise.total("work", np.array([4.0, 9.0]), 5.0) for _ in range(20_000)]
    assert np.mean(sums) == pytest.approx(9, abs=2.5)
    assert np.std(sums) == pytest.approx(np.sqrt(2) * 5 / 0.1, rel=0.05)


def test_shares_of_epsilon_add_up():
    assert sum(SHARES.values()) == pytest.approx(1)


def test_noise_seldom_reaches_what_counts_as_sure():
    """Sums of Laplace variables exceed Chernoff's bound no more often than it says."""
    size = np.array([1, 4, 8])
    bound = reached(size, 0.01)
    drawn = np.random.default_rng(2).laplace(size=(100_000, 8)).cumsum(axis=1)[:, size - 1]
    assert ((drawn >= bound).mean(axis=0) <= 0.01).all()
    assert ((drawn >= bound / 3).mean(axis=0) > 0.01).all()  # it isn't idle


def test_cells_do_not_depend_on_the_log():
    first, second = (Private.fit(example_log(rng=k), rng=1) for k in (1, 2))
    assert first.widths.size == second.widths.size == width_edges(64).size - 1
    assert first.runtimes.shape == second.runtimes.shape == (7, GRID.size - 1)
    assert first.gap_cells.shape == second.gap_cells.shape == (GAP_GRID.size - 1,)


def test_cells_and_octaves():
    for grid, octave in ((GRID, COARSE), (GAP_GRID, GAP_COARSE)):
        begins = np.floor(np.log2(np.maximum(grid[:-1], 0.5))).astype(int) + 1
        np.testing.assert_array_equal(octave, begins)
    edges = width_edges(1024)
    for one in (1, 37, 64, 128, 256, 1024):  # favourite widths are cells of their own
        place = np.searchsorted(edges, one, side="right") - 1
        assert (edges[place], edges[place + 1]) == (one, one + 1)


def test_one_job_moves_the_counts_by_as_much_as_the_noise_is_for(monkeypatch):
    """Tables and sums of a log and of the log without a job differ by the stated amounts."""
    seen = {}

    def noisy(self, name, counts, sensitivity):
        counts = np.asarray(counts, float)
        seen.setdefault(name, []).append((counts, sensitivity))
        return counts + 1, 0.1

    def total(self, name, values, most):
        limit = seen[name][0][1] if name in seen else most
        found = np.minimum(values, limit).sum()
        seen.setdefault(name, []).append((found, limit))
        return found

    monkeypatch.setattr(Noise, "_noisy", noisy)
    monkeypatch.setattr(Noise, "total", total)
    monkeypatch.setattr("onega.models.private.HoursOfWeek", lambda _: _flat())
    log = example_log()
    Private.fit(log, rng=1)
    for row in (0, 7, 1500, len(log) - 1):
        Private.fit(log.select(np.arange(len(log)) != row), rng=1)
    assert set(seen) == set(SHARES)
    for (before, sensitivity), *others in seen.values():
        changes = [np.abs(before - after).sum() for after, _ in others]
        assert 0 < max(changes) <= sensitivity


def test_raking_and_tilting_by_hand():
    found = raked(np.array([[4.0, 1.0], [1.0, 4.0]]), np.array([3.0, 1.0]), np.array([8.0, 8.0]))
    np.testing.assert_allclose(found.sum(axis=1), [12, 4], rtol=1e-6)
    np.testing.assert_allclose(found.sum(axis=0), [8, 8], rtol=1e-6)
    # Scaling keeps the cross ratio.
    assert found[0, 0] * found[1, 1] / found[0, 1] / found[1, 0] == pytest.approx(16)
    empty = raked(np.array([[0.0, 0.0], [1.0, 1.0]]), np.ones(2), np.array([3.0, 1.0]))
    np.testing.assert_allclose(empty.sum(axis=0), [3, 1], rtol=1e-6)  # a bare row takes the law
    np.testing.assert_allclose(empty.sum(axis=1), [2, 2], rtol=1e-6)
    moved = tilted(np.array([3.0, 1.0]), np.array([1.0, 5.0]), 3.0)
    np.testing.assert_allclose(moved, [2.0, 2.0])
    rows = tilted(np.array([[3.0, 1.0], [1.0, 1.0]]), np.array([1.0, 5.0]), 4.0, keep_rows=True)
    np.testing.assert_allclose(rows.sum(axis=1), [4, 2])
    assert (rows @ [1.0, 5.0]).sum() / 6 == pytest.approx(4)


def test_records_of_a_single_user_are_avoided():
    meta = onega.Meta(procs=8)
    log = onega.Workload(
        {
            "submit": np.arange(6.0),
            "procs": [1, 1, 1, 1, 2, 2],
            "runtime": [10.0, 11.0, 11.0, 9.0, 10.0, 10.0],
            "user": [1, 1, 1, 2, 3, 4],
        },
        meta,
    )
    drawn = onega.Workload(
        {"submit": np.arange(4.0), "procs": [1, 1, 2, 1], "runtime": [10.0, 11.0, 10.0, 50.0]}, meta
    )
    made = avoid_single_users(drawn, log, rng=1)
    # 10 has 9 and 11 beside it; two users have (2, 10); no user has (1, 50).
    assert made.column("runtime")[0] in (8, 12)
    assert made.column("runtime")[1] in (12, 8)
    assert made.column("runtime")[2:].tolist() == [10, 50]
    assert "2 run times moved" in made.meta.provenance[-1]
    strangers = log.with_columns(user=None, note="no users")
    kept = avoid_single_users(drawn, strangers, rng=1).column("runtime")
    assert kept[2] == 10  # two jobs have it


def _flat():
    from onega.models.arrivals.cycles import HoursOfWeek

    return HoursOfWeek(np.ones(168))


def test_kth_at_epsilon_one():
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    plain = onega.compare(log, MODELS["markov-pair"].fit(log).sample(len(log), rng=1)).summary()
    for rng in (1, 2):
        made = Private.fit(log, rng=rng, epsilon=1.0).sample(len(log), rng=rng)
        found = onega.compare(log, made).summary()
        for key in ("ks_procs", "ks_runtime"):
            assert found[key] - plain[key] <= 0.02, key
        assert abs(found["d_sa"]) < 0.12  # noise on the sum of work has a deviation of 0.05
        assert found["load_synthetic"] / found["load_real"] == pytest.approx(1, abs=0.12)
        assert made.table["user"].null_count() == len(made)
    copied = excess_copying(log, lambda half: Private.fit(half, rng=1), rng=2)
    assert abs(copied["copied_excess"]) <= 0.01
    own = excess_copying(log, lambda half: MODELS["markov-pair"].fit(half), rng=2)
    assert own["copied_excess"] > 0.05  # what it is about


def test_what_is_asked_wrongly_is_refused():
    log = example_log()
    for epsilon in (0, -1.0, "one"):
        with pytest.raises(ModelError, match="epsilon"):
            Private.fit(log, epsilon=epsilon)
    with pytest.raises(ModelError, match="how large the machine is"):
        Private.fit(onega.Workload(log.table, onega.Meta()))


def test_commands(tmp_path, capsys):
    log, out, model = (str(tmp_path / name) for name in ("log.swf", "out.swf", "m.json"))
    onega.write(example_log(), log)
    for words, code in (
        (["sample", "--private", log, "-n", "2000", "-o", out, "--unique", "all"], 2),
        (["sample", "--private", log, "-n", "2000", "-o", out, "--epsilon", "2"], 0),
        (["compare", log, out, "--privacy", "--waits", "--json"], 0),
        (["fit", "markov", log, "-o", model], 0),
        (["sample", "--private", model, "-n", "10", "-o", out], 2),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaves:
            main(words)
        assert (leaves.value.code or 0) == code
        if "--json" in words:
            found = json.loads(capsys.readouterr().out)
            assert {"wait_easy_ratio", "dispersion_week_real"} <= set(found)
            assert found["privacy_repeated"] == 0
    assert "--private takes the log itself" in " ".join(capsys.readouterr().err.split())
