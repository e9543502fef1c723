"""What every workload model must do: `check_model(family)` runs the whole suite over one."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from onega.core.errors import ModelError
from onega.core.machine.cluster import Cluster
from onega.core.workload.distances import ks_distance
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.models import from_json, load
from onega.models.published.lublin import Lublin

MACHINE = 64


def example_log(n=3000, *, rng=1, users=True, estimates=True):
    """A log with runs of one user's jobs, estimates in round numbers, and a daily cycle."""
    made = Lublin().sample(n, rng=rng, cluster=MACHINE, load=0.7)
    random = np.random.default_rng(rng)
    repeat = np.concatenate(([False], random.random(n - 1) < 0.4))
    source = np.maximum.accumulate(np.where(repeat, 0, np.arange(n)))
    who = random.integers(1, 12, n)[source]
    procs = made.column("procs")[source]
    runtime = np.maximum(np.rint(made.column("runtime")[source] * random.uniform(0.5, 1.5, n)), 1)
    table = {"submit": made.column("submit"), "runtime": runtime, "procs": procs}
    if users:
        table["user"] = who
    if estimates:
        table["estimate"] = np.ceil(runtime * (1 + random.exponential(1.5, n)) / 300) * 300
    return Workload(table, Meta(source="example", epoch=978307200.0, procs=MACHINE))


def laws(workload):
    return {
        "procs": workload.column("procs"),
        "runtime": workload.column("runtime"),
        "gap": np.diff(workload.column("submit")),
    }


def check_sample(model, n, drawn):
    """n jobs that the simulator takes as they are."""
    assert len(drawn) == n
    table = drawn.table
    for name in ("submit", "runtime", "procs"):
        assert table[name].null_count() == 0
        assert np.all(np.isfinite(table[name].to_numpy()))
    assert table["submit"].is_sorted()
    assert table["submit"].min() >= 0
    assert 1 <= table["procs"].min() <= table["procs"].max() <= drawn.meta.procs
    assert table["runtime"].min() >= 1
    assert np.all(table["runtime"].to_numpy() % 1 == 0)
    assert (table["estimate"].null_count() == 0) == (model.estimates is not None)
    if model.estimates is not None:
        assert table["estimate"].min() >= 1
    assert drawn.meta.source == model.KIND
    assert any("rng=" in line for line in drawn.meta.provenance)


def check_reproducible(model):
    first, again, other = (model.sample(500, rng=seed) for seed in (3, 3, 4))
    assert first == again
    assert not first.table.equals(other.table)


def check_json(model, folder):
    path = folder / f"{model.KIND}.json"
    model.save(path)
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    assert data["onega_model"] == model.KIND
    assert data["version"] == 1
    loaded = load(path)
    assert type(loaded) is type(model)
    assert loaded == model
    assert loaded.to_json() == text
    assert loaded.sample(200, rng=9) == model.sample(200, rng=9)
    data["version"] = 99
    with pytest.raises(ModelError, match="version 99"):
        from_json(json.dumps(data))
    data["version"] = 1
    data["nonsense"] = 1
    with pytest.raises(ModelError, match="nonsense"):
        from_json(json.dumps(data))


def check_refusals(family, log):
    """What can't be fitted is refused with a reason."""
    with pytest.raises(ModelError, match="at least 50 jobs"):
        family.fit(log.head(10))
    constant = log.with_columns(pl.lit(60.0).alias("runtime"), note="constant")
    with pytest.raises(ModelError, match="all 3000 jobs run 60 s"):
        family.fit(constant)
    at_once = log.with_columns(pl.lit(0.0).alias("submit"), note="at once")
    with pytest.raises(ModelError, match="one instant"):
        family.fit(at_once)
    with pytest.raises(ModelError, match="no option 'colour'"):
        family.fit(log, colour="red")
    with pytest.raises(ModelError, match="no arrivals 'possion'; did you mean 'poisson'"):
        family.fit(log, arrivals="possion")
    with pytest.raises(ModelError, match="no cycle"):
        family.fit(log, cycle="moon")
    with pytest.raises(ModelError, match="no estimates"):
        family.fit(log, estimates="guess")
    bare = log.with_columns(pl.lit(None, dtype=pl.Float64).alias("estimate"), note="bare")
    with pytest.raises(ModelError, match="50 jobs with a run time and an estimate"):
        family.fit(bare, estimates="beta")


def check_bad_samples(model):
    for n in (0, -1, 2.5, True):
        with pytest.raises(ModelError, match="n must be"):
            model.sample(n)
    with pytest.raises(ModelError, match="load must be"):
        model.sample(10, load=0)
    with pytest.raises(ModelError, match="machine must be"):
        model.sample(10, cluster=0)
    with pytest.raises(ValueError, match="rng must be"):
        model.sample(10, rng="seed")


def check_load(model, error=1e-3):
    """The load asked for is the load given: the last job comes when it should, to a second."""
    drawn = model.sample(2000, rng=5, load=0.6, cluster=MACHINE)
    area = float(drawn.column("procs").astype(float) @ drawn.column("runtime"))
    assert area / (MACHINE * drawn.span) == pytest.approx(0.6, rel=error)


def check_small_machine(model):
    assert model.sample(50, rng=5, cluster=Cluster(procs=8)) == model.sample(50, rng=5, cluster=8)
    drawn = model.sample(500, rng=5, cluster=8)
    assert drawn.meta.procs == 8
    assert drawn.column("procs").max() <= 8


def check_refit(family, model, tolerance, **options):
    """A model fitted to a sample of itself draws the same laws.

    Two samples of 20 000 independent jobs differ by less than 0.02 in KS with probability
    1 − 7·10⁻⁴; jobs that remember the last one, and the error of the second fit, cost the rest.
    """
    first = model.sample(20_000, rng=21)
    again = family.fit(first, rng=2, **options)
    second = again.sample(20_000, rng=22)
    for name, values in laws(first).items():
        assert ks_distance(values, laws(second)[name]) < tolerance, name
    assert again.machine == model.machine
    area = [float(w.column("procs").astype(float) @ w.column("runtime")) for w in (first, second)]
    assert area[1] / area[0] == pytest.approx(1, abs=6 * tolerance)


def check_model(family, log, folder, *, tolerance=0.05, **options):
    """Run the whole suite."""
    model = family.fit(log, rng=0, **options)
    assert "3000 jobs of example" in model.learnt
    check_sample(model, 700, model.sample(700, rng=1))
    check_sample(model, 1, model.sample(1, rng=1))
    check_reproducible(model)
    check_json(model, folder)
    check_refusals(family, log)
    check_bad_samples(model)
    check_load(model)
    check_small_machine(model)
    check_refit(family, model, tolerance, **options)
    assert model.summary()["model"] == model.KIND
    return model
