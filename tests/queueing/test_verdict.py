"""Does the machine keep up: three answers, what decides them, and that all places say the same."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import onega
from onega.cli.app import main
from onega.core.errors import QueueingError
from onega.queueing.checks import NEEDED, lilliefors_p
from onega.queueing.estimates import LogFacts
from onega.queueing.stability import stability as by_formula
from onega.queueing.stability import stability_of
from onega.queueing.verdict import Usable, judge


def independent_log(jobs=4000, rate=0.5, seed=1):
    """A log that is what the formula assumes."""
    rng = np.random.default_rng(seed)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(1 / rate, jobs)),
            "runtime": rng.exponential(3.0, jobs),
            "procs": rng.choice([1, 2, 5], jobs, p=[0.5, 0.3, 0.2]),
        }
    ).with_machine(8)


def wide_and_long(rate=0.75, jobs=4000):
    """A log whose wide jobs run six times as long as its narrow ones."""
    base = independent_log(jobs, rate)
    longer = np.where(base.column("procs") == 5, 2.5, 0.4)
    return onega.Workload(
        {
            "submit": base.column("submit"),
            "runtime": base.column("runtime") * longer,
            "procs": base.column("procs"),
        }
    ).with_machine(8)


def queue_grows(log, procs):
    """The twin: waits of a simulated FCFS rise with the jobs, ten times what they were."""
    schedule = onega.simulate(log, procs, "fcfs")
    wait = schedule.start - log.column("submit")
    tenth = wait.size // 10
    return wait[-tenth:].mean() > 3 * max(wait[tenth : 2 * tenth].mean(), 1.0)


def test_the_formula_decides_where_its_assumptions_hold():
    result = onega.stability(independent_log())
    assert result.formula_holds
    assert result.verdict.basis == "formula"
    assert result.stable is True
    assert result.usable is None
    flat = result.summary()
    for name in NEEDED:
        assert flat[f"{name}_holds"]
        assert flat[f"{name}_test"]
        assert flat[f"{name}_p_value"] >= 0.01
    assert flat["formula_rho"] == flat["rho"]
    assert "whose assumptions this log passes" in result.sentences()[0]


def test_wide_jobs_that_run_longer_the_formula_says_yes_the_log_s_own_jobs_no():
    log = wide_and_long()
    result = onega.stability(log)
    assert result.rho < 1  # by itself the formula would say yes
    assert result.offered_load < 1  # and processor hours alone would too
    assert result.formula_holds is False
    assert result.verdict.basis == "saturation"
    assert result.stable is False
    assert queue_grows(log, 8)
    assert result.sentences()[0].startswith("No: ")
    assert result.min_procs > result.formula_min_procs
    assert result.min_procs > 8


def test_more_than_the_machine_has_is_no_whatever_the_formula_says():
    log = wide_and_long(rate=1.1)
    result = onega.stability(log)
    assert result.rho < 1
    assert result.offered_load > 1
    assert result.verdict.basis == "offered load"
    assert result.stable is False
    assert "no scheduler keeps up" in result.sentences()[0]


def test_measured_yes_and_the_queue_does_not_grow():
    log = wide_and_long(rate=0.45)
    result = onega.stability(log)
    assert result.verdict.basis == "saturation"
    assert result.stable is True
    assert not queue_grows(log, 8)
    assert result.min_procs <= 8


def test_the_answer_of_a_log_uses_no_chance():
    log = wide_and_long()
    first, second = (onega.stability(log, rng=seed).summary() for seed in (1, 2))
    assert first == second


@pytest.mark.parametrize("rate", [0.3, 0.6, 0.75, 1.1])
def test_fewest_servers_are_those_for_which_the_answer_is_yes(rate):
    log = wide_and_long(rate)
    fewest = onega.stability(log).min_procs
    assert onega.stability(log, procs=fewest).stable is True
    if fewest > 5:  # the widest job
        assert onega.stability(log, procs=fewest - 1).stable is not True


def test_numbers_of_one_answer_agree():
    """Stable, rates, shares: one boundary."""
    for rate in (0.3, 0.6, 0.75, 1.1):
        flat = onega.stability(wide_and_long(rate)).summary()
        assert flat["stable"] == (flat["arrival_rate"] < flat["max_arrival_rate"])
        assert flat["stable"] == (flat["offered_load"] < flat["utilisation_at_limit"])
        assert flat["stable"] == (flat["load_ratio"] < 1)


def test_what_cannot_be_told_says_what_would_tell():
    log = wide_and_long()
    alone = by_formula(log)  # the formula without a measurement
    assert alone.stable is None
    assert alone.verdict.answer == "can't tell"
    assert "saturation" in alone.verdict.would_tell
    assert alone.sentences()[0].startswith("Can't tell: ")
    assert alone.min_procs is None
    unsure = replace(alone, usable=Usable(alone.offered_load, 0.5, 0.99, "for certain", 10, "x"))
    assert judge(unsure).stable is None
    assert "--budget" in unsure.verdict.would_tell
    assert unsure.summary()["stable"] is None
    nothing = onega.stability("uniform:10", procs=10)
    assert nothing.verdict.answer == "can't tell"
    assert "--arrival-rate" in nothing.verdict.would_tell


def test_a_small_budget_says_how_little_it_knows():
    """Two jobs that run for ever beside short ones: one copy leaves wide bounds, more narrow."""
    rng = np.random.default_rng(5)
    runtime = rng.exponential(1.0, 200)
    runtime[100] = 400.0
    procs = rng.choice([1, 3], 200)
    log = onega.Workload(
        {"submit": np.arange(200) * 0.9, "runtime": runtime, "procs": procs}
    ).with_machine(4)
    little, much = (onega.stability(log, budget=size) for size in (200, 40_000))
    assert little.usable.jobs == 200
    assert much.usable.jobs > 200
    widths = [one.usable.high - one.usable.low for one in (little, much)]
    assert widths[0] > 10 * widths[1]
    assert little.usable.low <= much.usable.share <= little.usable.high
    with pytest.raises(QueueingError, match="budget"):
        onega.stability(log, budget=0)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "spf+easy"])
def test_nothing_can_use_more_than_the_whole_machine(policy):
    """Few jobs, long ones among them: what was measured once went to 101 %."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        log = onega.Workload(
            {
                "submit": np.cumsum(rng.exponential(1.0, 60)),
                "runtime": rng.lognormal(0, 2.5, 60),
                "procs": rng.choice([1, 2, 4], 60),
            }
        ).with_machine(16)
        found = onega.stability(
            log, method="saturation", policy=policy, precision=0.2, budget=20_000, rng=seed
        )
        assert 0 < found.usable.low <= found.usable.share <= found.usable.high <= 1
        assert found.utilisation_at_limit <= 1
        assert not any(f"10{n} %" in one for n in range(1, 10) for one in found.sentences())


