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
from onega.models.private import GRID, Private, _Noise, width_edges
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
    noise = _Noise(np.random.default_rng(1), 0.25)
    seen = noise.on(np.full(200_000, 1e6), 3) - 1e6
    # Laplace with scale 12: standard deviation 12·√2; rounding adds 1/12.
    assert seen.std() == pytest.approx(12 * np.sqrt(2), rel=0.02)
    assert seen.mean() == pytest.approx(0, abs=0.2)


def test_cells_do_not_depend_on_the_log():
    first, second = (Private.fit(example_log(rng=k), rng=1) for k in (1, 2))
    assert first.widths.size == second.widths.size == width_edges(64).size - 1
    assert first.runtimes.shape == second.runtimes.shape == (7, GRID.size - 1)


def test_one_job_moves_the_counts_by_as_much_as_the_noise_is_for(monkeypatch):
    """The tables of a log and of the log without one job differ by the stated sensitivities."""
    tables = []

    def on(self, counts, sensitivity, **options):
        tables.append((np.asarray(counts, float), sensitivity))
        return np.asarray(counts, float) + 1

    monkeypatch.setattr(_Noise, "on", on)
    monkeypatch.setattr("onega.models.private.HoursOfWeek", lambda _: _flat())
    log = example_log()
    Private.fit(log, rng=1)
    for row in (0, 7, 1500, len(log) - 1):
        kept = np.arange(len(log)) != row
        before = tables[:4]
        tables[4:] = []
        Private.fit(log.select(kept), rng=1)
        for (a, sensitivity), (b, _) in zip(before, tables[4:], strict=True):
            assert np.abs(a - b).sum() <= sensitivity


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
            assert {"privacy_repeated", "wait_easy_ratio", "dispersion_week_real"} <= set(found)
    assert "--private takes the log itself" in " ".join(capsys.readouterr().err.split())
