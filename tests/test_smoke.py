"""Does it hold together here? Every module imports, and one command of each kind answers.

Part of the whole suite, and run alone with the lowest and the newest versions of what Onega needs
(``make test-lowest``, ``make test-newest``): it uses each dependency, and compiles little.
"""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

import onega
from onega.cli import main

SWEEP = '[fixed]\ntrace = "log.swf"\n[vary]\npolicy = ["fcfs", "easy"]\nprocs = [64, 96]\n'


@pytest.fixture(scope="module", name="place")
def _place(tmp_path_factory):
    """A folder with a log, a model and a sweep."""
    folder = tmp_path_factory.mktemp("smoke")
    onega.write(onega.models.Lublin().sample(400, rng=1, cluster=64), folder / "log.swf")
    onega.models.Lublin().save(folder / "lublin.json")
    (folder / "sweep.toml").write_text(SWEEP)
    return folder


def test_every_module_imports():
    names = [one.name for one in pkgutil.walk_packages(onega.__path__, "onega.")]
    assert len(names) > 300
    for name in names:
        if name != "onega.experiment.workers.dask_plugin" or find_spec("distributed"):  # an extra
            import_module(name)


COMMANDS = {
    "describe": "describe log.swf --json",
    "figures": "describe log.swf --figures figures",
    "csv": "convert log.swf log.csv",
    "parquet": "convert log.csv log.parquet",
    "from parquet": "convert log.parquet log.swf.gz",
    "zstandard": "convert log.swf log.swf.zst",
    "simulate": "simulate log.swf --procs 64 --policy easy --json",
    "tables": "simulate log.swf --procs 64 --policy easy --out run --format parquet",
    "machine file": "cluster init machine.toml",
    "sweep": "sweep sweep.toml -o sweep --table sweep.csv --json",
    "status": "sweep --status sweep --table sweep.parquet",
    "fit": "fit markov log.swf -o markov.json",
    "neural": "fit neural log.swf -o neural.json",
    "sample": "sample lublin.json -n 100 -o more.swf",
    "compare": "compare log.swf more.swf --json",
    "stability": "stability log.swf --procs 640 --json",
    "limits": "limits --arrival-rate 1 --service-rate 1 --limit-rate 1 --widths 1:1 --json",
    "reproduce": "reproduce limits -o limits.html",
    "page": "serve --state state --get /",
    "answer of the page": "serve --state state --get /api/logs",
    "help": "simulate --help",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_one_command_of_each_kind(place, monkeypatch, capsys, name):
    monkeypatch.chdir(place)
    with pytest.raises(SystemExit) as stopped:
        main(COMMANDS[name].split())
    told = capsys.readouterr()
    assert stopped.value.code in (0, None), told.err
    if COMMANDS[name].endswith("--json"):
        assert isinstance(json.loads(told.out), dict)


def test_a_mistake_is_one_line(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    for words in (["simulate", "nowhere.swf"], ["simulate", "log.swf", "--prox"], ["nonsense"]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_users_are_grouped(place):
    """K-medoids and mixtures: the parts that scikit-learn and kmedoids do."""
    import numpy as np

    log = onega.models.Lublin().sample(600, rng=2, cluster=64)
    users = np.arange(600, dtype=np.int32) % 12
    named = onega.Workload(log.table.with_columns(user=users), log.meta)
    model = onega.models.MODELS["user-groups"].fit(named, rng=1)
    assert len(model.sample(50, rng=1)) == 50


def test_the_package_runs_as_a_module():
    asked = [sys.executable, "-m", "onega", "--version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith(f"onega {onega.__version__}")
