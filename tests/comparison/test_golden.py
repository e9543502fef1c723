"""Golden schedules: what is written, what is refused, and the small logs of docs/golden."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import onega
from onega.comparison.golden import decimal, golden, hold_against, read_golden
from onega.core.errors import TraceError
from onega.core.workload.workload import Workload
from onega.traces.cleaning import simulable
from places import ROOT
from reference.schedulers import Job, simulate

PLACE = ROOT / "docs" / "golden"
LOGS = sorted(path.stem for path in PLACE.glob("*.swf"))
POLICIES = {"fcfs": None, "easy": "easy", "conservative": "conservative"}
TIES = ["instant", "event"]


def command(*words) -> subprocess.CompletedProcess:
    line = [sys.executable, "-c", "from onega.cli import main; main()", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=600, check=False)


def twin_rows(log: Workload, backfill: str | None, ties: str) -> dict:
    """Starts and ends by the naive scheduler, by job id."""
    table = log.table.filter((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    if not table["submit"].is_sorted():
        table = table.sort("submit", "job")
    rows = table.select("submit", "runtime", "estimate", "procs").rows()
    jobs = [Job(s, r, r if e is None else e, p) for s, r, e, p in rows]
    out = simulate(jobs, log.meta.procs, "fcfs", backfill, ties)
    return dict(zip(table["job"], zip(out.start, out.end)))


def test_every_small_log_has_its_schedules():
    assert len(LOGS) >= 7
    made = {path.name for path in PLACE.glob("*.golden")}
    assert made == {
        f"{log}.{policy}.{ties}.golden" for log in LOGS for policy in POLICIES for ties in TIES
    }


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", LOGS)
def test_small_logs_by_simulator_and_twin(name, policy, ties):
    log = onega.read(PLACE / f"{name}.swf")
    text = (PLACE / f"{name}.{policy}.{ties}.golden").read_text()
    facts, rows = read_golden(text.splitlines(), name)
    assert rows == twin_rows(log, POLICIES[policy], ties)
    jobs, report = simulable(log)
    schedule = onega.simulate(jobs, log.meta.procs, policy, ties=ties)
    assert golden(schedule, ties=ties, left_out=report.dropped).text == text
    assert (
        facts["sha256"]
        == hashlib.sha256(
            "".join(line + "\n" for line in text.splitlines() if line[0] != ";").encode()
        ).hexdigest()
    )


def test_the_page_tells_the_schedule_of_its_example():
    page = (ROOT / "docs" / "golden.md").read_text()
    told = {
        int(job): (float(instant), float(event))
        for job, instant, event in re.findall(
            r"^\| (\d+) (?:\| \d+ ){4}\| (\d+) \| (\d+) \|$", page, re.MULTILINE
        )
    }
    for number, ties in enumerate(TIES):
        text = (PLACE / f"ties.easy.{ties}.golden").read_text()
        rows = read_golden(text.splitlines(), "ties")[1]
        assert {job: start for job, (start, _) in rows.items()} == {
            job: starts[number] for job, starts in told.items()
        }


@pytest.mark.parametrize(
    ("log", "policy", "ties"),
    [
        ("KTH-SP2-1996-2.1-cln", "easy", "instant"),
        ("KTH-SP2-1996-2.1-cln", "easy", "event"),
        ("KTH-SP2-1996-2.1-cln", "conservative", "event"),
        ("HPC2N-2002-2.2-cln", "easy", "instant"),
    ],
)
def test_checksums_of_archive_logs_are_those_of_the_page(shared, log, policy, ties):
    page = (ROOT / "docs" / "golden.md").read_text()
    (row,) = re.findall(rf"^\| {log} \|.*\| {policy} \| `(\w+)` \| `(\w+)` \|$", page, re.MULTILINE)
    raw = onega.read(shared("traces", f"{log}.swf.gz"))
    jobs, _ = simulable(raw)
    schedule = onega.simulate(jobs, raw.meta.procs, policy, ties=ties)
    assert golden(schedule, ties=ties).sha256.startswith(row[TIES.index(ties)])


@pytest.mark.parametrize("seconds", [0.0, 12.0, 0.1, 1 / 3, 1e15, 123456.789, 2.0**60])
def test_times_come_back_the_same(seconds):
    assert float(decimal(seconds)) == seconds


def test_differences_are_named(tmp_path):
    log = PLACE / "backfill.swf"
    rows = read_golden((PLACE / "backfill.easy.instant.golden").read_text().splitlines(), "x")[1]
    schedule = onega.simulate(onega.read(log), 4, "conservative")
    found = hold_against(schedule, rows)
    assert (found.jobs, found.same) == (6, False)
    assert (found.differs, found.golden_start, found.other_start) == (4, 25.0, 3.0)
    same = np.array([schedule.start[row] == rows[row + 1][0] for row in range(6)])
    assert found.equal == same.sum()
    del rows[1]
    rows[99] = (0.0, 1.0)
    found = hold_against(schedule, rows)
    assert (found.only_golden, found.only_other) == ((1,), (99,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0\n", "'job start end'"),
        ("1 0 nan\n", "'job start end'"),
        ("1 0 5 7\n", "'job start end'"),
        ("one 0 5\n", "'job start end'"),
        ("1 0 5\n1 0 5\n", "twice"),
        ("; sha256: 00\n1 0 5\n", "sha256"),
    ],
)
def test_rubbish_is_refused(text, message):
    with pytest.raises(TraceError, match=message):
        read_golden(text.splitlines(), "theirs.txt")


def test_the_command(tmp_path):
    log, file = PLACE / "ties.swf", tmp_path / "easy.golden"
    done = command("golden", log, "--policy", "easy", "--ties", "event", "-o", file)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == (PLACE / "ties.easy.event.golden").read_bytes()
    assert command("golden", log, "--ties", "event", "--check", file).returncode == 0
    done = command("golden", log, "--check", file, "--json")
    assert done.returncode == 1
    numbers = json.loads(done.stdout)
    assert (numbers["compared"], numbers["equal"], numbers["first_different_job"]) == (6, 2, 3)
    assert "ties is event there, instant here" in done.stderr
    refused = (
        ["--check", tmp_path / "none"],
        ["--check", file, "-o", tmp_path / "other"],
        ["--policy", "slurm:fine"],
    )
    for words in refused:
        done = command("golden", log, *words)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
    assert "slurm:fine has no golden schedule" in done.stderr
    assert list(tmp_path.iterdir()) == [file]


def test_what_other_programs_write_around_the_same_rows(tmp_path):
    log, file = PLACE / "ties.swf", tmp_path / "theirs.txt"
    text = (PLACE / "ties.easy.instant.golden").read_text()
    head, rows = text[: text.index("\n1 ") + 1], text[text.index("\n1 ") + 1 :]
    number = head.partition("sha256: ")[2].strip()
    variants = {
        "mark": "\ufeff" + text,
        "rows alone, with a mark": "\ufeff" + rows,
        "capitals": text.replace(number, number.upper()),
        "tabs": head + rows.replace(" ", "\t"),
        "carriage returns": text.replace("\n", "\r\n"),
    }
    for name, variant in variants.items():
        file.write_bytes(variant.encode())
        done = command("golden", log, "--check", file)
        assert done.returncode == 0, (name, done.stderr)
    file.write_text(head + rows.replace("10", "11").replace(" ", "\t"))
    assert command("golden", log, "--check", file).returncode == 2


def test_ids_that_are_given_twice_are_refused():
    jobs = {"job": [7, 8, 7], "submit": [0.0] * 3, "runtime": [1.0] * 3, "procs": [1] * 3}
    schedule = onega.simulate(onega.Workload(jobs), 2, "easy")
    with pytest.raises(TraceError, match=r"2 jobs share ids \(the first: 7\)"):
        golden(schedule, ties="instant")
