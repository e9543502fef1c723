"""`onega stability` and `onega limits`: JSON keys, words, refusals with code 2."""

from __future__ import annotations

import json

import numpy as np
import pytest

import onega
from cut_logs import hourly
from onega.cli.app import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(one) for one in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


@pytest.fixture
def log(tmp_path):
    rng = np.random.default_rng(1)
    n = 500
    path = tmp_path / "log.swf"
    runtime = np.ceil(rng.exponential(100, n))
    onega.write(
        onega.Workload(
            {
                "submit": np.cumsum(rng.integers(1, 100, n)).astype(float),
                "runtime": runtime,
                "procs": rng.choice([1, 4], n),
                "estimate": np.where(rng.random(n) < 0.2, runtime, 2 * runtime),
            }
        ).with_machine(16),
        path,
    )
    return path


STABILITY_KEYS = (
    "procs",
    "C",
    "rho",
    "stable",
    "max_arrival_rate",
    "min_procs",
    "utilisation_at_limit",
    "method",
)
LIMITS_KEYS = ("mean_busy", "var_busy", "p_serv", "p_loss", "critical_limit", "probabilities")


def test_stability_of_classes(capsys):
    code, out, err = run(
        capsys, "stability", "--classes", "0.5,0.5", "--procs", 2, "--arrival-rate", 1,
        "--mean-runtime", "1", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert all(key in answer for key in STABILITY_KEYS)
    assert answer["C"] == 0.875
    assert answer["stable"] is True


def test_stability_of_a_log(capsys, log):
    code, out, _ = run(capsys, "stability", log, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["procs"] == 16
    assert answer["rho_ci_low"] < answer["rho"] < answer["rho_ci_high"]


def test_stability_speaks(capsys, log, tmp_path):
    code, out, err = run(capsys, "stability", log, "--procs", 20, "--figures", tmp_path / "f")
    assert code == 0
    assert "can never use" in out
    assert "fewest" in out
    assert "3 figures" in err
    assert (tmp_path / "f" / "stability.html").stat().st_size > 10_000


def test_a_size_that_can_t_be_right_is_said_before_the_answer(capsys, tmp_path):
    """Nine processors are held for a quarter of the time, and the log says four."""
    path = tmp_path / "hourly.swf"
    onega.write(hourly().with_machine(4), path)
    _, out, _ = run(capsys, "stability", path, "--budget", 2000, "--seed", 1)
    assert out.startswith("! 4 processors can't be right, unless jobs shared processors: ")
    _, out, _ = run(capsys, "stability", path, "--budget", 2000, "--seed", 1, "--json")
    assert json.loads(out)["size_warning"].startswith("4 processors can't be right")
    onega.write(hourly(), path)
    _, out, _ = run(capsys, "stability", path, "--budget", 2000, "--seed", 1, "--json")
    assert json.loads(out)["size_warning"] is None


def test_stability_with_waiting(capsys):
    options = ("--classes", "1:0.5,2:0.5", "--procs", 2, "--arrival-rate", 0.9)
    code, out, _ = run(capsys, "stability", *options, "--mean-runtime", 1, "--waiting", "--json")
    assert code == 0
    assert json.loads(out)["mean_wait"] == pytest.approx(3.44608114552, rel=1e-9)
    code, out, _ = run(capsys, "stability", *options, "--mean-runtime", "1", "--waiting")
    assert "of the jobs wait" in out
    code, _, err = run(capsys, "stability", *options, "--waiting")
    assert code == 2
    assert "needs --arrival-rate and --mean-runtime" in err


def test_an_unstable_queue_has_no_mean_wait(capsys):
    code, _, err = run(
        capsys, "stability", "--classes", "1.0", "--procs", 1, "--arrival-rate", 2,
        "--mean-runtime", 1, "--waiting",
    )  # fmt: skip
    assert code == 2
    assert "isn't stable" in err


def test_limits(capsys):
    code, out, err = run(
        capsys, "limits", "--arrival-rate", 5, "--service-rate", 1, "--limit-rate", 1,
        "--widths", "fixed:3", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert all(key in answer for key in LIMITS_KEYS)
    assert answer["mean_busy"] == pytest.approx(7.5)
    assert answer["p_serv"] == pytest.approx(0.125)
    assert sum(answer["probabilities"]) == pytest.approx(1)


def test_limits_speak(capsys, tmp_path):
    code, out, err = run(
        capsys, "limits", "--arrival-rate", 5, "--service-rate", 1, "--limit", "gamma:2:10",
        "--widths", "1:0.5,4:0.5", "--shared", "--epsilon", 0.01, "--procs", 30, "--check",
        "--seed", 1, "--figures", tmp_path,
    )  # fmt: skip
    assert code == 0
    for words in ("servers are busy", "simulated", "fewest servers", "without a queue"):
        assert words in out
    assert "5 figures" in err


def test_limits_check_is_in_json(capsys):
    code, out, _ = run(
        capsys, "limits", "--arrival-rate", 5, "--service-rate", 1, "--limit-rate", 0,
        "--widths", "poisson:2", "--check", "--seed", 3, "--epsilon", 0.01, "--procs", 40, "--json",
    )  # fmt: skip
    assert code == 0
    answer = json.loads(out)
    low, high = answer["simulated_mean_busy_low"], answer["simulated_mean_busy_high"]
    half = (high - low) / 2
    assert abs(answer["mean_busy"] - (low + high) / 2) < 2 * half
    assert answer["mean_limit"] is None  # no limit: infinite
    assert answer["fewest_servers"] >= answer["p95_busy"]
    assert 0 < answer["finite_p_loss"] < 0.01


def test_limits_of_a_log_put_what_was_cut_off_first(capsys, log):
    """A fifth of the jobs ran for their whole estimate; the model would say another share."""
    jobs = onega.read(log)
    cut = int((jobs.column("runtime") >= jobs.column("estimate")).sum())
    code, out, _ = run(capsys, "limits", log)
    assert code == 0
    said = " ".join(out.split())
    assert said.startswith(f"{100 * cut / 500:.0f} % of the jobs were really cut off: {cut} of 500")
    code, out, _ = run(capsys, "limits", log, "--json")
    assert json.loads(out)["share_cut_off"] == cut / 500


def test_limits_of_a_log(capsys, log):
    code, out, _ = run(capsys, "limits", log, "--json")
    assert code == 0
    assert json.loads(out)["jobs_cut_off"] > 50
    code, out, _ = run(
        capsys, "limits", "--arrival-rate", 1, "--service-rate", 1, "--limit-rate", 1,
        "--widths", log, "--json",
    )  # fmt: skip
    assert code == 0
    assert 2 < json.loads(out)["mean_width"] < 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("stability",), "one of the two"),
        (("stability", "--classes", "0.5,0.4", "--procs", 2), "sum to 0.9"),
        (("stability", "--classes", "0.5,0.5"), "how many servers"),
        (("stability", "--classes", "0.5,0.5", "--procs", 1), "can never start"),
        (("stability", "--classes", "1", "--procs", 1, "--mean-runtime", "x"), "not a duration"),
        (("stability", "--classes", "1", "--procs", 1, "--method", "magic"), "unknown method"),
        (("limits", "--widths", "fixed:1"), "limits need --arrival-rate, --service-rate and --wid"),
        (
            ("limits", "--arrival-rate", 1, "--service-rate", 1, "--widths", "fixed:1"),
            "give --limit-rate (exponential limits; 0 for none) or a law (--limit 'gamma:2:1h')",
        ),
        (("stability", "--classes", "1"), "how many servers? give --procs;"),
        (("stability", "--classes", "1", "--procs", "1e3"), "got '1e3'"),
        (
            ("hysteresis", "--procs", 2, "--arrival-rate", 1, "--mean-runtime", 1, "--rates", "1,2",
             "--k-low", 1),
            "onega: several --rates need --k-high",
        ),
        (
            ("limits", "--arrival-rate", 1, "--service-rate", 1, "--limit-rate", -1, "--widths",
             "fixed:1"),
            "from 0",
        ),
        (
            ("limits", "--arrival-rate", 1, "--service-rate", 1, "--limit-rate", 1, "--widths",
             "fixed:1", "--epsilon", 1),
            "between 0 and 1",
        ),
    ],
)  # fmt: skip
def test_refusals_are_one_line(capsys, arguments, words):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert len(err.strip().splitlines()) == 1


def test_stability_by_saturation(capsys):
    code, out, _ = run(
        capsys, "stability", "--classes", "0.5,0.5", "--procs", 2, "--method", "saturation",
        "--precision", 0.05, "--seed", 1, "--json",
    )  # fmt: skip
    assert code == 0
    answer = json.loads(out)
    assert answer["method"] == "saturation"
    assert answer["C_low"] < answer["C"] < answer["C_high"]
    assert answer["C"] == pytest.approx(0.875, rel=0.1)
    code, out, _ = run(
        capsys, "stability", "--classes", "0.5,0.5", "--procs", 2, "--method", "montecarlo",
        "--draws", 1000, "--seed", 1,
    )  # fmt: skip
    assert code == 0
    assert " to " in out
