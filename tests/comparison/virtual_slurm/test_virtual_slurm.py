"""A real Slurm on virtual nodes: the pilot, and what is left after every kind of end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import onega
from onega.comparison.adequacy.events import EventLog
from onega.comparison.virtual_slurm.slurm import VirtualSlurm
from onega.comparison.virtual_slurm.tools import MESSAGE, have_slurm

pytestmark = pytest.mark.skipif(not have_slurm(), reason=MESSAGE)


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


def holds_open(process, folder):
    """Tell whether a process holds open anything in a folder; its files come and go meanwhile."""
    for link in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if str(folder) in os.readlink(link):
                return True
    return False


def processes_of(folder):
    """Processes that are started with, or hold open, anything in a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        place = Path("/proc") / pid
        try:
            words = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            ours = str(folder).encode() in words or holds_open(place, folder)
        except OSError:
            continue  # it has ended
        if ours and int(pid) != os.getpid():
            found.append((pid, words[:80]))
    return found


@pytest.fixture
def elsewhere(monkeypatch):
    """Paths outside of the folder that this test's machines make: the clock's memory, links.

    Only those: another laboratory may run on this machine, with files of its own.
    """
    made, ask = [], VirtualSlurm._ask

    def note(self, **request):
        if request["do"] == "unlink":
            made.extend(Path(path) for path in request["paths"])
        return ask(self, **request)

    monkeypatch.setattr(VirtualSlurm, "_ask", note)
    return made


def clock_of(place):
    """The shared memory of the clock that processes of a folder run on."""
    names = set()
    for pid, _ in processes_of(place):
        with contextlib.suppress(OSError):
            words = (Path("/proc") / pid / "environ").read_text(errors="replace").split("\0")
            told = [word for word in words if word.startswith("FAKETIME_SHARED=")]
            names |= {name.lstrip("/") for name in " ".join(told).partition("=")[2].split()}
    return {Path("/dev/shm", name) for one in names for name in (one, f"sem.{one}")}


def gone(paths):
    return not any(os.path.lexists(path) for path in paths)


def wait_until(ready, seconds):
    deadline = time.monotonic() + seconds
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.1)
    return ready()


def test_pilot_of_two_hundred_jobs_twice(tmp_path, elsewhere):
    jobs = stream(200, 64, longest=25)
    place = tmp_path / "v"
    result = onega.virtual(jobs, place, procs=64, speed=50, repeat=2)
    assert result.summary()["P_undefined"] is None
    assert processes_of(place) == []
    assert len(elsewhere) >= 4
    assert gone(elsewhere)
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
    # The manager was there before the first job came and went after the last one had ended.
    told = EventLog.read(place / "run-1-events")
    assert told.external["event"][0] == "begin"
    assert told.external["event"][-1] == "stop"
    assert told.external["time"][0] < 0 <= told.internal["time"][0]
    assert onega.adequacy(told.schedule(), result.runs[0].log).P < 1e-3
    read = [onega.read(place / f"run-{k}.swf") for k in (1, 2)]
    assert pytest.approx(result.ideal, rel=1e-3) == onega.adequacy(*read).P
    report = json.loads((place / "report.json").read_text())
    assert report["P_ideal"] == result.ideal
    assert report["prefixes"][-1]["jobs"] == 200
    assert 0 < result.overheads.beat.mean < 2
    assert 0 < result.overheads.cycle.mean < 5
    model = onega.simulate(result.stream, 64, "slurm")
    assert onega.adequacy(result.runs[0].log, model).defined


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_jumping_clock_takes_less_time_and_changes_nothing(tmp_path, elsewhere):
    """Forty jobs with an hour of nothing among them: the same schedule, in less real time."""
    later = pl.when(pl.int_range(pl.len()) < 20).then(0.0).otherwise(3600.0)
    jobs = stream(40, 16, longest=120).with_columns(pl.col("submit") + later, note="a break")
    place = tmp_path / "v"
    result = onega.virtual(jobs, place, procs=16, speed=20, settings="fine", clock="jumping")
    run = result.runs[0]
    assert set(run.log.table["status"]) == {"completed"}
    # Half of what the steady clock would take at least, on a machine that may be busy.
    assert run.seconds < 0.5 * result.stream.column("submit").max() / 20
    over = run.log.column("runtime") - result.stream.column("runtime")
    assert np.median(np.abs(over)) < 5
    assert run.jobs["submitted"].is_sorted()
    start = run.log.column("submit") + run.log.column("wait")
    assert onega.Schedule.observed(run.log, 16).system["busy"].max() <= 16
    assert start[20:].min() > start[:20].max()
    assert processes_of(place) == []
    assert gone(elsewhere)