def test_the_law_decides_of_given_widths_and_is_said():
    asked = {"procs": 2, "arrival_rate": 1.1, "mean_runtime": 1.0}
    assert onega.stability([0.5, 0.5], **asked).stable  # C = 7/8
    assert not onega.stability([0.5, 0.5], law="hyperexponential(0.9:0.1, 0.1:9.1)", **asked).stable
    assert onega.stability([0.5, 0.5], law="fixed", **asked | {"arrival_rate": 1.15}).stable
    assert not onega.stability([0.5, 0.5], **asked | {"arrival_rate": 1.15}).stable
    said = " ".join(onega.stability([0.5, 0.5], **asked).sentences())
    assert "C is for exponential run times" in said
    with pytest.raises(QueueingError, match="a law goes with widths"):
        onega.stability(independent_log(), law="fixed")


def test_given_rates_scale_the_log_s_work():
    log = wide_and_long()
    own = onega.stability(log)
    double = onega.stability(log, mean_runtime=2 * own.mean_runtime)
    assert double.offered_load == pytest.approx(2 * own.offered_load)
    assert double.utilisation_at_limit == own.utilisation_at_limit
    half = onega.stability(log, arrival_rate=0.5 * own.arrival_rate)
    assert half.stable is True
    assert half.offered_load == pytest.approx(0.5 * own.offered_load)


