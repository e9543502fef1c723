"""What virtual nodes consist of, as far as it needs no Slurm: files, laws, streams, refusals."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import onega
from onega.comparison.adequacy.experiment import RealRuns, compare_with_models, make_stream
from onega.comparison.adequacy.overheads import NONE, fit_law, fit_release
from onega.comparison.virtual_slurm import clock as virtual_clock
from onega.comparison.virtual_slurm import keeper as virtual_keeper
from onega.comparison.virtual_slurm import tools as virtual_tools
from onega.comparison.virtual_slurm import virtual
from onega.comparison.virtual_slurm.clock import Jumps
from onega.comparison.virtual_slurm.collect import (
    collect,
    finished,
    unix_time,
)
from onega.comparison.virtual_slurm.conf import VirtualConf, scheduler_parameters
from onega.comparison.virtual_slurm.drive import Action, Drive, limit_minutes, plan_actions
from onega.comparison.virtual_slurm.ends import LOOK, Ends
from onega.comparison.virtual_slurm.jump import JumpingDrive
from onega.comparison.virtual_slurm.ports import Ports
from onega.comparison.virtual_slurm.result import VirtualResult, VirtualRun
from onega.comparison.virtual_slurm.slurm import VirtualSlurm
from onega.comparison.virtual_slurm.virtual import check_stream, prepare_folder


def stream(n=60, seed=0, procs=8):
    rng = np.random.default_rng(seed)
    runtime = rng.integers(10, 200, n).astype(float)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.integers(1, 40, n)).astype(float),
            "runtime": runtime,
            "procs": rng.integers(1, procs + 1, n),
            "estimate": runtime * rng.uniform(1, 3, n),
        },
        onega.Meta(procs=procs),
    )


def test_missing_packages_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(virtual_tools.shutil, "which", lambda name, path: None)
    assert not virtual_tools.have_slurm()
    with pytest.raises(onega.SimulationError) as refused:
        onega.virtual(stream(), tmp_path / "x", procs=8)
    for package in ("slurmctld", "slurmd", "slurm-client", "munge", "faketime"):
        assert package in str(refused.value)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"procs": 4}, "wider than 4"),
        ({"procs": 8, "speed": 0.5}, "between 1 and 200"),
        ({"procs": 8, "speed": 1000}, "between 1 and 200"),
        ({"procs": 8, "clock": "jumpy"}, "did you mean 'jumping'"),
        ({"procs": 8, "clock": "jumping", "speed": 1}, "a speed above 1 and without events"),
        ({"procs": 8, "repeat": 0}, "at least 1"),
    ],
)
def test_wrong_arguments_are_refused(options, words, tmp_path):
    with pytest.raises(onega.SimulationError, match=words):
        onega.virtual(stream(), tmp_path, **options)


def test_streams_begin_at_zero_and_hold_no_waits():
    given = stream().with_columns(pl.col("submit") + 500, pl.lit(3.0).alias("wait"), note="later")
    checked = check_stream(given, 8)
    assert checked.column("submit")[0] == 0
    assert not checked.has("wait")
    broken = given.with_columns(pl.lit(None, dtype=pl.Float64).alias("runtime"), note="none")
    with pytest.raises(onega.SimulationError, match="no positive run time"):
        check_stream(broken, 8)


@pytest.mark.parametrize(
    ("estimate", "runtime", "minutes"), [(60, 1, 1), (61, 1, 2), (np.nan, 130, 3), (0, 5, 1)]
)
def test_limits_in_minutes(estimate, runtime, minutes):
    assert limit_minutes(estimate, runtime) == minutes


def test_events_become_commands_for_jobs_and_nodes():
    events = onega.Events(
        {
            "time": [5.0, 1.0, 9.0, 7.0, 8.0],
            "event": ["up", "down", "drain", "kill", "fail"],
            "procs": [1, 3, None, None, None],
            "job": [None, None, None, 2, None],
            "node": [None, None, "2", None, "1,3-4"],
        }
    )
    found = [(a.time, a.word, a.job, a.nodes) for a in plan_actions(events, stream(3), 8)]
    # The highest three go down, the lowest of them comes back.
    assert found == [
        (1.0, "fail", None, (8, 7, 6)),
        (5.0, "return", None, (6,)),
        (7.0, "kill", 2, ()),
        (8.0, "fail", None, (1, 3, 4)),
        (9.0, "drain", None, (2,)),
    ]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"event": "cancel", "job": 99}, "no job 99 in the stream"),
        ({"event": "fail", "node": "9"}, "no node 9, but 8 nodes"),
        ({"event": "down", "procs": 9}, "9 processors: only 8"),
        ({"event": "up", "procs": 1}, "1 processors: only 0"),
        ({"event": "cap", "watts": 5.0}, "know no 'cap'"),
        ({"event": "reserve", "procs": 2, "until": 9.0}, "know no 'reserve'"),
    ],
)
def test_events_that_virtual_nodes_cannot_have_are_refused_first(row, words, tmp_path):
    table = {key: [value] for key, value in ({"time": 1.0} | row).items()}
    with pytest.raises(onega.SimulationError, match=f"row 1: .*{words}"):
        onega.virtual(stream(3), tmp_path / "v", procs=8, events=table)
    with pytest.raises(onega.SimulationError, match="unknown interruption 'sleep'"):
        onega.virtual(stream(3), tmp_path / "v", procs=8, interruption="sleep")
    assert not (tmp_path / "v").exists()


class HeardBy:
    """Stands for a Slurm that is up: notes what it is told."""

    ends = Path("/nowhere")

    def __init__(self):
        self.told, self.speed = [], 1e9

    def tell(self, *words):
        self.told.append(words)

    def set_nodes(self, nodes, state):
        self.told.append((state, *nodes))

    def submit(self, width, seconds, limit, name, *, requeue):
        self.told.append(("submit", name, requeue))
        return 100 + int(name)

    def real_seconds_until(self, instant):
        return 0.0

    def nodes_out(self):
        return [1, 5]

    def now(self):
        return 0.0


def test_jobs_and_nodes_hear_of_events_in_order(monkeypatch):
    jobs = onega.Workload(
        {"job": [1, 2], "submit": [0.0, 5.0], "runtime": [9.0, 9.0], "procs": [1, 1]}
    )
    actions = [
        Action(1.0, "cancel", job=1),
        Action(1.0, "interrupt", job=1),
        Action(2.0, "fail", nodes=(5,)),
        Action(3.0, "kill", job=1),
        Action(4.0, "interrupt", job=2),
        Action(5.0, "cancel", job=2),
    ]
    monkeypatch.setattr(Drive, "_wait_for_ends", lambda self, progress: None)
    slurm = HeardBy()
    drive = Drive(slurm, jobs, actions, rule="lost")
    shares = []
    drive.run(0.0, shares.append)
    # Job 2 is withdrawn at the instant of its submission, before it; interrupting it was nothing.
    assert slurm.told == [
        ("submit", "1", False),
        ("scancel", "--state=PENDING", "101"),
        ("scancel", "--state=RUNNING", "101"),
        ("DOWN", 5),
        ("scancel", "101"),
    ]
    assert drive.never == {2}
    assert shares[-1] == pytest.approx(0.9)
    # What Slurm took out of service by itself comes back; what an event took out doesn't.
    slurm.told.clear()
    drive._cared -= 60
    drive._care()
    assert slurm.told == [("RESUME", 1)]


def test_the_clock_jumps_only_after_a_cycle_has_seen_what_happened(tmp_path):
    slurm = HeardBy()
    slurm.folder, slurm.conf = tmp_path, SimpleNamespace(parameters="bf_interval=1")
    jobs = onega.Workload({"submit": [0.0], "runtime": [9.0], "procs": [1]})
    drive = JumpingDrive(slurm, jobs, [])
    assert drive._settled(7.0)  # no job waits: no cycle is needed
    drive._present, drive._happened = 1, 100.4
    slurm.last_cycle = lambda: 1000.0
    assert not drive._settled(160.0)  # sched_interval is a minute
    assert drive._settled(170.0)
    slurm.last_cycle = lambda: 100.0
    assert not drive._settled(170.0)


# Reads the clock in each of the ways that the library knows, whenever it gets a line.
CLOCK_READER = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
class Spec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("fraction", ctypes.c_long)]
zeroed, nothing = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
for line in sys.stdin:
    one, other = Spec(), Spec()
    libc.gettimeofday(ctypes.byref(one), None)
    libc.clock_gettime(time.CLOCK_REALTIME, ctypes.byref(other))
    until = Spec(other.s + 1, other.fraction)
    began = time.monotonic()
    libc.pthread_mutex_lock(nothing)
    late = libc.pthread_cond_timedwait(zeroed, nothing, ctypes.byref(until))
    libc.pthread_mutex_unlock(nothing)
    waited = time.monotonic() - began
    print(int(time.time()), libc.time(None), one.s, other.s, late, waited, flush=True)
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_jump_is_seen_at_once_by_a_process_that_runs(tmp_path):
    jumps = Jumps(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", CLOCK_READER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | jumps.environment | {"LD_PRELOAD": str(jumps.library)},
    )  # fmt: skip
    with process:
        for seconds in (0, 5000, 10**6):
            jumps.add(seconds)
            process.stdin.write("\n")
            process.stdin.flush()
            *times, late, waited = process.stdout.readline().split()
            for told in times:
                assert int(told) - jumps.seconds == pytest.approx(time.time(), abs=10)
            # An instant of the moved clock, a second ahead, comes in about a second.
            assert int(late) == errno.ETIMEDOUT
            assert 0.9 < float(waited) < 10
        process.stdin.close()
    assert jumps.seconds == 1_005_000


def test_a_jumping_clock_without_a_compiler_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(virtual, "find_programs", dict)
    monkeypatch.setattr(virtual_tools.shutil, "which", lambda name: None)
    with pytest.raises(onega.SimulationError, match="gcc libc6-dev"):
        onega.virtual(stream(), tmp_path / "x", procs=8, clock="jumping")
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(not shutil.which("false"), reason="needs a program that fails")
def test_a_library_that_cannot_be_compiled_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(virtual_clock, "find_compiler", lambda: shutil.which("false"))
    with pytest.raises(onega.SimulationError, match=r"wasn't compiled: it gave no reason$"):
        Jumps(tmp_path)


def test_machines_that_start_at_one_moment_take_different_ports():
    taken = [Ports(129), Ports(129), Ports(5), Ports(1)]
    rows = [set(range(one.first, one.first + count)) for one, count in zip(taken, (129, 129, 5, 1))]
    assert len(set.union(*rows)) == 129 + 129 + 5 + 1
    first = taken[0].first
    for one in taken:
        one.release()
        one.release()
    again = Ports(129)
    assert again.first == first
    again.release()


def test_a_port_that_is_listened_on_is_left_out():
    usual = Ports(3)
    usual.release()
    with socket.create_server(("127.0.0.1", usual.first + 1)):
        other = Ports(3)
        other.release()
    assert other.first != usual.first
    held = Ports(1)
    with pytest.raises(onega.SimulationError, match="no 21999 free ports in a row"):
        Ports(21_999)
    held.release()
    with pytest.raises(onega.SimulationError, match="no 65000 free ports in a row"):
        Ports(65_000)


def test_sdiag_tells_of_the_cycles(tmp_path):
    said = (
        "Main schedule\n\tLast cycle when: x (7)\n\tMean cycle: 9\n"
        "Backfilling stats\n\tLast cycle when: {}\n\tMean cycle: 11172\n"
    )
    slurm = object.__new__(VirtualSlurm)
    for text, when in (("Wed Nov 18 18:04:27 2026 (1795025067)", 1795025067.0), ("N/A", 0.0)):
        slurm.tell = lambda program, text=text: said.format(text)
        assert slurm.last_cycle() == when
        assert slurm.mean_cycle() == pytest.approx(0.011172)
    slurm.tell = lambda program: "nothing yet"
    assert slurm.mean_cycle() == 0


def test_late_sleeps_are_what_a_beat_takes_longer(monkeypatch):
    """Each sleep a millisecond too long: ten of them at 20 times the clock are 0.2 s."""
    now = [0.0]
    monkeypatch.setattr(virtual.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(virtual.time, "sleep", lambda s: now.__setitem__(0, now[0] + s + 0.001))
    assert virtual._measure_beat(20.0) == pytest.approx(0.2)
    assert 0.5 < now[0] < 3


def test_jobs_are_told_of_their_ends_through_pipes(tmp_path):
    """Ends that have come, in whatever order they were written; a job that is gone is left out."""
    slurm = HeardBy()
    slurm.speed = 20.0
    slurm.ends, slurm.pipe, now = tmp_path / "ends", lambda name: tmp_path / name, [100.0]
    slurm.now = lambda: now[0]
    ears = {}
    for name in ("7", "8", "9"):
        os.mkfifo(tmp_path / name)
        if name != "9":
            ears[name] = os.open(tmp_path / name, os.O_RDWR | os.O_NONBLOCK)
    ends = Ends(slurm)
    assert ends._look() == LOOK  # nothing is written yet
    slurm.ends.write_text("1 100100000 7\n2 99000000 8\n3 99000000 9\n4 1010")
    # The next look is at job 7's end, 0.1 s at 20 times the clock; half a line is none.
    assert ends._look() == pytest.approx(0.005)
    assert ends.due == {1: (100.1, "7")}
    assert os.read(ears["8"], 9) == b"\n"
    with pytest.raises(BlockingIOError):
        os.read(ears["7"], 9)
    now[0] = 100.2
    assert ends._look() == LOOK
    assert os.read(ears["7"], 9) == b"\n"
    assert ends.due == {}
    for ear in ears.values():
        os.close(ear)


@pytest.mark.parametrize("bad", [0, 1, 3])
def test_a_run_that_lost_jobs_is_made_again(bad, monkeypatch, tmp_path):
    """Slurm gives a job up in the first ``bad`` runs; what an event touched isn't lost."""
    jobs, made = check_stream(stream(4), 8), []

    def run_once(slurm, plan, progress):
        (tmp_path / "v").mkdir()
        made.append(1)
        state = "NODE_FAIL" if len(made) <= bad else "TIMEOUT"
        table = pl.DataFrame({"job": [1, 2, 3], "state": ["COMPLETED", state, "COMPLETED"]})
        return VirtualRun(jobs, table, 1.0, 0.0)

    monkeypatch.setattr(virtual, "VirtualSlurm", lambda *given, **options: None)
    monkeypatch.setattr(virtual, "_run_once", run_once)
    actions = [Action(1.0, "cancel", job=4)]
    plan = virtual._Plan(jobs, 8, 20.0, "", actions, "requeue")
    if bad < 3:
        assert virtual._run_whole(tmp_path / "v", plan, print).attempts == bad + 1
    else:
        with pytest.raises(onega.SimulationError, match="lost 1 of 4 jobs, 3 times over"):
            virtual._run_whole(tmp_path / "v", plan, print)


