"""A site's log against simulations of it, and the command."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import onega
from onega.comparison.adequacy.site import UNKNOWN, site_adequacy
from places import shared


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-c", "from onega.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.fixture(scope="module")
def site():
    """A log whose waits EASY made: EASY explains it, FCFS doesn't."""
    rng = np.random.default_rng(11)
    jobs = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(40, 300)).round(),
            "runtime": rng.integers(10, 900, 300).astype(float),
            "procs": 2 ** rng.integers(0, 5, 300),
            "estimate": rng.integers(900, 1800, 300).astype(float),
        },
        onega.Meta(procs=32, epoch=1.7e9),
    )
    schedule = onega.simulate(jobs, 32, "easy")
    wait = pl.Series("wait", schedule.start - jobs.column("submit"))
    return jobs.with_columns(wait, note="waits of EASY")


def test_the_policy_that_made_the_waits_is_found(site):
    result = site_adequacy(site, ["fcfs", "easy"])
    assert result.best == "easy"
    assert result.results["easy"].P == pytest.approx(0, abs=1e-6)
    assert result.results["fcfs"].P > 0
    flat = result.summary()
    assert flat["policy"] == "easy"
    assert flat["fcfs.P"] == result.results["fcfs"].P
    assert result.to_polars()["policy"].to_list() == ["fcfs", "easy"]
    for words in UNKNOWN:
        assert words in result.sentence()
    assert len(result.plot("along").data) == 2


def test_jobs_that_cannot_take_part_are_reported(site):
    broken = site.with_columns(
        pl.when(pl.col("job") == 1).then(None).otherwise(pl.col("wait")).alias("wait"),
        pl.when(pl.col("job") == 2).then(99).otherwise(pl.col("procs")).alias("procs"),
        pl.when(pl.col("job") == 3).then(0.0).otherwise(pl.col("runtime")).alias("runtime"),
        note="broken",
    )
    result = site_adequacy(broken, ["easy"], procs=32)
    assert result.report.count("never_ran") == 2
    assert result.report.count("too_wide") == 1
    assert result.results["easy"].jobs == 297


def test_a_log_without_waits_is_refused(site):
    bare = site.with_columns(pl.lit(None, dtype=pl.Float64).alias("wait"), note="no waits")
    with pytest.raises(onega.SimulationError, match="observed waits"):
        site_adequacy(bare, ["easy"], procs=32)
    with pytest.raises(onega.SimulationError, match="at least one policy"):
        site_adequacy(site, [])


def test_the_command_compares_two_logs(site, tmp_path):
    onega.write(site, tmp_path / "real.swf")
    slower = site.with_columns(pl.col("wait") + 3, note="later")
    onega.write(slower, tmp_path / "model.swf")
    done = command("adequacy", tmp_path / "real.swf", tmp_path / "model.swf", "--json",
                   "--reference", "3.5")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    keys = {"defined", "reason", "jobs", "E", "P", "different", "prefixes", "reference", "adequate"}
    assert keys <= set(answer)
    assert (answer["P"], answer["jobs"], answer["different"]) == (pytest.approx(3), 300, 300)
    assert answer["adequate"] is True
    assert [row["jobs"] for row in answer["prefixes"]] == [50, 100, 250, 300]
    farther = command("adequacy", tmp_path / "real.swf", tmp_path / "model.swf",
                      "--reference", "2.5")  # fmt: skip
    assert farther.returncode == 1
    assert "further from the real system" in farther.stdout
    spoken = command("adequacy", tmp_path / "real.swf", tmp_path / "model.swf")
    assert "P without the ten worst jobs" in spoken.stdout


def test_a_machine_of_unknown_size_is_asked_for(site, tmp_path):
    unknown = onega.Workload(site.table)
    with pytest.raises(onega.SimulationError, match="how many processors the machine has"):
        site_adequacy(unknown, ["easy"])
    onega.write(unknown, tmp_path / "real.csv")
    done = command("adequacy", tmp_path / "real.csv", "--simulate", "easy")
    assert done.returncode == 2
    assert "give --procs N" in done.stderr