def test_what_happens_to_jobs_and_nodes_happens_to_the_real_ones(tmp_path):
    """Deleted while waiting, killed, on a node that fails, withdrawn before it was submitted."""
    jobs = onega.Workload(
        {
            "job": [1, 2, 3, 4, 5],
            "submit": [0.0, 1.0, 2.0, 3.0, 700.0],
            "runtime": [100.0, 50.0, 900.0, 150.0, 50.0],
            "procs": [4, 4, 2, 2, 1],
            "estimate": [100.0, 50.0, 900.0, 150.0, 50.0],
        },
        onega.Meta(procs=4),
    )
    events = {
        "time": [10.0, 40.0, 150.0, 260.0, 300.0],
        "event": ["cancel", "cancel", "fail", "kill", "return"],
        "job": [5, 2, None, 3, None],
        "node": [None, None, "3-4", None, "3-4"],
    }
    result = onega.virtual(jobs, tmp_path / "v", procs=4, speed=50, events=events)
    log = result.runs[0].log.table
    assert log["status"].to_list() == [
        *("completed", "cancelled", "cancelled", "completed", "cancelled"),
    ]
    # 1 ran; 2 left the queue at 40; 3 started after 1 and was killed at 260; 5 never came.
    start, end = log["submit"] + log["wait"], log["submit"] + log["wait"] + log["runtime"]
    assert log["runtime"].is_null().to_list() == [False, True, False, False, True]
    assert start[1] == pytest.approx(40, abs=30)
    assert start[2] == pytest.approx(100, abs=60)
    assert end[2] == pytest.approx(260, abs=60)
    # 4 stood on nodes 3 and 4, was put back into the queue, waited for 3's, and ran from nothing.
    assert start[3] > 250
    assert end[3] - start[3] == pytest.approx(150, abs=30)
    assert processes_of(tmp_path) == []


def test_nothing_is_lost_when_the_machine_has_no_time_for_slurm(tmp_path, elsewhere):
    """The authentication daemon hangs for a second, fifty on Slurm's clock, again and again."""
    # The folder's name is too long for the sockets of jobs, as it may be.
    name = "a-folder-with-a-long-name"[: 80 - len(str(tmp_path))]
    place, jobs = tmp_path / (name or "v"), stream(30, 8, longest=40)
    results = []
    run = threading.Thread(
        target=lambda: results.append(onega.virtual(jobs, place, procs=8, speed=50))
    )
    run.start()
    log = place / "run-1" / "slurmctld.log"
    assert wait_until(lambda: log.is_file() and "Allocate" in log.read_text(), 60)
    munged = [int(pid) for pid, words in processes_of(place) if b"munged" in words]
    for _ in range(4):
        if run.is_alive():
            os.kill(munged[0], signal.SIGSTOP)
            time.sleep(1)
            os.kill(munged[0], signal.SIGCONT)
            time.sleep(1)
    run.join(120)
    ended = results[0].runs[0].log.table["status"].to_list()
    assert len(ended) == 30
    assert set(ended) <= {"completed", "timeout"}
    assert processes_of(place) == []
    assert gone(elsewhere)


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
    clock = clock_of(place)
    assert clock
    process.send_signal(how)
    process.wait(timeout=60)
    assert process.returncode == code
    assert wait_until(lambda: processes_of(place) == [], 5), processes_of(place)
    assert wait_until(lambda: gone(clock), 15)


def test_killed_it_is_cleaned_up_after_and_the_next_run_starts_clean(driver):
    process, place = driver
    clock = clock_of(place)
    process.kill()
    process.wait()
    assert wait_until(lambda: processes_of(place) == [], 30), processes_of(place)
    assert wait_until(lambda: gone(clock), 15)
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
