"""The commands of docs/adequacy.md on small logs; those with a real Slurm where there is one."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

import onega
from onega.cli.app import main
from onega.comparison.virtual_slurm.tools import MESSAGE, have_slurm
from places import made

PAGE = Path(__file__).parents[3] / "docs" / "adequacy.md"
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
    for name in ("jobs.swf", "heavy.swf", "low.swf"):
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
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert not ended.value.code, capsys.readouterr().err
