"""Sweeps: the table is what `simulate` says, run by run, whoever runs it and however it stops."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import onega
from experiment.sweeps import MACHINE, same, small_log, write_sweep
from onega.core.errors import ExperimentError, FileError, OnegaWarning
from onega.experiment.sweep import store as sweep_store
from onega.experiment.sweep.database import Database
from onega.experiment.sweep.prepare import estimate, prepare
from onega.experiment.sweep.run import Sources, perform
from onega.experiment.sweep.sweep import Tally
from onega.experiment.workers.workers import Threads

GRID = {"vary": {"policy": ["fcfs", "easy", "spf+easy"], "procs": [8, 16, 20]}}


@pytest.fixture(scope="module")
def log():
    return small_log()


@pytest.fixture(scope="module")
def done(log, tmp_path_factory):
    """A sweep that nothing disturbed."""
    return onega.sweep(GRID, tmp_path_factory.mktemp("done") / "out", workload=log)


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def test_the_table_is_what_simulate_says(done, log):
    table = done.to_polars()
    assert table["run"].to_list() == list(range(9))
    for row in table.to_dicts():
        expected = onega.simulate(log, row["procs"], row["policy"]).summary()
        expected |= {"policy": row["policy"]}
        assert {name: row[name] for name in expected} == expected
        assert row["error"] is None
    assert table.columns[:3] == ["run", "policy", "procs"]
    assert table.schema["jobs"] == pl.Int64
    assert table.schema["energy"] == pl.Float64


def test_one_thread_or_many(done, log, tmp_path):
    alone = onega.sweep(GRID, tmp_path / "out", workload=log, workers=Threads(1))
    assert same(alone.to_polars(), done.to_polars())


def test_processes_give_the_same_bits(done, log, tmp_path):
    found = onega.sweep(GRID, tmp_path / "out", workload=log, workers=onega.Processes(2))
    assert same(found.to_polars(), done.to_polars())
    workers = found.timings()["worker"].str.split(":").list.get(1).unique().to_list()
    assert str(os.getpid()) not in workers


def test_it_is_read_lazily_and_again_from_the_folder(done):
    again = onega.Sweep.load(done.folder)
    assert isinstance(again.lazy(), pl.LazyFrame)
    assert same(again.to_polars(), done.to_polars())
    best = again.lazy().filter(pl.col("procs") == 16).sort("mean_wait").head(1).collect()
    assert best.height == 1
    assert len(again) == 9
    assert again.varied == ("policy", "procs")
    assert "mean_wait" in again.measures
    assert "error" not in again.measures
    assert repr(again) == f"<Sweep: 9 runs over policy, procs in {done.folder}>"


def test_summary_and_timings(done):
    numbers = done.summary()
    assert (numbers["runs"], numbers["done"], numbers["missing"]) == (9, 9, 0)
    assert numbers["complete"]
    assert not numbers["running"]
    timings = done.timings()
    assert timings["run"].to_list() == list(range(9))
    assert (timings["seconds"] > 0).all()


def test_the_same_call_runs_nothing_again(done, log):
    before = files(done.folder)
    told = []
    onega.sweep(GRID, done.folder, workload=log, on_run=told.append)
    assert files(done.folder) == before
    assert told == [Tally(9, 9, seconds=told[0].seconds)]


def test_missing_runs_are_made_again(done, log, tmp_path):
    folder = tmp_path / "out"
    onega.sweep(GRID, folder, workload=log)
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as db, db:
        db.execute("DELETE FROM runs WHERE rowid % 2 = 0")
    half = onega.Sweep.load(folder)
    assert half.to_polars().height == 5
    assert half.summary()["missing"] == 4
    told = []
    again = onega.sweep(GRID, folder, workload=log, on_run=told.append)
    assert told[-1].before == 5
    assert told[-1].done == 4
    assert same(again.to_polars(), done.to_polars())


def test_progress_tells_rate_and_time_left(log, tmp_path):
    told = []
    onega.sweep(GRID, tmp_path / "out", workload=log, on_run=told.append)
    assert [tally.done for tally in told] == list(range(10))
    assert told[0].left is None
    assert told[-1].left == 0
    assert told[-1].rate == pytest.approx(9 / told[-1].seconds)


def test_runs_that_cannot_be_made_are_rows_with_a_reason(log, tmp_path):
    spec = {"vary": {"procs": [4, 16]}}
    found = onega.sweep(spec, tmp_path / "out", workload=log)
    narrow, wide = found.to_polars().to_dicts()
    assert "wider than the machine of 4 processors" in narrow["error"]
    assert narrow["mean_wait"] is None
    assert wide["error"] is None
    assert found.summary()["failed"] == 1
    assert found.problems == ()


def test_a_sweep_of_which_no_run_can_be_made_has_a_table_too(log, tmp_path):
    found = onega.sweep({"vary": {"procs": [3, 4]}}, tmp_path / "out", workload=log)
    assert found.to_polars()["error"].null_count() == 0
    assert found.summary()["failed"] == 2


def test_twins_are_run_once_and_shown_twice(log, tmp_path):
    spec = {"cases": [{"name": "a", "policy": "easy"}, {"name": "b", "policy": "easy"}]}
    told = []
    found = onega.sweep(spec, tmp_path / "out", workload=log, on_run=told.append)
    assert len(sweep_store.stored_keys(tmp_path / "out")) == 1
    assert told[-1] == Tally(1, 0, 1, seconds=told[-1].seconds)
    table = found.to_polars()
    assert table["case"].to_list() == ["a", "b"]
    assert table["mean_wait"].n_unique() == 1
    assert found.summary()["complete"]


def test_cases_rates_power_and_measures(log, tmp_path):
    spec = {
        "measures": ["p99(wait)", "share(wait>10m)"],
        "fixed": {
            "policy": "easy",
            "cluster": {"rate_control": {"kind": "workload", "rates": [1.0, 2.0]}},
            "cluster.power.busy": [1.0, 3.0],
        },
        "cases": [
            {"cluster.rate_control.k_low": k, "cluster.rate_control.k_high": k} for k in (0, 5000)
        ],
        "vary": {"cluster.power.idle": [0.1, 0.5]},
    }
    found = onega.sweep(spec, tmp_path / "out", workload=log).to_polars()
    for row in found.to_dicts():
        k = row["cluster.rate_control.k_low"]
        machine = onega.Cluster(
            MACHINE,
            onega.RateControl("workload", rates=(1.0, 2.0), k_low=k, k_high=k),
            onega.Power((1.0, 3.0), row["cluster.power.idle"]),
        )
        schedule = onega.simulate(log, machine, "easy")
        assert row["energy"] == schedule.summary()["energy"]
        assert row["p99_wait"] == schedule.quantiles("wait", (0.99,))[0.99]
        assert row["share_wait_over_10m"] == (schedule.jobs["wait"] > 600).mean()


def test_loads_of_a_log(log, tmp_path):
    spec = {"vary": {"procs": [16, 32]}, "cases": [{"load": 0.5}, {"load_factor": 2}]}
    table = onega.sweep(spec, tmp_path / "out", workload=log).to_polars()
    area = float((log.column("procs") * log.column("runtime")).sum())
    for row in table.to_dicts():
        factor = 2
        if row["load"] is not None:
            factor = row["load"] / (area / (row["procs"] * log.span))
        expected = onega.simulate(log.scale_load(factor), row["procs"])
        assert row["mean_wait"] == expected.summary()["mean_wait"]


def test_first_jobs_seeds_and_resamples(tmp_path):
    weeks = small_log(3000)  # two days: too short for weeks, long enough for users
    long = weeks.scale_load(0.1)
    spec = {
        "fixed": {"resample": "users"},
        "vary": {"seed": [1, 2], "load_factor": [1.0, 1.2], "policy": ["fcfs", "easy"]},
    }
    table = onega.sweep(spec, tmp_path / "a", workload=long).to_polars()
    for row in table.to_dicts():
        jobs = onega.resample(long, "users", rng=row["seed"], load=row["load_factor"])
        assert (
            row["mean_wait"] == onega.simulate(jobs, MACHINE, row["policy"]).summary()["mean_wait"]
        )
    assert table["mean_wait"].n_unique() > 4
    heads = onega.sweep({"vary": {"jobs": [50, 100]}}, tmp_path / "b", workload=weeks).to_polars()
    waits = [onega.simulate(weeks.head(n), MACHINE).summary()["mean_wait"] for n in (50, 100)]
    assert heads["mean_wait"].to_list() == waits


def test_models_are_sampled_by_seed_and_load(tmp_path):
    model = onega.models.Lublin(machine=32)
    model.save(tmp_path / "lublin.json")
    path = tmp_path / "sweep.toml"
    path.write_text(
        '[fixed]\nmodel = "lublin.json"\njobs = 100\n'
        '[vary]\nseed = [1, 2]\npolicy = ["fcfs", "easy"]\n[[cases]]\nload = 0.7\nprocs = 64\n'
        "[[cases]]\nload_factor = 1.5\n[[cases]]\nload_factor = 1\n"
    )
    table = onega.sweep(path, tmp_path / "out").to_polars()
    own = {seed: model.sample(100, rng=seed) for seed in (1, 2)}
    for row in table.to_dicts():
        seed, sample = row["seed"], own[row["seed"]]
        if row["load"] is not None:
            sample = model.sample(100, rng=seed, load=0.7, cluster=64)
        elif row["load_factor"] == 1.5:
            area = float((sample.column("procs") * sample.column("runtime")).sum())
            sample = model.sample(100, rng=seed, load=area / sample.span / 32 * 1.5)
        expected = onega.simulate(sample, row["procs"] or 32, row["policy"]).summary()
        assert row["mean_wait"] == expected["mean_wait"]


def test_random_rates_are_drawn_by_the_seed(log, tmp_path):
    control = {"kind": "random", "rates": [1.0, 2.0], "p_low": 0.3, "p_high": 0.4}
    spec = {"fixed": {"cluster": {"rate_control": control}}, "vary": {"seed": [3, 4]}}
    table = onega.sweep(spec, tmp_path / "out", workload=log).to_polars()
    rates = onega.RateControl(**control)
    waits = [
        onega.simulate(log, MACHINE, rates=rates, rng=seed).summary()["mean_wait"]
        for seed in (3, 4)
    ]
    assert table["mean_wait"].to_list() == waits
    assert waits[0] != waits[1]


def test_several_logs_and_machines(tmp_path):
    for name, jobs in (("a", 50), ("b", 80)):
        onega.write(small_log(jobs), tmp_path / f"{name}.swf")
    for procs in (16, 32):
        (tmp_path / f"{procs}.toml").write_text(f"procs = {procs}\n")
    path = tmp_path / "sweep.toml"
    path.write_text(
        '[vary]\ntrace = ["a.swf", "b.swf"]\ncluster = ["16.toml", "32.toml"]\npolicy = ["easy"]\n'
    )
    for row in onega.sweep(path, tmp_path / "out").to_polars().to_dicts():
        log = onega.read(tmp_path / row["trace"])
        expected = onega.simulate(log, int(row["cluster"].split(".")[0]), "easy").summary()
        assert row["mean_wait"] == expected["mean_wait"]
        assert (row["jobs"], row["procs"]) == (len(log), expected["procs"])


def test_a_finished_sweep_starts_nobody(done, log):
    class Nobody:
        def run(self, function, items, shared):
            raise AssertionError("there is nothing to do")

    assert onega.sweep(GRID, done.folder, workload=log, workers=Nobody()).summary()["complete"]


def test_files_of_logs_machines_and_maps(tmp_path):
    (tmp_path / "machine.toml").write_text("procs = 16\n[power]\nbusy = 2.0\n")
    (tmp_path / "jobs.csv").write_text("when,long,wide\n0,10,4\n5,20,8\n6,30,16\n")
    path = tmp_path / "sweep.toml"
    path.write_text(
        '[read]\ncolumns = {submit = "when", runtime = "long", procs = "wide"}\n'
        '[fixed]\ntrace = "jobs.csv"\ncluster = "machine.toml"\n'
        "[vary]\ncluster.power.idle = [0.0, 1.0]\n"
    )
    table = onega.sweep(path, tmp_path / "out").to_polars()
    log = onega.Workload({"submit": [0, 5, 6], "runtime": [10, 20, 30], "procs": [4, 8, 16]})
    for row in table.to_dicts():
        machine = onega.Cluster(16, power=onega.Power(2.0, row["cluster.power.idle"]))
        assert row["energy"] == onega.simulate(log, machine).summary()["energy"]


def test_a_machine_of_nodes_has_its_own_size(log):
    sources = prepare({"vary": {"seed": [1]}}, log).sources
    sources.machines["nodes.toml"] = {"nodes": [{"count": 4, "procs": 8}]}
    assert sources.cluster({"cluster": "nodes.toml"}).procs == 32  # the log's has 16
    assert sources.cluster({}).procs == 16


def test_events_dependencies_and_patience_reach_the_simulator(tmp_path, monkeypatch):
    """Only that they do: the machine that knows them takes long to compile, and has its tests."""
    import importlib

    module = importlib.import_module("onega.simulation.simulate")
    original, reached = module.simulate, []

    def note(workload, cluster, *, events, demands, dependencies, patience, **more):
        reached.append((len(events), demands.columns, dependencies, patience, more["rng"]))
        return original(workload, cluster, **more)

    monkeypatch.setattr(module, "simulate", note)
    spec = write_sweep(
        tmp_path,
        'events = "events.csv"\ndemands = "demands.csv"\ndependencies = true\n[vary]\n'
        'seed = [1, 2]\npatience = ["exponential(mean=5m)", "exponential(mean=1h)"]\n',
    )
    (tmp_path / "events.csv").write_text("time,event,job\n100,cancel,5\n200,cancel,9\n")
    (tmp_path / "demands.csv").write_text("job,gpus\n1,2\n")
    assert onega.sweep(spec, tmp_path / "out").to_polars()["error"].null_count() == 4
    laws = ("exponential(mean=1h)", "exponential(mean=5m)")
    expected = [(2, ["job", "gpus"], True, law, seed) for law in laws for seed in (1, 2)]
    assert sorted(reached, key=lambda one: one[3:]) == expected


def test_moldable_jobs_can_be_swept_by_their_law(tmp_path, monkeypatch):
    """Only that the law reaches the simulator, as above."""
    import importlib

    module = importlib.import_module("onega.simulation.simulate")
    original, reached = module.simulate, []

    def note(workload, cluster, *, moldable, **more):
        reached.append(moldable)
        return original(workload, cluster, **more)

    monkeypatch.setattr(module, "simulate", note)
    spec = write_sweep(tmp_path, '[vary]\nmoldable = ["amdahl(0.05)", "downey(16, 1)"]\n')
    assert onega.sweep(spec, tmp_path / "out").to_polars()["error"].null_count() == 2
    laws = (onega.AmdahlSpeedup(0.05), onega.DowneySpeedup(16, 1))
    assert sorted(reached, key=repr) == list(laws)
    for wrong in ('"amdahl(2)"', '"gustafson(0.1)"', "0.05"):
        with pytest.raises(onega.ExperimentError, match="moldable"):
            onega.sweep(write_sweep(tmp_path, f"moldable = {wrong}\n"), tmp_path / "no")


def test_workloads_travel_packed_and_arrive_whole(log):
    import pickle

    sources = Sources({"": log})
    packed = pickle.dumps(sources)
    assert len(packed) < 0.5 * len(pickle.dumps(log))
    again = pickle.loads(packed)
    assert again.jobs[""] == log
    assert again.jobs[""].meta == log.meta
    run = next(iter(prepare(GRID, log).design))
    assert perform(run, again).measures == perform(run, sources).measures


def test_a_workload_is_made_once_for_the_runs_that_share_it(tmp_path, monkeypatch):
    made = []
    kind = onega.models.Lublin
    original = kind.sample
    monkeypatch.setattr(
        kind, "sample", lambda self, n, **more: made.append(more) or original(self, n, **more)
    )
    spec = {
        "fixed": {"jobs": 50},
        "vary": {"policy": ["fcfs", "easy", "spf", "lpf"], "seed": [1, 2, 3]},
    }
    onega.sweep(spec, tmp_path / "out", workload=kind(machine=16), workers=Threads(3))
    assert sorted(more["rng"] for more in made) == [1, 2, 3]


def test_a_workload_that_cannot_be_made_is_a_reason_for_each_run(tmp_path):
    spec = {"fixed": {"jobs": 50, "load": 0.5, "load_factor": 2.0}, "vary": {"seed": [1, 2]}}
    found = onega.sweep(spec, tmp_path / "out", workload=onega.models.Lublin(machine=16))
    reason = "a run has a load or a load_factor, not both"
    assert found.to_polars()["error"].to_list() == [reason] * 2


def test_a_changed_spec_is_noticed_and_refused(log, tmp_path):
    folder = tmp_path / "out"
    onega.sweep(GRID, folder, workload=log)
    before = files(folder)
    other = {"vary": {**GRID["vary"], "procs": [16, 20, 24]}}
    with pytest.raises(ExperimentError, match=r"vary.procs was \[8,16,20\], now is \[16,20,24\]"):
        onega.sweep(other, folder, workload=log)
    with pytest.raises(ExperimentError, match="the workload holds something else"):
        onega.sweep(GRID, folder, workload=small_log(201))
    with pytest.raises(ExperimentError, match=r"measures wasn't there, now is \[\"p99"):
        onega.sweep({**GRID, "measures": ["p99(wait)"]}, folder, workload=log)
    assert files(folder) == before


def test_a_replaced_spec_keeps_the_runs_that_both_have(log, tmp_path):
    folder = tmp_path / "out"
    onega.sweep(GRID, folder, workload=log)
    told = []
    other = {"vary": {**GRID["vary"], "procs": [16, 20, 24]}}
    found = onega.sweep(other, folder, workload=log, replace_spec=True, on_run=told.append)
    assert told[-1].before == 6
    assert told[-1].done == 3
    fresh = onega.sweep(other, tmp_path / "fresh", workload=log)
    assert same(found.to_polars(), fresh.to_polars())
    back = onega.sweep(GRID, folder, workload=log, replace_spec=True)
    assert back.to_polars()["procs"].unique().to_list() == [8, 16, 20]


def test_another_version_of_onega_is_another_sweep(log, tmp_path):
    folder = tmp_path / "out"
    onega.sweep(GRID, folder, workload=log)
    manifest = folder / "sweep.json"
    manifest.write_text(manifest.read_text().replace(onega.__version__, "0.0.1"))
    with pytest.raises(ExperimentError, match=r"made by onega 0.0.1, this is"):
        onega.sweep(GRID, folder, workload=log)


def test_folders_of_others_are_left_alone(log, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(ExperimentError, match=r"isn't empty and isn't a sweep.*thesis.tex"):
        onega.sweep(GRID, folder, workload=log)
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ExperimentError, match="is a file; a sweep needs a folder"):
        onega.sweep(GRID, file, workload=log)
    for folder, said in ((tmp_path, "isn't a sweep"), (file, "is a file, not the folder")):
        with pytest.raises(ExperimentError, match=said):
            onega.Sweep.load(folder)
    for text in ("{", '{"a": 1}', "[]"):
        place = tmp_path / "odd"
        place.mkdir(exist_ok=True)
        (place / "sweep.json").write_text(text)
        with pytest.raises(ExperimentError, match="not a sweep's manifest"):
            onega.Sweep.load(place)


def test_wrong_specs_write_nothing(log, tmp_path):
    for spec in ({"vary": {"procs": []}}, {"vary": {"procz": [1]}}):
        with pytest.raises(ExperimentError):
            onega.sweep(spec, tmp_path / "out", workload=log)
    with pytest.raises(ExperimentError, match="there are no jobs"):
        onega.sweep(GRID, tmp_path / "out")
    with pytest.raises(ExperimentError, match="given twice"):
        onega.sweep(write_sweep(tmp_path, "[vary]\nseed = [1]"), tmp_path / "out", workload=log)
    with pytest.raises(
        ExperimentError, match=r"rate_control\.kind: unknown 'wind'; accepted: none"
    ):
        onega.sweep(
            {"vary": {"cluster.rate_control.kind": ["wind"]}}, tmp_path / "out", workload=log
        )
    with pytest.raises(ExperimentError, match="doesn't say how many processors"):
        onega.sweep({"vary": {"seed": [1]}}, tmp_path / "out", workload=onega.Workload(log.table))
    assert not (tmp_path / "out").exists()


def test_two_drivers_do_not_share_a_folder(log, tmp_path):
    folder = tmp_path / "out"
    plan = prepare(GRID, log)
    with sweep_store.Store.opened(folder, plan.design, replace_spec=False):
        assert onega.Sweep.load(folder).summary()["running"]
        with pytest.raises(ExperimentError, match=f"another process \\({os.getpid()}\\) is sweep"):
            onega.sweep(GRID, folder, workload=log)
    assert onega.sweep(GRID, folder, workload=log).summary()["complete"]


def fill(monkeypatch, is_full):
    """Make the store refuse runs while ``is_full(calls)`` says so."""
    insert, calls = Database.insert, []

    def refuse(self, rows):
        calls.append(rows)
        if is_full(len(calls)):
            raise FileError("can't be written: database or disk is full", path=self.path)
        insert(self, rows)

    monkeypatch.setattr(Database, "insert", refuse)


def test_a_full_disk_is_reported_and_the_rest_goes_on(log, done, tmp_path, monkeypatch):
    """No room for some time: what is finished waits, and is stored when there is room again."""
    fill(monkeypatch, lambda calls: 2 <= calls <= 6)
    with pytest.warns(OnegaWarning, match="can't be stored.*disk is full"):
        found = onega.sweep(GRID, tmp_path / "out", workload=log)
    assert found.problems == ()
    assert same(found.to_polars(), done.to_polars())


def test_a_disk_that_stays_full_leaves_runs_for_the_next_time(log, done, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        fill(patched, lambda calls: calls > 3)
        with pytest.warns(OnegaWarning, match="can't be stored"):
            found = onega.sweep(GRID, tmp_path / "out", workload=log)
    assert len(found.problems) == 6
    assert "disk is full" in found.problems[0]
    assert found.summary()["missing"] == 6
    again = onega.sweep(GRID, tmp_path / "out", workload=log)
    assert again.problems == ()
    assert same(again.to_polars(), done.to_polars())


def test_what_is_nobodys_fault_is_not_stored(log, tmp_path, monkeypatch):
    """Out of memory is no property of a run: the next call tries it again."""
    from onega.experiment.sweep import run as sweep_run

    measure = sweep_run.measure

    def hungry(run, sources):
        if run.number == 4:
            raise MemoryError
        return measure(run, sources)

    with monkeypatch.context() as patched:
        patched.setattr(sweep_run, "measure", hungry)
        found = onega.sweep(GRID, tmp_path / "out", workload=log)
    assert found.problems == ("run 4: MemoryError",)
    assert found.summary()["missing"] == 1
    assert onega.sweep(GRID, tmp_path / "out", workload=log).summary()["complete"]


def test_stored_runs_say_themselves_what_they_are(done):
    row = next(sweep_store.stored_rows(done.folder))
    told = json.loads(row.content)
    assert len(row.key) == 32
    assert set(told["parameters"]) == {"policy", "procs"}
    assert told["measures"]["mean_wait"] > 0


def test_an_estimate_counts_runs_and_measures_pilots(log, done):
    plan = prepare(GRID, log)
    found = estimate(plan)
    assert (found.runs, found.missing) == (9, 9)
    assert 0 < found.seconds_per_run < 10
    assert found.core_seconds == 9 * found.seconds_per_run
    stored = sweep_store.stored_keys(done.folder)
    assert estimate(plan, finished=list(stored)[:5]).missing == 4


def test_a_pilot_is_a_run_that_can_be_made(log, monkeypatch):
    from onega.experiment.sweep import prepare as sweep_prepare

    asked = []
    monkeypatch.setattr(
        sweep_prepare, "perform", lambda run, sources: asked.append(run) or perform(run, sources)
    )
    estimate(prepare({"vary": {"procs": [4, 16]}}, log))
    assert [run.parameters["procs"] for run in asked] == [4, 16, 16]


def test_nothing_heavy_is_imported_to_look_at_a_sweep(done):
    code = f"""
import json, sys, onega
onega.Sweep.load({str(done.folder)!r}).to_polars()
heavy = ("numba", "plotly", "dask", "distributed")
print(json.dumps([name for name in heavy if name in sys.modules]))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []


def test_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    path = write_sweep(tmp_path, "[vary]\nseed = [1]")
    monkeypatch.chdir(Path("/"))
    assert onega.sweep(path, tmp_path / "out").summary()["complete"]
