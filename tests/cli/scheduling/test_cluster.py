"""``onega cluster``: the file it writes, and what it says of a log that doesn't fit."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from onega.cli.app import main
from onega.core.machine.settings.description import setting_names
from onega.core.machine.settings.making import make_cluster
from onega.core.machine.settings.reading import check_settings, read_cluster
from onega.core.machine.settings.template import make_template
from places import ROOT

TEMPLATE = make_template()
LOG = """\
; MaxProcs: 16
; UnixStartTime: 0
1 0 -1 100 4 -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1
2 5 -1 100 16 -1 -1 16 120 -1 1 1 1 1 1 1 -1 -1
3 9 -1 100 2 -1 4096 2 7200 -1 1 2 1 1 2 2 -1 -1
4 9 -1 100 2 -1 -1 2 120 -1 1 2 1 1 3 1 -1 -1
"""


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return path


def run(capfd, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(one) for one in arguments])
    said = capfd.readouterr()
    return left.value.code, said.out, said.err


def everything_on(text):
    """The template with every setting switched on."""
    return re.sub(r"(?m)^#(?=[\w\[])", "", text)


def test_the_template_is_a_machine_as_it_is_and_with_everything_on():
    assert make_cluster(check_settings(tomllib.loads(TEMPLATE))).is_plain
    full = make_cluster(check_settings(tomllib.loads(everything_on(TEMPLATE))))
    assert full.procs == 128
    assert full.interruption.interval == 3600


def test_the_template_shows_every_setting():
    """Each key of each table stands in it, so that nobody has to guess a name."""
    for name in setting_names():
        assert re.search(rf"\b{name.rpartition('.')[2]}\b", TEMPLATE), name


def test_init_writes_once(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capfd, "cluster", "init")[:2] == (0, "cluster.toml\n")
    assert read_cluster("cluster.toml").procs == 128
    (tmp_path / "cluster.toml").write_text("procs = 3\n")
    code, out, err = run(capfd, "cluster", "init")
    assert (code, out) == (2, "")
    assert "is there already" in err
    assert (tmp_path / "cluster.toml").read_text() == "procs = 3\n"
    code, out, _ = run(capfd, "cluster", "init", "other.toml", "--json")
    assert (code, json.loads(out)) == (0, {"path": "other.toml"})


def test_a_log_that_fits(tmp_path, capfd, log):
    machine = tmp_path / "machine.toml"
    machine.write_text("[power]\nbusy = 1.0\n")
    code, out, _ = run(capfd, "cluster", "check", machine, log)
    assert (code, out) == (0, "all 4 jobs fit 16 processors\n")
    code, out, _ = run(capfd, "cluster", "check", machine, log, "--json")
    assert code == 0
    assert json.loads(out) == {
        "fits": True,
        "jobs": 4,
        "procs": 16,
        "unfit_jobs": 0,
        "misfits": [],
        "notes": [
            "noted 1: jobs need memory, which the machine doesn't describe; it is left out of "
            "account"
        ],
    }


MISFITS = {
    "width": ("[[partitions]]\nname = 1\nprocs = 8\ndefault = true", [2], "wider than the machine"),
    "partition": ("[[partitions]]\nname = 1\nprocs = 16", [3], "describe their partition"),
    "queue": ("[[queues]]\nname = 1\n[[queues]]\nname = 2", [4], "describe their queue"),
    "node": (
        '[[nodes]]\ncount = 16\nmemory = "3MB"',
        [3],
        "memory on one node, and the largest node",
    ),
    "limit": ("[user_limits]\nmax_procs = 8", [2], "wider than a user may have"),
    "time": ('[[queues]]\nname = 1\nmax_time = "1h"\ndefault = true', [3], "longer than queue 1"),
    "power": ("power_cap = 100\n[power]\nbusy = 10\nidle = 1", [2], "the power cap of 100 W"),
}


@pytest.mark.parametrize("rule", MISFITS)
def test_what_does_not_fit_is_named(tmp_path, capfd, log, rule):
    text, jobs, why = MISFITS[rule]
    machine = tmp_path / "machine.toml"
    machine.write_text(text + "\n")
    code, out, err = run(capfd, "cluster", "check", machine, log, "--json")
    assert code == 2, err
    found = json.loads(out)
    assert not found["fits"]
    assert found["unfit_jobs"] == len(jobs)
    (one,) = found["misfits"]
    assert (one["rule"], one["jobs"], one["count"]) == (rule, jobs, len(jobs))
    assert why in one["why"]
    code, out, _ = run(capfd, "cluster", "check", machine, log)
    assert code == 2
    assert out.startswith("1 of 4 jobs: ")
    assert f"(job {jobs[0]})" in out


NOTES = {
    "a mistyped default": (
        "procs = 16\n[[queues]]\nname = 7\ndefault = true\n[[queues]]\nname = 2",
        ["noted 3: their queue (1, 3) isn't described; they are in 7, the default",
         "noted 1: no job of the log is in queue 7"],
    ),
    "a share of nobody": (
        "procs = 16\n[multifactor]\nshares = {17 = 3}\n[[queues]]\nname = 1\ndefault = true",
        ["noted 1: shares of users that the log doesn't have: 17; it has 1, 2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTES)
def test_what_only_one_side_knows_is_noted(tmp_path, capfd, log, case):
    text, told = NOTES[case]
    machine = tmp_path / "machine.toml"
    machine.write_text(text + "\n")
    code, _, err = run(capfd, "cluster", "check", machine, log)
    assert code == 0
    for line in told:
        assert f"onega: {line}\n" in err
    _, out, _ = run(capfd, "cluster", "check", machine, log, "--json")
    assert set(told) <= set(json.loads(out)["notes"])


def test_what_jobs_are_held_against_is_said(tmp_path, capfd, log):
    machine = tmp_path / "machine.toml"
    machine.write_text(
        '[[nodes]]\ncount = 3\nprocs = 4\nmemory = "48000M"\n'
        '[[nodes]]\ncount = 1\nprocs = 4\nmemory = "512000M"\n'
    )
    code, out, _ = run(capfd, "cluster", "check", machine, log)
    assert code == 0  # 48000/1024 = 46.875, 512000/1024 = 500
    assert out == (
        "all 4 jobs fit 16 processors on 4 nodes with 46.88 GiB to 500 GiB of memory each\n"
    )


@pytest.mark.parametrize("given", ["48000", '"48000"', "1547000.0"])
def test_memory_without_a_unit_that_no_node_has(tmp_path, capfd, log, given):
    machine = tmp_path / "machine.toml"
    machine.write_text(f"[[nodes]]\ncount = 16\nmemory = {given}\n")
    code, _, err = run(capfd, "cluster", "check", machine, log)
    assert code == 2
    number = given.strip('"').removesuffix(".0")
    assert f"{number} bytes are less than a node has; give the unit, e.g. '{number}M'" in err
    machine.write_text(f"[[nodes]]\ncount = 16\nmemory = {2**34}\n")
    assert run(capfd, "cluster", "check", machine, log)[0] == 0


def test_several_reasons_at_once_and_demands(tmp_path, capfd, log):
    machine = tmp_path / "machine.toml"
    machine.write_text("procs = 8\n[resources]\nmatlab = 2\n")
    demands = tmp_path / "demands.csv"
    demands.write_text("job,matlab\n1,3\n3,1\n")
    code, out, _ = run(capfd, "cluster", "check", machine, log, "--demands", demands)
    assert code == 2
    assert out.splitlines() == [
        "1 of 4 jobs: wider than the machine of 8 processors, with 16 (job 2)",
        "1 of 4 jobs: they need 3 of matlab, and the machine has 2 (job 1)",
    ]


def test_a_file_that_makes_no_machine(tmp_path, capfd, log):
    machine = tmp_path / "machine.toml"
    machine.write_text("procs = 16\n[[nodes]]\ncount = 2\n")
    code, _, err = run(capfd, "cluster", "check", machine, log)
    assert code == 2
    assert "machine.toml: the nodes have 2 processors together, the machine 16" in err


@pytest.mark.parametrize("page", ["machine.md", "replay-with-failures.md", "simulator.md"])
def test_the_files_in_the_docs_are_machines(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found
    for block in found:
        assert make_cluster(check_settings(tomllib.loads(block))).procs > 0