def test_only_folders_of_earlier_runs_are_cleared(tmp_path):
    place = prepare_folder(tmp_path / "new")
    (place / "run-1").mkdir()
    (place / "run-1.swf").write_text("x")
    (place / "notes.txt").write_text("mine")
    assert prepare_folder(place) == place
    assert sorted(path.name for path in place.iterdir()) == ["notes.txt", "onega-virtual.json"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    with pytest.raises(onega.SimulationError, match="choose an empty folder"):
        prepare_folder(other)
    assert (other / "thesis.tex").exists()


def test_the_configuration_stays_on_loopback_and_in_its_folder(tmp_path):
    conf = VirtualConf(tmp_path, 100, 20.0, scheduler_parameters("fine"), 20_000)
    text = conf.text()
    assert "NodeName=v[001-100]" in text
    assert "Port=[20001-20100]" in text
    assert "NoInAddrAny,NoCtldInAddrAny" in text
    # Budgets of computing time are read on the fast clock.
    assert "MessageTimeout=400" in text
    assert "bf_max_time=600" in text
    paths = [line.rpartition("=")[2] for line in text.splitlines() if "=/" in line]
    assert all(path.startswith(str(tmp_path)) or path == "/bin/true" for path in paths)
    socket = tmp_path / "spool" / "v100" / "v100_200000.4294967291"
    assert conf.longest_socket == len(str(socket))
    assert "SlurmdSpoolDir=/t/x/%n" in replace(conf, spool=Path("/t/x")).text()
    single = VirtualConf(tmp_path, 1, 1.0, "bf_max_time=7", 20_000)
    assert "NodeName=v1 " in single.text()
    assert single.scaled_parameters().count("bf_max_time") == 1


def test_settings(tmp_path):
    assert scheduler_parameters("stock") == ""
    assert "bf_interval=1," in scheduler_parameters("fine")
    assert scheduler_parameters("bf_interval=5, bf_continue") == "bf_interval=5,bf_continue"
    conf = tmp_path / "slurm.conf"
    conf.write_text("SchedulerParameters=bf_window=99\n")
    assert scheduler_parameters(str(conf)) == "bf_window=99"
    with pytest.raises(onega.SimulationError, match="neither stock nor fine"):
        scheduler_parameters("no such/file")


JOBCOMP = (
    "JobId={} UserId=x(1) Name={} JobState={} TimeLimit=2 StartTime=2026-01-01T00:00:{} "
    "EndTime=2026-01-01T00:01:{} NodeList={} NodeCnt={} SubmitTime=2026-01-01T00:00:01 \n"
)


@pytest.fixture
def left_behind(tmp_path):
    """Logs of two jobs; the first's nodes are idle again 0.4 s after its end."""
    (tmp_path / "jobcomp.log").write_text(
        JOBCOMP.format(1, 17, "COMPLETED", "02", "02", "v[1-2]", 2)
        + JOBCOMP.format(2, 18, "TIMEOUT", "10", "50", "v2", 1)
    )
    (tmp_path / "slurmctld.log").write_text(
        "[2026-01-01T00:00:01.100] _slurm_rpc_submit_batch_job: JobId=1 InitPrio=1 usec=1\n"
        "[2026-01-01T00:00:02.250] sched: Allocate JobId=1 NodeList=v[1-2] #CPUs=2\n"
        "[2026-01-01T00:00:02.300] _slurm_rpc_submit_batch_job: JobId=2 InitPrio=1 usec=1\n"
        "garbage without a stamp\n"
        "[2026-01-01T00:00:09.500] _job_complete: JobId=1 done\n"
        "[2026-01-01T00:00:09.800] TRACE_JOBS: make_node_idle: enter JobId=1\n"
        "[2026-01-01T00:00:09.900] TRACE_JOBS: cleanup_completing: JobId=1\n"
        "[2026-01-01T00:00:10.000] sched: Allocate JobId=2 NodeList=v2 #CPUs=1\n"
    )
    (tmp_path / "launches").write_text("1 1767225602.750000\n")
    return tmp_path


def test_logs_are_read_to_the_millisecond(left_behind):
    rows = collect(left_behind)
    zero = unix_time("2026-01-01T00:00:00")
    assert rows["name"].to_list() == [17, 18]
    assert (rows["submitted"] - zero).to_list() == pytest.approx([1.1, 2.3])
    assert (rows["start"] - zero).to_list() == pytest.approx([2.25, 10])
    # The second job's end isn't in slurmctld's log: the whole second stands.
    assert (rows["end"] - zero).to_list() == pytest.approx([9.5, 110])
    assert rows["by"].to_list() == ["main", "main"]
    assert rows["launched"][0] - zero == pytest.approx(2.75)
    assert rows["released"][0] - zero == pytest.approx(9.9)
    assert rows["released"][1] is None
    assert unix_time("Unknown") is None


def test_a_requeued_job_counts_once(tmp_path):
    assert finished(tmp_path) == 0
    lines = [f"JobId={number} UserId=a JobState=NODE_FAIL \n" for number in (1, 2, 1, 11)]
    (tmp_path / "jobcomp.log").write_text("".join(lines) + "JobId=12 UserId=")
    assert finished(tmp_path) == 3


def test_laws_of_overheads_are_found_again():
    """40 000 draws: mean within 4·sd/√n, of the law and of what it draws; error rate 1e-4."""
    rng = np.random.default_rng(3)
    law = fit_law(rng.gamma(2.0, 0.5, 40_000))
    assert abs(law.mean - 1.0) < 4 * np.sqrt(0.5 / 40_000)
    assert law.shape == pytest.approx(2.0, rel=0.04)
    drawn = law.draw(40_000, rng)
    assert abs(drawn.mean() - law.mean) < 4 * np.sqrt(0.5 / 40_000)
    assert fit_law([np.nan]) == NONE
    assert fit_law([0.5, 0.5]) == onega.Law("fixed", 0.5)
    assert fit_law([-1.0, 1.0]).mean == 0.5


def test_a_few_long_durations_do_not_make_the_law():
    """One in a hundred is ten times as long: by its moments the law would have a shape of 0.7."""
    values = np.random.default_rng(6).gamma(4.0, 0.05, 4000)
    values[::100] *= 10.0
    mean, variance = values.mean(), values.var()
    assert mean**2 / variance < 1.0
    law = fit_law(values)
    assert law.mean == pytest.approx(mean)
    assert 2.5 < law.shape < 4.0


def test_the_release_is_a_line_in_the_width_with_a_spread():
    rng = np.random.default_rng(4)
    width = np.repeat([1, 2, 4, 8, 16, 32], 400)
    line = 0.5 + 0.1 * width
    assert [law.mean for law in fit_release(width, line)] == pytest.approx([0.5, 0.1])
    release, report = fit_release(width, line * rng.gamma(25.0, 0.04, width.size))
    # The spread is 0.2 of the line, 0.74 s at the widest: errors of the fit are below 4 %.
    assert (release.mean, report.mean) == pytest.approx((0.5, 0.1), rel=0.04)
    assert release.shape == pytest.approx(report.shape)
    assert release.shape**-0.5 == pytest.approx(0.2, rel=0.1)
    assert fit_release([], []) == (NONE, NONE)
    assert fit_release([3, 3], [1.0, np.nan]) == (onega.Law("fixed", 1.0), NONE)
    assert fit_release([3, 3], [0.0, 0.0]) == (NONE, NONE)
    # Neither may be negative.
    assert fit_release([1, 2], [2.0, 1.0])[1] == NONE
    assert fit_release([1, 2], [0.0, 1.0])[0] == NONE


@pytest.fixture
def laws():
    law = "gamma(mean=1.2, sd=0.6)"
    return onega.Overheads(law, law, submission=law, release="0.3s", report=0.01)


def pretend(laws, jobs, procs=8, seeds=(1, 2)):
    """Make "real" runs: the model of Slurm itself, each with a draw of its loops' phases."""
    runs = []
    for seed in seeds:
        schedule = onega.simulate(jobs, procs, "slurm", rng=seed)
        log = jobs.with_columns(
            pl.Series("wait", schedule.start - jobs.column("submit")),
            pl.Series("runtime", schedule.end - schedule.start),
            note="pretended",
        )
        runs.append(VirtualRun(log, pl.DataFrame(), 1.0, 0.0))
    pairs = tuple(onega.adequacy(a.log, b.log) for a, b in itertools.combinations(runs, 2))
    return VirtualResult(jobs, procs, 20.0, "", "none", tuple(runs), pairs, laws)


def test_the_reference_is_taken_over_all_pairs_of_runs(laws):
    result = pretend(laws, stream(120, seed=4), seeds=(1, 2, 3))
    every = [pair.P for pair in result.pairs]
    assert len(every) == 3
    assert min(every) < result.ideal < max(every)
    assert result.ideal == pytest.approx(np.mean(every))
    rows = result.prefixes()
    assert [row["jobs"] for row in rows] == [50, 100, 120]
    assert rows[-1]["P"] == pytest.approx(result.ideal)
    spread = rows[-1]["P_min"], rows[-1]["P_max"]
    assert spread == pytest.approx((min(every), max(every)))  # sums in another order
    first = [pair.prefixes((50,))[0] for pair in result.pairs]
    assert rows[0]["different"] == pytest.approx(np.mean([row.different for row in first]))
    alone = pretend(laws, stream(60), seeds=(1,))
    assert np.isnan(alone.ideal)
    assert alone.prefixes() == []


def test_models_beside_the_real_system(laws):
    result = pretend(laws, stream(120, seed=4))
    assert result.ideal == result.pairs[0].P
    table = compare_with_models(RealRuns.of(result), ["fcfs", "easy", "slurm"], draws=2, rng=3)
    rows = table.to_polars()
    assert rows["model"].to_list() == ["the real Slurm", *(["fcfs"] * 2), *(["easy"] * 2),
                                       *(["slurm"] * 2)]  # fmt: skip
    assert table.best["model"] == "slurm"
    assert {"P_50", "P_100", "P_120"} <= set(rows.columns)
    assert rows["P_120"].to_list() == pytest.approx(rows["P"].to_list())
    # How far a model's draws are from each other stands beside how far they are from the real runs.
    drawn = rows.filter(pl.col("overheads"))
    assert drawn["P_own"].min() > 0
    # Two runs and two draws: of four values the median is the mean of the two in the middle.
    middle = (4 * drawn["P"] - drawn["P_min"] - drawn["P_max"]) / 2
    assert drawn["P_median"].to_list() == pytest.approx(middle.to_list())
    plain = rows.filter(~pl.col("overheads"))
    # Without overheads only the model of Slurm draws: where its loops stand.
    assert plain.filter(pl.col("P_own").is_not_null())["model"].to_list() == ["slurm"]
    assert plain["P_own"].null_count() == 3
    flat = table.summary()
    assert flat["slurm+overheads.P_own"] == rows.row(-1, named=True)["P_own"]
    assert flat["best_P"] == table.best["P"]
    assert flat["fcfs.P"] > flat["slurm.P"]
    assert len(result.plot("along").data) == 1


def test_streams_with_a_logs_statistics():
    log = stream(400, seed=9, procs=16)
    made = make_stream(log, 100, procs=16, shrink=2, rng=1)
    assert len(made) == 100
    assert made.column("submit")[0] == 0
    assert made.column("runtime").min() >= 10
    assert np.all(made.column("estimate") >= made.column("runtime"))
    assert made.column("procs").max() <= 16
    assert made == make_stream(log, 100, procs=16, shrink=2, rng=1)
    with pytest.raises(onega.SimulationError, match="positive"):
        make_stream(log, 100, procs=16, shrink=0)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid, seconds=10.0):
    deadline = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