def test_the_command_says_why_it_is_undefined(site, tmp_path):
    onega.write(site, tmp_path / "real.swf")
    onega.write(site.head(299), tmp_path / "model.swf")
    done = command("adequacy", tmp_path / "real.swf", tmp_path / "model.swf", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1  # no: the sides aren't one stream
    assert (answer["defined"], answer["P"], answer["adequate"]) == (False, None, None)
    assert answer["job_at_fault"] == 300
    assert "300 in reality, 299 in the model" in answer["reason"]


def test_the_command_simulates_a_log_writes_events_and_figures(site, tmp_path):
    onega.write(site, tmp_path / "real.swf")
    done = command("adequacy", tmp_path / "real.swf", "--simulate", "easy,fcfs", "--procs", 32,
                   "--events", tmp_path / "ev", "--figures", tmp_path / "fig")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Nearest is easy" in done.stdout
    assert "reservations" in done.stdout
    page = (tmp_path / "fig" / "adequacy.html").read_text()
    assert page.count('class="figure"') == 4
    again = command("adequacy", tmp_path / "ev" / "real", tmp_path / "ev" / "model", "--json")
    assert json.loads(again.stdout)["P"] == pytest.approx(0, abs=1e-6)


def test_the_command_says_that_skill_is_undefined_and_why(site, tmp_path):
    for waits, ending in ((0.0, "the observed one 0 s."), (5.0, "times the observed one.")):
        equal = site.with_columns(pl.lit(waits).alias("wait"), note="all the same")
        onega.write(equal, tmp_path / "real.swf")
        words = ("adequacy", tmp_path / "real.swf", "--simulate", "easy", "--procs", 32)
        done = command(*words)
        said = " ".join(done.stdout.split())
        assert "nan" not in said
        assert "undefined" in said
        assert "its skill is undefined: jobs of like widths all waited the same" in said
        assert ending in said
    answer = json.loads(command(*words, "--json").stdout)
    assert answer["skill"] is answer["easy.skill"] is None
    assert "waited the same" in answer["skill_reason"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("adequacy", "x.swf"), "give either a second log"),
        (("adequacy", "x.swf", "y.swf", "--simulate", "easy"), "give either a second log"),
        (("adequacy", "x.swf", "--simulate", "easy", "--knowledge", "all"), "--knowledge all"),
        (("adequacy", "no-such-file", "y.swf"), "no-such-file"),
    ],
)
def test_misuse_is_one_line_and_code_2(arguments, words, tmp_path):
    done = command(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_archive_log():
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    result = site_adequacy(log, ["easy"])
    one = result.results["easy"]
    assert one.jobs + result.report.dropped == len(log)
    assert one.sources().hour.height == 24


def test_what_a_machine_describes_is_not_called_unknown(site, tmp_path):
    """The simulator knows fair share and nodes; only what wasn't described isn't simulated."""
    plain = site_adequacy(site, ["easy"])
    assert UNKNOWN[1] in plain.not_described
    assert "doesn't know" not in plain.sentence()
    assert "Not described" in plain.sentence()
    owned = site.with_columns((pl.col("job") % 5).cast(pl.Int32).alias("user"), note="with users")
    fair = site_adequacy(owned, ["multifactor+easy"])
    assert UNKNOWN[1] not in fair.not_described
    assert UNKNOWN[1] not in fair.sentence()
    assert UNKNOWN[1] in site_adequacy(site, ["slurm", "easy"]).not_described
    nodes = onega.Cluster(nodes=[onega.NodeGroup(32, 1)])
    detailed = site_adequacy(site, ["easy"], cluster=nodes)
    assert UNKNOWN[3] not in detailed.summary()["unknown_to_the_simulator"]
    assert detailed.results["easy"].model.cluster.nodes


def test_the_command_takes_a_machine_a_map_and_a_zone(site, tmp_path):
    table = site.table.select("job", "submit", "runtime", "procs", "estimate", "wait")
    table.rename({"procs": "breadth"}).write_csv(tmp_path / "log.csv")
    (tmp_path / "map.toml").write_text('[columns]\nprocs = "breadth"\n')
    (tmp_path / "machine.toml").write_text("procs = 32\n[[queues]]\nname = 1\ndefault = true\n")
    how = ["--map", tmp_path / "map.toml", "--timezone", "Europe/Paris"]
    done = command(
        "adequacy", tmp_path / "log.csv", "--simulate", "easy",
        "--cluster", tmp_path / "machine.toml", *how, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["P"] == pytest.approx(0, abs=1e-6)
    assert UNKNOWN[1] not in found["unknown_to_the_simulator"]
    refused = command(
        "adequacy", tmp_path / "log.csv", tmp_path / "log.csv",
        "--cluster", tmp_path / "machine.toml", *how,
    )  # fmt: skip
    assert refused.returncode == 2
    assert "--simulate" in refused.stderr
