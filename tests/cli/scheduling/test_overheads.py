"""``--overheads`` of the commands that simulate: the model of Slurm with what Slurm adds."""

from __future__ import annotations

import json

import pytest

import onega
from onega.cli.app import main
from places import made

LOG = str(made("made-100.swf"))
LAWS = "completion=gamma(mean=20, sd=5); release=10s; report=0.5"


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code or 0


def answer(capsys, *words):
    assert run(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def service(found):
    return found["mean_response"] - found["mean_wait"]


@pytest.mark.parametrize("policy", ["slurm", "slurm:fine", "easy"])
def test_simulate(capsys, policy, tmp_path):
    plain = answer(capsys, "simulate", LOG, "--policy", policy)
    options = ("simulate", LOG, "--policy", policy, "--seed", "3", "--overheads")
    with_laws = answer(capsys, *options, LAWS)
    # Waits take other turns; what a job runs for is longer by what was given.
    assert service(with_laws) == pytest.approx(service(plain) + 20, abs=2)
    onega.Overheads.parse(LAWS).save(tmp_path / "laws.json")
    assert answer(capsys, *options, str(tmp_path / "laws.json")) == with_laws
    measured = answer(capsys, *options, "measured", "--out", str(tmp_path / "run"))
    # The model of Slurm counts run times from the whole second of a start: a second more or less.
    less = 1 if policy.startswith("slurm") else 0
    assert service(plain) - less < service(measured) < service(with_laws)
    assert (tmp_path / "run" / "events.csv").exists() == (policy == "easy")


def test_the_screen_says_what_was_drawn_and_what_is_unknown(capsys):
    words = ("simulate", LOG, "--policy", "slurm:bf_foo=3")
    for more, said in ((("--overheads", LAWS), True), ((), False)):
        assert run(*words, *more) == 0
        told = capsys.readouterr()
        assert ("one draw of the overheads" in told.out) is said
        assert "not in the model of Slurm, and left out: bf_foo=3" in told.err


def test_simulate_with_a_slurm_conf(capsys, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text("SchedulerParameters=bf_interval=45,bf_resolution=300\n")
    found = answer(
        capsys, "simulate", LOG, "--policy", f"slurm:{conf}", "--overheads", LAWS, "--seed", "1"
    )
    assert found["policy"] == f"slurm:{conf}"
    assert "overheads (completion gamma" in found["provenance"]


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "--policy", ""),
        ("adequacy", "--simulate", "easy,"),
        ("compare-policies", "--resample", "none", "--policies", "easy,"),
    ],
)
def test_settings_outside_the_model_are_named_once_by_every_command(capsys, tmp_path, words):
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "PriorityType=priority/multifactor\nPriorityWeightFairshare=50000\nPriorityWeightQOS=0\n"
        "PreemptType=preempt/none\nPartitionName=a Nodes=n1\nPartitionName=b Nodes=n1\n"
    )
    run(words[0], LOG, *words[1:-1], f"{words[-1]}slurm:{conf}")
    told = [line for line in capsys.readouterr().err.splitlines() if "not in the model" in line]
    assert len(told) == 1
    assert told[0].endswith("left out: PriorityWeightFairshare=50000, PartitionName (a, b)")


def test_two_files_of_one_name_are_two_policies(capsys, tmp_path):
    names = []
    for site, interval in (("one", 1), ("other", 10_000)):
        (tmp_path / site).mkdir()
        conf = tmp_path / site / "slurm.conf"
        conf.write_text(f"SchedulerParameters=bf_interval={interval}\n")
        names.append(f"slurm:{conf}")
    found = answer(
        capsys, "compare-policies", LOG, "--policies", ",".join(names), "--resample", "none"
    )
    one, other = (found[f"{name}_mean_wait"] for name in names)
    assert one < other  # backfilling every second, and hardly ever


def test_none_is_no_overheads(capsys):
    words = ("simulate", LOG, "--policy", "easy", "--seed", "1")
    assert answer(capsys, *words, "--overheads", "none") == answer(capsys, *words)
    assert onega.Cluster(4, overheads="none") == onega.Cluster(4)


def test_adequacy_and_compare_policies(capsys):
    words = ("--overheads", LAWS, "--seed", "1")
    found = answer(capsys, "adequacy", LOG, "--simulate", "slurm:fine,easy", *words)
    plain = answer(capsys, "adequacy", LOG, "--simulate", "slurm:fine,easy")
    assert found["slurm:fine.P"] != plain["slurm:fine.P"]
    assert run("adequacy", LOG, LOG, "--overheads", "measured") == 2
    assert "--overheads is for --simulate" in capsys.readouterr().err
    words = ("--policies", "slurm,easy", "--resample", "none", *words)
    compared = answer(capsys, "compare-policies", LOG, *words)
    alone = answer(
        capsys, "compare-policies", LOG, "--policies", "slurm,easy", "--resample", "none"
    )
    assert compared["slurm_mean_wait"] != alone["slurm_mean_wait"]


def test_sweep(capsys, tmp_path):
    onega.Overheads.parse(LAWS).save(tmp_path / "laws.json")
    spec = tmp_path / "sweep.toml"
    spec.write_text(
        f'[fixed]\ntrace = "{LOG}"\npolicy = "slurm"\n'
        '[vary]\noverheads = ["none", "measured", "laws.json", "release=1s"]\n'
    )
    assert run("sweep", str(spec), "-o", str(tmp_path / "runs")) == 0
    found = onega.Sweep.load(tmp_path / "runs").to_polars().sort("run")
    assert found["overheads"].to_list() == ["none", "measured", "laws.json", "release=1s"]
    assert found["mean_response"].n_unique() == 4
    assert (found["mean_response"] - found["mean_wait"]).arg_max() == 2
    spec.write_text(spec.read_text().replace("release=1s", "releese=1s"))
    assert run("sweep", str(spec), "-o", str(tmp_path / "other")) == 2
    assert "overheads 'releese=1s' are neither" in capsys.readouterr().err


def test_wrong_overheads_are_refused_in_a_line(capsys):
    assert run("simulate", LOG, "--policy", "slurm", "--overheads", "meassured") == 2
    assert capsys.readouterr().err.count("\n") == 1