@pytest.fixture
def keeper():
    process = subprocess.Popen(
        [sys.executable, "-I", virtual_keeper.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def ask(**request):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    ask.process = process
    yield ask
    process.stdin.close()
    process.wait(timeout=20)
    process.stdout.close()


def spawn(ask, tmp_path, code, name="daemon"):
    log = tmp_path / f"{name}.out"
    argv = [sys.executable, "-I", "-c", code]
    return ask(do="spawn", name=name, argv=argv, env={}, log=str(log))["pid"], log


def text_of(log):
    deadline = time.monotonic() + 10
    while not log.read_text().endswith("\n") and time.monotonic() < deadline:
        time.sleep(0.02)
    return log.read_text()


DETACHED = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


def test_the_keeper_ends_daemons_and_what_detached_itself(keeper, tmp_path):
    pid, log = spawn(keeper, tmp_path, DETACHED)
    step = int(text_of(log))
    (tmp_path / "shared").write_text("x")
    keeper(do="unlink", paths=[str(tmp_path / "shared"), str(tmp_path / "never")])
    assert keeper(do="status")["dead"] == []
    assert keeper(do="end") == {"killed": [], "left": 0}
    assert gone(pid, 0.5)
    assert gone(step, 0.5)
    assert not (tmp_path / "shared").exists()


def test_the_keeper_cleans_up_when_its_driver_vanishes(keeper, tmp_path):
    pid, log = spawn(keeper, tmp_path, DETACHED)
    step = int(text_of(log))
    keeper.process.stdin.close()
    keeper.process.wait(timeout=20)
    assert gone(pid, 0.5)
    assert gone(step, 0.5)


def test_daemons_die_with_a_killed_keeper(keeper, tmp_path):
    pid, log = spawn(keeper, tmp_path, "import time; print(1, flush=True); time.sleep(600)")
    text_of(log)
    os.kill(keeper.process.pid, 9)
    assert gone(pid)


def test_the_keeper_knows_who_has_ended_and_kills_the_stubborn(keeper, tmp_path):
    pid, _ = spawn(keeper, tmp_path, "pass", "short")
    assert gone(pid)
    stubborn, log = spawn(
        keeper, tmp_path,
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)\n"
        "time.sleep(600)", "stubborn",
    )  # fmt: skip
    text_of(log)
    deadline = time.monotonic() + 5
    while keeper(do="status")["dead"] != ["short"] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert keeper(do="status")["dead"] == ["short"]
    assert keeper(do="end")["killed"] == ["stubborn"]
    assert gone(stubborn, 0.5)
