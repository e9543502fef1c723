"""onega plan and onega compare-policies, as people call them."""

from __future__ import annotations

import json

import pytest

import onega
from experiment.workloads import log
from onega.cli.app import main


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.swf"
    onega.write(log(weeks=4, jobs=600), path)
    return str(path)


@pytest.fixture(name="run")
def _run(capsys):
    def run(*arguments, code=0):
        with pytest.raises(SystemExit) as left:
            main([str(one) for one in arguments])
        said = capsys.readouterr()
        assert left.value.code == code, said.err
        return said

    return run


QUICK = ("--seed", 1, "-n", 20)


def test_plan_prints_the_keys_of_the_design(run, trace):
    said = run("plan", trace, "--target", "p95(wait)<30m", *QUICK, "--json")
    answer = json.loads(said.out)
    assert {"target", "met", "best", "confidence", "runs", "curve"} <= set(answer)
    direct = onega.plan(onega.read(trace), "p95(wait)<30m", replicates=20, rng=1)
    assert answer["best"] == direct.best
    assert answer["runs"] == direct.runs
    assert [row["at"] for row in answer["curve"]] == [trial.at for trial in direct.trials]
    assert "onega:" not in said.err


def test_plan_speaks(run, trace):
    said = run("plan", trace, "--target", "p95(wait)<30m", *QUICK)
    assert "are the fewest that meet p95(wait)<30m under fcfs+easy" in " ".join(said.out.split())
    assert "holds in" in said.out


@pytest.mark.parametrize(
    ("vary", "more", "what"),
    [
        ("load", (), "times the load"),
        ("policy", ("--policy", "fcfs,easy"), "of those that meet"),
    ],
)
def test_plan_varies_load_and_policy(run, trace, vary, more, what):
    said = run("plan", trace, "--target", "p95(wait)<20h", "--vary", vary, *more, *QUICK)
    assert what in " ".join(said.out.split())


def test_a_target_that_cannot_be_met_is_said_with_the_nearest_and_code_1(run, trace):
    said = run("plan", trace, "--target", "mean(response)<1m", *QUICK, code=1)
    assert "can't be met" in said.out
    assert "The nearest is" in said.out
    answer = json.loads(
        run("plan", trace, "--target", "mean(response)<1m", *QUICK, "--json", code=1).out
    )
    assert answer["met"] is False
    assert answer["best"] is None
    assert answer["nearest"] > 0


@pytest.fixture(name="crowd", scope="module")
def _crowd(tmp_path_factory):
    """Ten jobs of one user, one a second, of 100 s and one processor each."""
    path = tmp_path_factory.mktemp("crowd") / "crowd.swf"
    jobs = {"submit": [float(k) for k in range(10)], "runtime": [100.0] * 10}
    onega.write(onega.Workload(jobs | {"procs": [1] * 10, "user": [1] * 10}), path)
    return str(path)


ALONE = ("--target", "max(wait)<1s", "--resample", "none")


def test_a_size_below_the_load_is_named_with_what_that_means(run, crowd):
    """All ten run at once on ten; 1000 s of work in 9 s keep 111.1 busy."""
    said = run("plan", crowd, *ALONE, "--procs", 6)
    words = " ".join(said.out.split())
    assert "offered load" in said.out
    assert "10 processors are the fewest that meet max(wait)<1s" in words
    assert "the offered load is 11.1, and the queue would grow if it stayed" in words
    assert "can't do the work" not in words
    answer = json.loads(run("plan", crowd, *ALONE, "--most", "inf", "--json").out)
    assert (answer["best"], answer["best_below_load_1"]) == (10, 112)


def test_nodes_that_cannot_help_are_said_with_code_1(run, crowd, tmp_path):
    machine = tmp_path / "machine.toml"
    machine.write_text("[[nodes]]\ncount = 2\nprocs = 4\n[user_limits]\nmax_jobs = 1\n")
    said = run("plan", crowd, *ALONE, "--cluster", machine, code=1)
    words = " ".join(said.out.split())
    assert "can't be met by varying the number of nodes: at 4 nodes more change nothing" in words
    assert "The nearest is 2 nodes, with max(wait) = 14.8 min" in words  # 9 · 99 s
    machine.write_text("[[nodes]]\ncount = 2\nprocs = 4\n" * 2)
    assert (
        "say with --vary which one: nodes:1, nodes:2"
        in run("plan", crowd, *ALONE, "--cluster", machine, code=2).err
    )


ENERGY = (
    *("--vary", "energy", "--rates", "0.7,1", "--power-busy", "120,250"),
    *("--power-idle", "60,90", "--k", "0:200000:50000"),
)


NAP = ("--sleep-power", 5, "--wake-delay", "2m", "--wake-power", 150)


def test_plan_names_the_choices_between_energy_and_waiting(run, trace):
    said = run("plan", trace, *ENERGY, *QUICK)
    words = " ".join(said.out.split())
    for what in ("cheapest: k=2e5", "balanced: k=", "quickest: k=0"):
        assert what in words
    answer = json.loads(
        run("plan", trace, *ENERGY, *QUICK, "--target", "mean(wait)<300d", "--json").out
    )
    assert {"target", "met", "best", "confidence", "runs", "curve"} <= set(answer)
    assert answer["best"] == answer["choices"]["cheapest within the target"] == "k=2e5"
    assert len(answer["curve"]) == 5


