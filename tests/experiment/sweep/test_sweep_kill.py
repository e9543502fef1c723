"""``kill -9`` at any moment: what was finished is there, and the same command goes on."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

import onega
from experiment.sweeps import same, write_sweep
from onega.experiment.sweep.store import stored_keys

BODY = """
[vary]
policy = ["fcfs", "easy", "spf+easy", "lpf"]
procs = {from = 8, to = 24, step = 2}
seed = [1, 2, 3]
"""
RUNS = 4 * 9 * 3
FILES = ["lock", "runs.sqlite", "sweep.json"]


def start(folder, *more):
    """The driver as a process of its own, at work."""
    words = ["sweep", str(folder / "sweep.toml"), "-o", str(folder / "out"), "--json", *more]
    code = "import sys; from onega.cli.app import main; main(sys.argv[1:])"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def stored(folder):
    return len(stored_keys(folder / "out"))


def kill_at_random(folder, chance, *more):
    """Kill the driver when it has stored a random number of runs more; returns whether it lived."""
    driver = start(folder, *more)
    goal = stored(folder) + chance.randint(0, 12)
    deadline = time.monotonic() + 240
    while driver.poll() is None and stored(folder) < goal:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(chance.random() * 0.01)  # in the middle of whatever it does then
    driver.kill()
    _, said = driver.communicate()
    assert driver.returncode in (-9, 0), said
    return driver.returncode == -9


def check(folder, undisturbed, kills, *more):
    chance = random.Random(kills)
    killed = sum(kill_at_random(folder, chance, *more) for _ in range(kills))
    before = onega.Sweep.load(folder / "out").to_polars()
    assert before.height <= RUNS
    expected = undisturbed.to_polars()
    assert same(before, expected.filter(expected["run"].is_in(before["run"].implode())))
    again = onega.sweep(folder / "sweep.toml", folder / "out")
    assert again.problems == ()
    assert same(again.to_polars(), expected)
    assert sorted(path.name for path in (folder / "out").iterdir()) == FILES
    return killed


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calm")
    path = write_sweep(folder, BODY, jobs=3000)
    return onega.sweep(path, folder / "out")


def test_a_driver_killed_three_times(undisturbed, tmp_path):
    write_sweep(tmp_path, BODY, jobs=3000)
    assert check(tmp_path, undisturbed, 3) == 3


@pytest.mark.verification
def test_drivers_killed_fifty_times(undisturbed, tmp_path):
    """Five sweeps of ten kills each: after ten, nothing would be left to do."""
    killed = 0
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_sweep(folder, BODY, jobs=3000)
        killed += check(folder, undisturbed, 10)
    assert killed >= 40


@pytest.mark.verification
def test_a_driver_of_processes_killed_five_times(undisturbed, tmp_path):
    write_sweep(tmp_path, BODY, jobs=3000)
    assert check(tmp_path, undisturbed, 5, "--workers", "2") >= 3
