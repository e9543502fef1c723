"""``onega fit``, ``onega sample`` and ``onega compare``, as a shell sees them."""

from __future__ import annotations

import json

import pytest

import onega
from models.contract import example_log
from onega.cli import main


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "log.swf"
    onega.write(example_log(), path)
    return str(path)


def run(capsys, *arguments):
    """Exit code, stdout, stderr."""
    with pytest.raises(SystemExit) as leaves:
        main([str(word) for word in arguments])
    captured = capsys.readouterr()
    return leaves.value.code or 0, captured.out, captured.err


def test_from_a_log_to_more_of_it(trace, tmp_path, capsys):
    model, out = tmp_path / "m.json", tmp_path / "more.swf"
    code, text, _ = run(capsys, "fit", "markov-pair", trace, "-o", model, "--seed", 1)
    assert code == 0
    assert "joint" in text
    assert json.loads(model.read_text())["onega_model"] == "markov-pair"
    code, _, remarks = run(capsys, "sample", model, "-n", 2000, "-o", out, "--seed", 2)
    assert code == 0
    assert "rng=SeedSequence(2)" in remarks
    drawn = onega.read(out)
    assert len(drawn) == 2000
    assert drawn.meta.procs == 64
    assert drawn.has("estimate")
    code, text, _ = run(capsys, "compare", trace, out, "--json")
    assert code == 0
    flat = json.loads(text)
    assert flat["jobs_synthetic"] == 2000
    assert flat["ks_runtime"] < 0.1
    assert flat == onega_compare_as_json(trace, out)
    code, text, _ = run(capsys, "compare", trace, out)
    assert code == 0
    assert "ks_runtime" in text


def onega_compare_as_json(trace, out):
    from onega.core.json_safe import json_safe

    return json_safe(onega.compare(onega.read(trace), onega.read(out)).summary())


def test_the_same_seed_gives_the_same_file(trace, tmp_path, capsys):
    model = tmp_path / "m.json"
    run(capsys, "fit", "independent", trace, "-o", model)
    for name in ("a.swf", "b.swf"):
        run(capsys, "sample", model, "-n", 300, "-o", tmp_path / name, "--seed", 7)
    assert (tmp_path / "a.swf").read_bytes() == (tmp_path / "b.swf").read_bytes()


def test_options_load_and_machine(trace, tmp_path, capsys):
    model, out = tmp_path / "m.json", tmp_path / "o.swf"
    code, text, _ = run(
        capsys, "fit", "markov", trace, "-o", model, "-O", "within=observed", "-O",
        "arrivals=poisson", "--option", "cycle=day-night", "-O", "estimates=tsafrir", "--json",
    )  # fmt: skip
    assert code == 0
    summary = json.loads(text)
    assert summary["arrivals"] == "poisson"
    assert summary["cycle"] == "day-night"
    assert summary["estimates"] == "tsafrir"
    code, text, _ = run(
        capsys, "sample", model, "-n", 2000, "-o", out, "--load", 0.9, "--procs", 32, "--json"
    )
    assert code == 0
    assert json.loads(text)["load"] == pytest.approx(0.9, rel=0.05)  # nobody submits at night
    assert onega.read(out).column("procs").max() <= 32


def test_models_beside_each_other(trace, tmp_path, capsys):
    code, text, _ = run(
        capsys, "compare", trace, "--models", "independent,markov", "--replicates", 2, "--seed", 1,
        "--jobs", 500, "--figures", tmp_path, "--waits", "--privacy",
    )  # fmt: skip
    assert code == 0
    for word in ("disp.", "night", "EASY", "FCFS", "copied"):
        assert word in text
    assert "markov" in text
    assert "independent" in text
    assert (tmp_path / "compare.html").exists()
    code, text, _ = run(
        capsys, "compare", trace, "--models", "markov", "--replicates", 2, "--seed", 1, "--json"
    )
    assert code == 0
    assert "markov.d_sa.median_abs" in json.loads(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "marcov", "TRACE", "-o", "m.json"], "did you mean 'markov'"),
        (["fit", "markov", "TRACE", "-o", "m.json", "-O", "within"], "NAME=VALUE"),
        (["fit", "markov", "TRACE", "-o", "m.json", "-O", "inside=1"], "no option 'inside'"),
        (["compare", "TRACE"], "--models"),
        (["compare", "TRACE", "TRACE", "--models", "markov"], "--models"),
        (["compare", "TRACE", "--models", "nope"], "no model 'nope'"),
        (["sample", "TRACE", "-n", "5", "-o", "o.swf"], "not a model file"),
        (["sample", "absent.json", "-n", "5", "-o", "o.swf"], "absent.json"),
    ],
)
def test_mistakes_are_one_line_and_code_two(words, said, trace, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *[trace if word == "TRACE" else word for word in words])
    assert code == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err