def test_pairs_of_thresholds_and_sets_of_rates(run, trace):
    answer = json.loads(
        run(
            *("plan", trace, "--vary", "energy", "--rates", "0.7,1;0.5,1", *QUICK, "--json"),
            *("--power-busy", "120,250;80,250", "--power-idle", "60"),
            *("--k-low", "0,1e4", "--k-high", "1e4,1e5", "--pain", "p95(wait)", "--cost", "energy"),
        ).out
    )
    assert len(answer["curve"]) == 8
    assert answer["curve"][0]["machine"] == "k=0..1e4, rates 0.7/1"


def test_figures_are_written(run, trace, tmp_path):
    run("plan", trace, "--target", "p95(wait)<30m", *QUICK, "--figures", tmp_path)
    assert (tmp_path / "plan.html").stat().st_size > 10_000
    run("compare-policies", trace, "--policies", "fcfs,easy", "-n", 4, "--figures", tmp_path)
    assert "plot-differences" in (tmp_path / "compare-policies.html").read_text(encoding="utf-8")


def test_policies_are_compared_in_one_table(run, trace):
    said = run("compare-policies", trace, "--policies", "fcfs,easy,spf+easy", "-n", 8, "--seed", 1)
    for word in ("the log", "minus fcfs", "spf+easy", "observed", "mean wait, minutes"):
        assert word in said.out
    answer = json.loads(
        run(
            "compare-policies", trace, "--policies", "fcfs,easy", "-n", 8, "--seed", 1, "--json"
        ).out
    )
    direct = onega.compare_policies(onega.read(trace), 64, ["fcfs", "easy"], replicates=8, rng=1)
    assert answer["fcfs+easy_mean_wait"] == direct.summary()["fcfs+easy_mean_wait"]
    assert answer["fcfs_mean_wait_on_log"] == direct.on_log[0, 0]


def test_precision_and_warm_up_are_reported(run, trace):
    said = run(
        *("compare-policies", trace, "--policies", "easy,spf+easy", "-n", 12, "--seed", 1),
        *("--until", "ci(mean(wait))<0.01%", "--warmup", "mser5"),
    )
    assert "NOT reached" in said.out
    assert "Warm-up (mser5)" in said.out


def test_a_model_can_be_the_source(run, trace, tmp_path):
    path = tmp_path / "model.json"
    onega.models.Lublin.fit(onega.read(trace), rng=1).save(path)
    answer = json.loads(
        run(
            *("plan", trace, "--target", "p95(wait)<10h", "--model", path, "--jobs", 300),
            *("--seed", 1, "-n", 5, "--json"),
        ).out
    )
    assert answer["rule"] == "student"
    answer = json.loads(
        run(
            *("compare-policies", trace, "--policies", "fcfs,easy", "--model", path, "--json"),
            *("--seed", 1, "-n", 3, "--measure", "mean(wait)", "--measure", "max(wait)"),
        ).out
    )
    assert answer["interval"] == "student"
    assert "fcfs_max_wait" in answer


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("plan",), "--target"),
        (("plan", "--target", "p95(weit)<1h"), "did you mean 'wait'"),
        (("plan", "--target", "p95(wait)<1h", "--vary", "polices"), "did you mean 'policy'"),
        (("plan", "--target", "p95(wait)<1h", "--k", "1,2"), "--k is for --vary energy"),
        (("plan", "--target", "p95(wait)<1h", "--jobs", 5), "--jobs is for --model"),
        (("plan", "--target", "p95(wait)<1h", "--resample", "days"), "accepted: weeks, users"),
        (("plan", "--vary", "energy"), "--vary energy needs --power-busy"),
        (("plan", *ENERGY, "--sleep-power", 5), "--sleep-power needs --sleep-after"),
        (("plan", *ENERGY, "--sleep-after", "1h"), "--sleep-after needs --sleep-power"),
        (("plan", *ENERGY, "--sleep-after", "soon", *NAP), "not a duration"),
        (("plan", *ENERGY[:2], *ENERGY[4:]), "--rates or --sleep-after"),
        (("plan", *ENERGY[:6]), "--k for one both ways"),
        (("plan", *ENERGY[:6], "--k", "0:5"), "FROM:TO:STEP"),
        (("plan", *ENERGY[:6], "--k", "5:0:1"), "goes up"),
        (("plan", *ENERGY[:6], "--k", "a"), "numbers separated by commas"),
        (("plan", *ENERGY, "--policy", "fcfs,easy"), "one policy"),
        (("compare-policies", "--policies", "fcfs"), "at least two"),
        (("compare-policies", "--policies", ","), "names separated by commas"),
        (("compare-policies", "--policies", "fcfs,esay"), "did you mean 'easy'"),
        (("compare-policies", "--until", "soon"), "not a precision"),
        (("compare-policies", "--level", 2), "between 0 and 1"),
        (("compare-policies", "--knowledge", "all"), "accepted: estimate, runtime"),
    ],
)
def test_wrong_words_are_one_line_and_code_2(run, trace, arguments, hint):
    command, *rest = arguments
    said = run(command, trace, *rest, code=2)
    assert hint in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_short_log_says_what_to_do(run, tmp_path):
    path = tmp_path / "short.swf"
    onega.write(log(weeks=1, jobs=100), path)
    said = run("plan", path, "--target", "p95(wait)<1h", code=2)
    assert "at least 2" in said.err
    run("plan", path, "--target", "p95(wait)<1h", "--resample", "none")