def test_lilliefors_p_values_are_stephens():
    """Stephens (1974), exponential with estimated mean, n = 100: D that is exceeded by chance."""
    for statistic, p in (
        (0.926, 0.15),
        (0.990, 0.10),
        (1.094, 0.05),
        (1.190, 0.025),
        (1.308, 0.01),
    ):
        distance = statistic / (10 + 0.26 + 0.05) + 0.002
        assert lilliefors_p(distance, 100) == pytest.approx(p, rel=0.05)
    # And by chance itself: 2000 samples, 5 % ± 4 standard errors.
    rng = np.random.default_rng(3)
    below = 0
    for _ in range(2000):
        x = np.sort(rng.exponential(1.0, 50))
        cdf, steps = -np.expm1(-x / x.mean()), np.arange(51) / 50
        below += lilliefors_p(max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max()), 50) < 0.05
    assert abs(below / 2000 - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize("name", ["one_law", "independent_widths", "independent_runtimes"])
def test_tests_reject_a_true_assumption_as_rarely_as_they_say(name):
    """200 logs that are the model, level 1 %: more than 10 rejections have probability 1e-5."""
    from onega.queueing.checks import checks
    from onega.queueing.estimates import usable_jobs
    from onega.queueing.widths import Widths

    rejected = 0
    for seed in range(200):
        log = independent_log(jobs=300, seed=seed)
        found = {one.assumption: one for one in checks(usable_jobs(log), Widths.of(log))}
        rejected += found[name].p_value < 0.01
    assert rejected <= 10


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(one) for one in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.mark.parametrize(("rate", "code"), [(0.3, 0), (0.75, 1), (1.1, 1)])
def test_no_exits_with_one(capsys, tmp_path, rate, code):
    path = tmp_path / "log.swf"
    log = wide_and_long(rate)
    scaled = {n: log.column(n) for n in ("submit", "runtime")}
    onega.write(
        onega.Workload(
            {
                "submit": np.round(1000 * scaled["submit"]),
                "runtime": np.ceil(1000 * scaled["runtime"]),
                "procs": log.column("procs"),
            }
        ).with_machine(8),
        path,
    )
    got, out, _ = run(capsys, "stability", path, "--json")
    answer = json.loads(out)
    assert got == code
    assert answer["stable"] is (code == 0)
    assert answer["verdict"] == ("yes" if code == 0 else "no")
    got, out, _ = run(capsys, "stability", path)
    assert got == code
    assert out.startswith("Yes: " if code == 0 else "No: ")


def test_given_classes_exit_with_one_too(capsys):
    options = ("--classes", "0.5,0.5", "--procs", 2, "--mean-runtime", 1)
    assert run(capsys, "stability", *options, "--arrival-rate", 2)[0] == 1
    assert run(capsys, "stability", *options, "--arrival-rate", 1)[0] == 0
    assert run(capsys, "stability", *options)[0] == 0  # can't tell
    hyper = ("--law", "hyperexponential(0.9:0.1, 0.1:9.1)", "--arrival-rate", 1.1)
    assert run(capsys, "stability", *options, *hyper)[0] == 1


def test_numbers_are_written_for_people():
    result = onega.stability("uniform:16000", procs=20_000, arrival_rate=0.1, mean_runtime=1.0)
    said = " ".join(result.sentences())
    assert "e+0" not in said
    assert "of 20,000 servers" in said


def test_the_real_logs(shared):
    """Five archive logs and an sacct extract: what is asked for, and what FCFS can use."""
    expected = {
        "KTH-SP2-1996-2.1-cln.swf.gz": (100, True),
        "SDSC-SP2-1998-4.2-cln.swf.gz": (128, False),
        "HPC2N-2002-2.2-cln.swf.gz": (240, True),
        "LANL-CM5-1994-4.1-cln.swf.gz": (1024, True),
        "epcc-cirrus-2024q1-sacct.csv": (5000, False),
    }
    for name, (procs, stable) in expected.items():
        result = onega.stability(onega.read(shared("traces", name)), procs=procs)
        assert result.formula_holds is False
        assert result.stable is stable, name
        assert (result.offered_load < result.utilisation_at_limit) is stable
    assert result.verdict.basis == "offered load"
    assert result.offered_load == pytest.approx(1.5, abs=0.01)


def test_a_log_that_fills_its_machine_only_at_its_end_can_not_tell():
    """Three days with a job a day, then five in which more is asked for than there is."""
    hour = 3600.0
    dense = 72 * hour + np.arange(500) * 0.24 * hour
    submit = np.concatenate([np.arange(3) * 24 * hour, dense])
    log = onega.Workload(
        {"submit": submit, "runtime": np.full(503, hour), "procs": np.full(503, 2)}
    ).with_machine(8)
    result = onega.stability(log)
    assert result.window_load == pytest.approx(2 / 0.24 / 8, rel=0.01)
    assert result.offered_load == pytest.approx(503 * 2 * hour / (8 * submit[-1]), rel=0.01)
    assert (result.stable, result.verdict.basis) == (None, "window")
    assert "over the whole log" in result.summary()["verdict_words"]
    assert result.min_procs == 10  # 8.3 are busy on average, and jobs are two wide
    # A rate that is given changes the gaps of the log's own jobs: the log's own rate, nothing.
    told = onega.stability(log, arrival_rate=result.arrival_rate)
    assert told.window_load == pytest.approx(result.window_load, rel=1e-12)
    assert (told.verdict, told.min_procs) == (result.verdict, 10)
    faster = onega.stability(log, procs=24, arrival_rate=2 * result.arrival_rate)
    assert faster.window_load == pytest.approx(2 * result.window_load / 3, rel=1e-12)
    assert faster.min_procs == 18  # 16.7 are busy on average


def test_the_formula_s_fewest_servers_keep_up_with_the_window_too():
    """Of a log that passes the tests, the fewest are again those for which the answer is yes."""
    log = independent_log()
    found = replace(by_formula(log, procs=5), window_load=1.4)
    facts = LogFacts(
        found.arrival_rate, found.mean_runtime, found.mean_work, 1.4, None, found.checks
    )
    again = stability_of(found.widths, 5, found.constant, facts)
    assert again.formula_holds
    assert again.min_procs > again.formula_min_procs
    for servers, stable in ((again.min_procs, True), (again.min_procs - 1, None)):
        other = by_formula(log, procs=servers)
        assert replace(other, window_load=1.4 * 5 / servers).stable is stable
