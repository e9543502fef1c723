"""A real Slurm on virtual nodes: the pilot, and what is left after every kind of end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import onega
from onega.comparison.virtual_tools import MESSAGE, have_slurm

# On an accelerated clock a starved machine loses jobs (seen: 139 of 200 left beside other tests):
# these want a core of their own, which the parallel default run can't promise.
pytestmark = [
    pytest.mark.skipif(not have_slurm(), reason=MESSAGE),
    pytest.mark.verification,
]


def stream(n, procs, seed=0, longest=60):
    rng = np.random.default_rng(seed)
    runtime = rng.integers(10, longest, n).astype(float)
    width = 2 ** rng.integers(0, int(np.log2(procs)), n)
    gap = (runtime * width).mean() / procs / 0.85
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(gap, n)).round(),
            "runtime": runtime,
            "procs": width,
            "estimate": runtime * rng.choice([1.0, 2.0, 5.0], n),
        },
        onega.Meta(procs=procs),
    )


def processes_of(folder):
    """Processes that are started with, or hold open, anything in a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        place = Path("/proc") / pid
        try:
            words = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            links = [os.readlink(place / "fd" / fd) for fd in os.listdir(place / "fd")]
        except OSError:
            continue
        if int(pid) != os.getpid() and (
            str(folder).encode() in words or any(str(folder) in x for x in links)
        ):
            found.append((pid, words[:80]))
    return found


def files_elsewhere():
    """Files that Slurm, munge and the clock might leave in places that are not ours."""
    places = ("/dev/shm", "/tmp", "/run", "/run/munge", "/var/log", "/var/spool", "/var/lib")
    words = ("slurm", "munge", "faketime")
    return {
        path
        for place in map(Path, places)
        if place.is_dir()
        for path in place.iterdir()
        if any(word in path.name for word in words)
    }


def wait_until(ready, seconds):
    deadline = time.monotonic() + seconds
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.1)
    return ready()


def test_pilot_of_two_hundred_jobs_twice(tmp_path):
    jobs, before = stream(200, 64, longest=40), files_elsewhere()
    place = tmp_path / "v"
    result = onega.virtual(jobs, place, procs=64, speed=50, repeat=2)
    assert result.summary()["P_undefined"] is None
    assert processes_of(place) == []
    assert files_elsewhere() == before
    figures = result.summary()
    assert (figures["jobs"], figures["runs"]) == (200, 2)
    assert result.ideal > 0
    for run in result.runs:
        assert len(run.log) == 200
        assert run.log.column("wait").min() >= 0
        # Slurm never had more than 64 nodes at work, and every job ran about as long as asked.
        schedule = onega.Schedule.observed(run.log, 64)
        assert schedule.system["busy"].max() <= 64
        over = run.log.column("runtime") - result.stream.column("runtime")
        assert np.median(np.abs(over)) < 5
        assert run.quality()["by_backfill"] > 0
    read = [onega.read(place / f"run-{k}.swf") for k in (1, 2)]
    assert onega.adequacy(*read).P == pytest.approx(result.ideal, rel=1e-3)
    report = json.loads((place / "report.json").read_text())
    assert report["P_ideal"] == result.ideal
    assert report["prefixes"][-1]["jobs"] == 200
    model = onega.simulate(result.stream, 64, "slurm")
    assert onega.adequacy(result.runs[0].log, model).defined


@pytest.fixture
def driver(tmp_path):
    """The command in the middle of a run of eight virtual processors."""
    jobs = stream(40, 8, longest=400)
    onega.write(jobs, tmp_path / "jobs.swf")
    place = tmp_path / "v"
    options = ["--procs", "8", "--speed", "20", "-o", str(place)]
    process = subprocess.Popen(
        [sys.executable, "-c", "from onega.cli import main; main()", "virtual",
         str(tmp_path / "jobs.swf"), *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    log = place / "run-1" / "slurmctld.log"

    def running():
        return process.poll() is not None or (log.is_file() and "Allocate" in log.read_text())

    assert wait_until(running, 60)
    assert process.poll() is None, process.stderr.read()
    yield process, place
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_ended_by_a_signal_it_takes_everything_down(driver, how, code):
    process, place = driver
    process.send_signal(how)
    process.wait(timeout=60)
    assert process.returncode == code
    assert wait_until(lambda: processes_of(place) == [], 5), processes_of(place)
    assert wait_until(lambda: not list(Path("/dev/shm").glob("*faketime*")), 15)


def test_killed_it_is_cleaned_up_after_and_the_next_run_starts_clean(driver):
    process, place = driver
    process.kill()
    process.wait()
    assert wait_until(lambda: processes_of(place) == [], 30), processes_of(place)
    assert wait_until(lambda: not list(Path("/dev/shm").glob("*faketime*")), 15)
    again = onega.virtual(stream(5, 4, longest=20), place, procs=4, speed=40)
    assert len(again.runs[0].log) == 5
    assert np.isnan(again.ideal)
    assert processes_of(place) == []


def test_a_dead_slurmctld_is_reported_in_one_line(driver):
    process, place = driver
    found = [pid for pid, words in processes_of(place) if words.startswith(b"/usr/sbin/slurmctld")]
    assert len(found) == 1
    os.kill(int(found[0]), signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "slurmctld ended in the middle of the run" in said
    assert said.count("\n") == 1
    assert wait_until(lambda: processes_of(place) == [], 5), processes_of(place)
