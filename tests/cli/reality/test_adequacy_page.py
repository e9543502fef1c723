"""The commands of docs/adequacy.md on small logs, those in its sentences too, and what they answer.

Those with a real Slurm run where there is one.
"""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import onega
from onega.cli.app import main
from onega.comparison.adequacy.events import EventLog
from onega.comparison.virtual_slurm.tools import MESSAGE, have_slurm
from places import ROOT, made

PAGE = ROOT / "docs" / "adequacy.md"
SMALLER = (
    ("--procs 1024", "--procs 16"),
    ("--procs 128", "--procs 8"),
    ("--procs 100", "--procs 16"),
    ("--procs 120", "--procs 16"),
    ("--sample 1000", "--sample 50"),
    ("--sample 400", "--sample 50"),
    ("--sample 300", "--sample 50"),
    ("--shrink 60", "--shrink 2000"),
    ("--repeat 3", "--repeat 2"),
    ("--draws 40", "--draws 4"),
    ("/etc/slurm/", ""),
)
"""What is made smaller so that a command takes seconds; names of files stay."""


def commands():
    text = PAGE.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line[2:].partition("  #")[0].strip() for block in blocks for line in block.split("\n")]
    return [line for line in lines if line.startswith("onega ")]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The files that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    runtime = rng.integers(10, 30, 12).astype(float)
    submit, procs = np.cumsum(rng.integers(0, 8, 12)).astype(float), rng.integers(1, 8, 12)
    table = {"submit": submit, "runtime": runtime, "procs": procs, "estimate": 2 * runtime}
    jobs = onega.Workload(table, onega.Meta(procs=16))
    for name in ("jobs.swf", "heavy.swf", "low.swf", "night.swf"):
        onega.write(jobs, name)
    for name, policy in (("REAL.swf", "easy"), ("MODEL.swf", "fcfs")):
        wait = onega.simulate(jobs, 16, policy).start - submit
        onega.write(onega.Workload(table | {"wait": wait}, onega.Meta(procs=16)), name)
    lines = ["JobID|Submit|Start|End|NCPUS|Timelimit|State|User"]
    lines += [
        f"{k}|2026-01-01T00:{k:02d}:00|2026-01-01T00:{k:02d}:30|2026-01-01T00:{k:02d}:50|4|00:10:00"
        "|COMPLETED|u" for k in range(12)
    ]  # fmt: skip
    Path("site.sacct").write_text("\n".join(lines) + "\n")
    Path("slurm.conf").write_text("SchedulerParameters=bf_interval=45\n")
    for name in ("real", "model"):
        log = onega.read(f"{name.upper()}.swf")
        EventLog.of(onega.Schedule.observed(log)).write(f"EVENTS/{name}")
    Path("MACHINE.toml").write_text("procs = 16\n")
    Path("DIR").mkdir()
    Path("OTHER").mkdir()
    for name in ("laws.json", "OTHER/overheads.json"):
        onega.Overheads(completion=1.0).save(name)
    return tmp_path


def pretend_runs():
    """What `onega virtual` would have left in DIR, and in JUMPED."""
    Path("JUMPED").mkdir()
    Path("JUMPED/run-1.swf").write_bytes(Path("MODEL.swf").read_bytes())
    Path("jobs.swf").rename("DIR/stream.swf")
    Path("REAL.swf").rename("DIR/run-1.swf")
    Path("MODEL.swf").rename("DIR/run-2.swf")
    Path("laws.json").rename("DIR/overheads.json")
    Path("DIR/report.json").write_text('{"procs": 16, "scheduler_parameters": ""}')


def test_the_page_has_commands():
    assert len(commands()) >= 10


@pytest.mark.parametrize("command", commands())
def test_command(command, here, capsys):
    if command.startswith("onega virtual") and not have_slurm():
        pytest.skip(MESSAGE)
    if "--clock jumping" in command and not shutil.which("cc"):
        pytest.skip("a jumping clock needs a C compiler")
    for there, small in SMALLER:
        command = command.replace(there, small)
    if command.startswith(("onega reproduce adequacy", "onega adequacy DIR/run-1.swf")):
        pretend_runs()
    elif "DIR/overheads.json" in command:
        Path("laws.json").rename("DIR/overheads.json")
    for log in ("KTH-SP2-1996-2.1-cln.swf.gz", "HPC2N-2002-2.2-cln.swf.gz"):
        command = command.replace(log, str(made("made-100.swf")))
    words = shlex.split(command)[1:]
    shown = run(words, capsys).partition("\n")[0]
    check = {"adequacy": adequacy, "simulate": simulate, "compare-policies": compare_policies}
    if words[0] in check:
        check[words[0]](words, shown, json.loads(run([*words, "--json"], capsys)))
    elif words[0] == "virtual":
        report = json.loads(Path(after("-o", words), "report.json").read_text())
        assert report["procs"] == int(after("--procs", words))
    else:
        assert words[:2] == ["reproduce", "adequacy"]
        assert "Table I" in shown


def run(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    told = capsys.readouterr()
    assert not ended.value.code, told.err
    return told.out


def after(flag, words):
    return words[words.index(flag) + 1]


def adequacy(words, shown, answer):
    assert answer["defined"]
    if "--simulate" in words:
        policies = after("--simulate", words).split(",")
        assert shown.strip() == f"{words[1]} on 16 processors"
        assert answer["policies"] == policies
        assert all(answer[f"{policy}.P"] >= 0 for policy in policies)
        return
    one, other = (Path(name) for name in words[1:3])
    assert shown.strip() == f"{one.name} and {other.name}"
    # FCFS beside EASY, whatever the two are called: E² is the sum over the jobs' waits.
    start = [onega.simulate(onega.read("low.swf"), 16, policy).start for policy in ("easy", "fcfs")]
    assert answer["E"] == pytest.approx(np.linalg.norm(start[0] - start[1])) != 0


def simulate(words, shown, answer):
    policy = after("--policy", words)
    assert shown.startswith(f"{policy} on 16 processors, 12 jobs")
    assert answer["policy"] == policy
    assert answer["mean_wait"] > 0


def compare_policies(words, shown, answer):
    assert shown.startswith("mean wait")
    for policy in after("--policies", words).split(","):
        assert answer[f"{onega.Policy.parse(policy)}_mean_wait"] > 0


def scripts():
    """Commands that run a file of the repository, in sentences and blocks."""
    return re.findall(r"(?:`|\$ )python (examples/[^`\n]*)", PAGE.read_text(encoding="utf-8"))


def test_the_page_has_scripts():
    assert scripts()


@pytest.mark.parametrize("command", scripts())
def test_script(command, here, monkeypatch):
    script, out = command.split()
    monkeypatch.setattr(sys, "argv", [script, out])
    runpy.run_path(str(ROOT / script), run_name="__main__")
    submit = onega.read(out).column("submit")
    assert submit.size == 120
    assert np.diff(submit).max() > 2 * 3600  # the night


def test_no_command_of_this_page_hides_in_a_sentence():
    """In a sentence a command has words in the place of values: LOG, STREAM, DIR, FILE, N, …."""
    prose = re.sub(r"```.*?```", "", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    inline = [one.split() for one in re.findall(r"`[^`]*?\b(onega \w[^`]*)`", prose)]
    whole = [" ".join(one) for one in inline if len(one) > 2]
    assert whole
    hidden = [one for one in whole if not re.search(r"\b[A-Z]{2,}\b", one)]
    assert [one for one in hidden if not any(line.startswith(one) for line in commands())] == []
