"""`onega simulate` as people and scripts call it: files, numbers, misuse, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import onega
from cut_logs import BUSY_OF_ALL, hourly
from onega.cli.app import main
from onega.cli.scheduling.simulate.machine import MachineFlags, build_cluster

JOB_COLUMNS = "job,submit,start,end,wait,response,service,slowdown,bounded_slowdown,energy"
SYSTEM_COLUMNS = "time,rate,busy,running,waiting,workload,power"
SUMMARY = [
    "jobs",
    "procs",
    "policy",
    "mean_wait",
    "median_wait",
    "p95_wait",
    "max_wait",
    "mean_response",
    "mean_slowdown",
    "mean_bounded_slowdown",
    "utilisation",
    "makespan",
    "energy",
    "mean_power",
    "wasted_capacity",
    "mean_jobs_in_system",
]
POWER = ("--power-busy", 200, "--power-idle", 100)
RATES = ("--rate-control", "workload", "--rate-low", "1", "--rate-high", "2")


@pytest.fixture
def run(capsys):
    def call(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main(["simulate", *(str(one) for one in arguments)])
        said = capsys.readouterr()
        return leaving.value.code, said.out, said.err

    return call


def small(**columns):
    """Four jobs on four processors; FCFS makes the third and fourth wait for the second."""
    table = {
        "submit": [0.0, 1.0, 2.0, 3.0],
        "runtime": [10.0, 10.0, 5.0, 4.0],
        "procs": [2, 4, 1, 2],
        "estimate": [12.0, 10.0, 5.0, 6.0],
    }
    return onega.Workload(table | columns, onega.Meta(procs=4))


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    onega.write(small(), path)
    return path


@pytest.fixture
def poor(tmp_path):
    """The same with a job without width and one without run time."""
    path = tmp_path / "poor.swf"
    table = {"submit": [0, 1, 2, 3], "runtime": [10, 10, 0, 4], "procs": [2, None, 1, 2]}
    onega.write(onega.Workload(table, onega.Meta(procs=4)), path)
    return path


def files(folder):
    return sorted(one.name for one in folder.iterdir())


def test_files_are_the_schedule(run, log, tmp_path):
    code, _, err = run(log, "--policy", "easy", "--out", tmp_path / "new" / "out")
    assert code == 0
    out = tmp_path / "new" / "out"
    assert files(out) == ["jobs.csv", "summary.json", "system.csv"]
    assert "summary.json" in err
    expected = onega.simulate(onega.read(log), 4, "easy")
    jobs = pl.read_csv(out / "jobs.csv")
    assert (out / "jobs.csv").read_text().startswith(JOB_COLUMNS + ",")
    assert (out / "system.csv").read_text().startswith(SYSTEM_COLUMNS + ",")
    for name in ("job", "start", "end", "wait", "slowdown"):
        assert jobs[name].to_list() == expected.jobs[name].to_list()
    system = pl.read_csv(out / "system.csv")
    assert system["time"].to_list() == expected.system["time"].to_list()
    assert system["workload"].to_list() == expected.system["workload"].to_list()


def test_waits_by_hand(run, log, tmp_path):
    """Job 2 needs all four processors, so it waits for job 1; 3 and 4 wait behind it."""
    run(log, "--out", tmp_path / "out")
    assert pl.read_csv(tmp_path / "out" / "jobs.csv")["wait"].to_list() == [0, 9, 18, 17]


def test_json_is_the_summary_file(run, log, tmp_path):
    code, out, _ = run(log, "--policy", "easy", "--json", "--out", tmp_path)
    assert code == 0
    printed = json.loads(out)
    assert printed == json.loads((tmp_path / "summary.json").read_text())
    assert set(SUMMARY) <= printed.keys()
    assert all(not isinstance(printed[key], dict | list) for key in printed if key != "warnings")
    expected = onega.simulate(onega.read(log), 4, "easy").summary()
    assert {name: printed[name] for name in expected} == expected
    assert printed["policy"] == "fcfs+easy"


def test_waits_that_are_the_logs_own_are_counted(run, tmp_path):
    """Simulated waits are 0, 9, 18, 17; the log has the first and the last, and lacks the third."""
    path = tmp_path / "log.swf"
    onega.write(small(wait=[0.0, 8.0, None, 17.0]), path)
    found = json.loads(run(path, "--json")[1])
    assert (found["logged_waits"], found["equal_waits"]) == (3, 2)
    assert "of 3 logged waits are the same here" in run(path)[1]


def test_parquet_holds_the_same(run, log, tmp_path):
    run(log, "--out", tmp_path / "a")
    run(log, "--out", tmp_path / "b", "--format", "parquet")
    assert files(tmp_path / "b") == ["jobs.parquet", "summary.json", "system.parquet"]
    for name in ("jobs", "system"):
        one = pl.read_csv(tmp_path / "a" / f"{name}.csv")
        other = pl.read_parquet(tmp_path / "b" / f"{name}.parquet")
        assert one.columns == other.columns
        assert one.select(pl.col(pl.Int64, pl.Float64)).rows() == (
            other.select(one.select(pl.col(pl.Int64, pl.Float64)).columns).rows()
        )


def test_old_files_are_replaced(run, log, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "jobs.csv").write_text("old")
    run(log, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "jobs.csv").read_text().startswith(JOB_COLUMNS)
    assert files(tmp_path / "out") == ["jobs.csv", "summary.json", "system.csv"]


def test_the_screen_says_what_numbers_mean(run, log):
    code, out, err = run(log, "--policy", "easy", *POWER)
    assert (code, err) == (0, "")
    assert "fcfs+easy on 4 processors, 4 jobs, the scheduler knows the users' estimates" in out
    told = float(re.search(r"energy *│ *([\d.e+-]+) kWh", out)[1])
    energy = json.loads(run(log, "--policy", "easy", *POWER, "--json")[1])["energy"]
    assert told == pytest.approx(energy / 1000 / 3600, rel=1e-3)  # joules: watt-seconds
    for words in ("mean wait", "bounded slowdown", "utilisation", "kWh", "mean power"):
        assert words in out
    assert max(len(line) for line in out.splitlines()[1:]) <= 80


def test_the_interval_is_of_batch_means(run, tmp_path):
    rng = np.random.default_rng(1)
    jobs = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(10, 600).round()),
            "runtime": rng.exponential(30, 600).round() + 1,
            "procs": rng.integers(1, 5, 600),
        },
        onega.Meta(procs=8),
    )
    onega.write(jobs, tmp_path / "log.swf")
    code, out, _ = run(tmp_path / "log.swf", "--json")
    assert code == 0
    expected = onega.simulate(onega.read(tmp_path / "log.swf"), 8).interval("wait", batches=30)
    found = json.loads(out)
    assert (found["mean_wait_low"], found["mean_wait_high"]) == (expected.low, expected.high)
    _, out, _ = run(tmp_path / "log.swf")
    assert "batch means" in out


def test_few_jobs_have_no_interval(run, log):
    _, out, _ = run(log, "--json")
    assert json.loads(out)["mean_wait_low"] is None


def test_jobs_that_cannot_be_simulated_are_counted_in_one_line(run, poor):
    code, out, err = run(poor, "--json")
    assert code == 0
    assert json.loads(out)["left_out"] == 2
    assert json.loads(out)["jobs"] == 2
    (line,) = [one for one in err.splitlines() if "left out" in one]
    assert "left out 2 of 4 jobs" in line
    assert "1 without a positive width, 1 without a positive run time" in line


def test_strict_refuses_them_by_name(run, poor, tmp_path):
    code, out, err = run(poor, "--strict", "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].endswith("--strict refuses (jobs 2, 3)")
    assert not (tmp_path / "out").exists()


def test_the_machine_is_the_logs_unless_given(run, log, tmp_path):
    assert json.loads(run(log, "--json")[1])["procs"] == 4
    assert json.loads(run(log, "--json", "--procs", 9)[1])["procs"] == 9
    bare = tmp_path / "bare.swf"
    onega.write(onega.Workload(small().table), bare)
    code, _, err = run(bare)
    assert code == 2
    assert "give --procs N" in err


def test_too_small_a_machine_names_the_jobs(run, log, tmp_path):
    code, out, err = run(log, "--procs", 3, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert "wider than the machine of 3 processors (job 2)" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "esay"], "did you mean 'easy'?"),
        (["--policy", "fcfs+eays"], "did you mean 'easy'?"),
        (["--policy", "spf-pr+easy"], "preemptive orders take no backfilling"),
        (["--knowledge", "estimates"], "did you mean 'estimate'?"),
        (["--ties", "evnt"], "did you mean 'event'?"),
        (["--procs", "0"], "--procs"),
        (["--rate-control", "worklaod"], "did you mean 'workload'?"),
        (["--rate-control", "workload"], "needs --rate-high (or --rates) and --k-low and --k-high"),
        ([*RATES, "--k-low", "5", "--k-high", "3"], "--k-low must not exceed --k-high"),
        ([*RATES, "--k-low", "-1", "--k-high", "3"], "--k-low must not be negative"),
        ([*RATES, "--k-low", "a", "--k-high", "3"], "--k-low takes a number"),
        ([*RATES[:3], "3", "--rate-high", "2", "--k-low", "1", "--k-high", "2"], "rates must incr"),
        (["--rate-low", "0"], "rates must be positive"),
        (["--rate-high", "2"], "several rates need --rate-control"),
        (["--rates", "1,2", "--rate-low", "1"], "not both"),
        (["--k-low", "3"], "--k-low needs --rate-control queue or workload, got none"),
        ([*RATES, "--k-low", "1", "--k-high", "2", "--p-low", "1"], "--p-low needs --rate-control"),
        (["--rate-control", "random", "--rate-high", "2"], "needs --p-low and --p-high"),
        (
            ["--rate-control", "random", "--rate-high", "2", "--p-low", "2", "--p-high", "0"],
            "--p-low is a probability",
        ),
        (["--power-idle", "3"], "give --power-busy"),
        (["--power-busy", "1,2"], "one for each of the 1 rates"),
        (["--power-busy", "-1"], "busy power must be numbers, at least 0"),
        (["--power-busy", "1", "--power-busy-low", "1"], "not both"),
        (["--power-busy-high", "1"], "--power-busy-high needs --power-busy-low"),
        ([*RATES, "--k-low", "1", "--k-high", "2", "--power-busy-low", "1"], "--power-busy-high"),
        (["--format", "parqet", "--out", "x"], "did you mean 'parquet'?"),
        (["--format", "csv"], "give --out too"),
        (["--cluster", "absent.toml"], "absent.toml"),
        (["--polcy", "easy"], "--policy"),
    ],
)
def test_misuse_is_one_line_and_code_2_and_nothing_is_written(
    run, log, tmp_path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    extra = [] if "--out" in arguments or "--format" in arguments else ["--out", "out"]
    code, out, err = run(log, *arguments, *extra)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert files(tmp_path) == before


def test_a_folder_that_cannot_be_written_is_found_out(run, log, tmp_path):
    (tmp_path / "file").write_text("x")
    code, out, err = run(log, "--out", tmp_path / "file")
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert (tmp_path / "file").read_text() == "x"
    code, _, err = run(log, "--out", tmp_path / "file" / "below")
    assert code == 2
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_is_one_line(run, log, tmp_path):
    (tmp_path / "ro").mkdir(mode=0o555)
    code, out, err = run(log, "--out", tmp_path / "ro")
    assert (code, out) == (2, "")
    assert "ermission denied" in err
    assert files(tmp_path / "ro") == []


def test_a_warning_is_one_line(run, log):
    code, _, err = run(log, "--json", "--power-busy", 1, "--power-idle", 2)
    assert code == 0
    assert err == "onega: busy power 1 is below idle power 2\n"


def test_missing_idle_power_is_said(run, log):
    code, out, err = run(log, "--json", "--power-busy", 1)
    assert code == 0
    assert "idle processors draw nothing" in err
    assert json.loads(out)["idle_energy"] == 0


def test_rate_control_and_power_reach_the_simulator(run, log):
    flags = ["--k-low", 4, "--k-high", 20, "--power-busy-low", 3, "--power-busy-high", 7]
    flags += ["--power-idle-low", 1, "--power-idle-high", 2]
    _, out, _ = run(log, *RATES, *flags, "--json")
    control = onega.RateControl("workload", rates=(1.0, 2.0), k_low=4, k_high=20)
    cluster = onega.Cluster(4, control, onega.Power((3, 7), (1, 2)))
    expected = onega.simulate(onega.read(log), cluster, "fcfs").summary()
    found = json.loads(out)
    assert expected["rate_changes"] > 0
    assert {name: found[name] for name in expected} == expected


def test_three_rates_by_lists(run, log):
    flags = ["--rate-control", "queue", "--rates", "1,1.5,2", "--k-low", "1,2", "--k-high", "2,3"]
    code, out, _ = run(log, *flags, "--power-busy", "1,2,3", "--power-idle", "0", "--json")
    assert code == 0
    control = onega.RateControl("queue", rates=(1, 1.5, 2), k_low=(1, 2), k_high=(2, 3))
    cluster = onega.Cluster(4, control, onega.Power((1, 2, 3), 0))
    expected = onega.simulate(onega.read(log), cluster).summary()
    assert json.loads(out)["energy"] == expected["energy"]


def test_a_seed_repeats_random_switching(run, log):
    flags = ["--rate-control", "random", "--rate-high", 2, "--p-low", 0.5, "--p-high", 0.5]
    first = json.loads(run(log, *flags, "--json", "--seed", 5)[1])
    again = json.loads(run(log, *flags, "--json", "--seed", 5)[1])
    assert first == again
    others = {run(log, *flags, "--json", "--seed", seed)[1] for seed in range(6)}
    assert len(others) > 1


def test_knowledge_limits_and_ties_reach_the_simulator(run, tmp_path):
    path = tmp_path / "log.swf"
    onega.write(small(estimate=[3.0, 10.0, 5.0, 6.0]), path)
    found = json.loads(
        run(path, "--enforce-limits", "--ties", "event", "--knowledge", "runtime", "--json")[1]
    )
    assert found["limited_jobs"] == 1
    assert found["knowledge"] == "runtime"
    assert "ties=event" in found["provenance"]


FILE = """
procs = 80
[rate_control]
kind = "workload"
rates = [2.0, 2.66]
k_low = 1e5
k_high = 3e5
[power]
busy = [0.041, 0.034]
idle = [0.014, 0.018]
"""


def test_a_cluster_file_is_the_machine_and_flags_win(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(FILE)
    cluster = build_cluster(MachineFlags(cluster=path), 5)
    control = onega.RateControl("workload", rates=(2.0, 2.66), k_low=1e5, k_high=3e5)
    power = onega.Power((0.041, 0.034), (0.014, 0.018))
    assert cluster == onega.Cluster(80, control, power)
    from onega.core.machine.settings.reading import read_cluster

    assert read_cluster(path) == cluster
    changed = build_cluster(MachineFlags(cluster=path, procs=9, k_high="4e5", power_busy="1"), 5)
    assert changed.procs == 9
    assert changed.rates.k_high == (4e5,)
    assert changed.rates.k_low == (1e5,)
    assert changed.power == onega.Power(1, (0.014, 0.018))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("procss = 8", "unknown key 'procss'; did you mean 'procs'?"),
        (
            '[rate_control]\nkind = "none"\nrate = 1.0',
            "'rate' in [rate_control]; did you mean 'rates'?",
        ),
        ("[power]\nbusy = 1\nidel = 1", "'idel' in [power]; did you mean 'idle'?"),
        ("procs = 2.5", "procs: must be a whole number, got 2.5"),
        ("[power]\nbusy = 'x'", "power.busy"),
        ("[power]\nidle = 1", "power.busy: field required"),
        ("procs = ", "not a TOML file"),
    ],
)
def test_a_wrong_cluster_file_is_explained(run, log, tmp_path, text, said):
    path = tmp_path / "m.toml"
    path.write_text(text)
    code, out, err = run(log, "--cluster", path)
    assert (code, out) == (2, "")
    assert "m.toml" in err
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_machine_needs_its_processors(tmp_path):
    from onega.core.machine.settings.reading import read_cluster

    path = tmp_path / "m.toml"
    path.write_text("[power]\nbusy = 1")
    with pytest.raises(onega.SimulationError, match="write procs = N"):
        read_cluster(path)
    path.write_text("procs = -3")
    with pytest.raises(
        onega.SimulationError, match=r"m\.toml, line 1: procs: must be at least 1, got -3"
    ):
        read_cluster(path)


def test_figures_are_written(run, log, tmp_path):
    code, _, err = run(log, "--figures", tmp_path / "figures", "--power-busy", 2, "--power-idle", 1)
    assert code == 0
    assert "7 figures in" in err
    assert (tmp_path / "figures" / "simulate.html").stat().st_size > 1_000_000


def test_ctrl_c_stops_within_seconds_and_leaves_no_file(tmp_path):
    """A long queue under a time-dependent order takes minutes; the signal comes while it runs."""
    jobs = 400_000
    log = onega.Workload(
        {
            "submit": np.arange(jobs) * 1.0,
            "runtime": np.full(jobs, 100.0),
            "procs": np.ones(jobs, np.int64),
        },
        onega.Meta(procs=50),
    )
    onega.write(log, tmp_path / "log.parquet")
    (tmp_path / "out").mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", "from onega.cli import main; main()", "simulate",
         "log.parquet", "--procs", "50", "--policy", "wfp3", "--out", "out"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 200
        while not any((tmp_path / "out").iterdir()):  # the files beside their places
            assert child.poll() is None, child.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.0)
        assert child.poll() is None, "the simulation was over before it could be stopped"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130
    assert err.splitlines()[-1] == "onega: stopped"
    assert "Traceback" not in err
    assert files(tmp_path / "out") == []


def test_the_screen_measures_the_machine_over_the_window_and_the_json_over_both(run, tmp_path):
    """One long last job: 90 % busy in the window, a quarter over the whole run."""
    path = tmp_path / "hourly.swf"
    onega.write(hourly(), path)
    code, out, _ = run(path, "--procs", 10, *POWER)
    assert code == 0
    assert re.search(r"utilisation *│ *90.0 %", out)
    said = " ".join(out.split())
    assert "1 January 2024 08:00 to 22 January 2024 00:00" in said
    assert "from when the machine had filled to the last submission. Waits are of all jobs." in said
    numbers = json.loads(run(path, "--procs", 10, *POWER, "--json")[1])
    assert numbers["utilisation"] == pytest.approx(BUSY_OF_ALL)
    assert numbers["window_utilisation"] == pytest.approx(0.9)
    assert (numbers["window"], numbers["window_start"]) == ("log", 8 * 3600.0)
    assert numbers["window_mean_power"] > numbers["mean_power"]
    assert any("still ran at its last submission" in line for line in numbers["warnings"])


def test_another_window_can_be_asked_for(run, tmp_path):
    path = tmp_path / "hourly.swf"
    onega.write(hourly(), path)
    _, out, _ = run(path, "--procs", 10, "--window", "whole")
    assert re.search(r"utilisation *│ *30.7 %", out)
    _, out, _ = run(path, "--procs", 10, "--window", "2024-01-03..2024-01-05")
    assert "Waits are of the 48 jobs submitted then" in " ".join(out.split())
    assert run(path, "--procs", 10, "--window", "2d..4d", "--json")[0] == 0
    code, out, err = run(path, "--procs", 10, "--window", "always")
    assert (code, out) == (2, "")
    assert "unknown window 'always'; accepted: log" in err


def test_large_energies_are_written_out(run, log):
    _, out, _ = run(log, "--policy", "easy", "--power-busy", "5e9", "--power-idle", "1e9")
    assert "e+" not in out
    assert "GWh" in out or "MWh" in out


def test_a_size_that_can_t_be_right_is_said_before_the_numbers(run, tmp_path):
    log = tmp_path / "hourly.csv"
    jobs = hourly()
    onega.write(onega.Workload(jobs.table, replace(jobs.meta, procs=None)), log)
    _, printed, _ = run(log, "--procs", 4)
    words = " ".join(printed.split())
    assert words.index("4 processors can't be right") < words.index("mean wait")
    numbers = json.loads(run(log, "--procs", 4, "--json")[1])
    assert numbers["size_warning"].startswith("4 processors can't be right")
    assert json.loads(run(log, "--procs", 10, "--json")[1])["size_warning"] is None
    assert "still ran at its last submission" in words  # warnings are on the screen too


@pytest.mark.parametrize(
    ("procs", "said"),
    [(2, "no job waited longer"), (1, "one job in twenty waited longer")],
)
def test_nothing_is_said_of_longer_waits_where_there_are_none(run, tmp_path, procs, said):
    """Two jobs at a time: on two processors none waits, on one every second waits a minute."""
    path = tmp_path / "log.swf"
    submit = [600.0 * (job // 2) for job in range(40)]
    jobs = {"submit": submit, "runtime": [60.0 + job for job in range(40)], "procs": [1] * 40}
    onega.write(onega.Workload(jobs), path)
    _, out, _ = run(path, "--procs", procs)
    (line,) = (line for line in out.splitlines() if "95 % wait" in line)
    assert said in line


def test_where_nearly_no_job_waits_the_95_percent_wait_says_so(run, tmp_path):
    """Of 40 jobs one waits: it comes with another, on one processor."""
    path = tmp_path / "log.swf"
    submit = [0.0, *(600.0 * job for job in range(39))]
    jobs = {"submit": submit, "runtime": [60.0] * 40, "procs": [1] * 40}
    onega.write(onega.Workload(jobs), path)
    _, out, _ = run(path, "--procs", 1)
    assert "fewer than one job in twenty waited" in out
