"""Every registered model keeps the contract."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from models.contract import check_model, check_sample, example_log
from onega.core.errors import ModelError
from onega.models import MODELS, from_json, load

# KS between samples of a model and of its refit. Learnt functions come back less exactly than
# counts do; so do Jann's three moments of heavy tails (the order may jump), and Feitelson's runs of
# up to a thousand equal jobs (two samples of one model differ by 0.06).
TOLERANCE = {"jann": 0.12, "feitelson96": 0.15, "neural": 0.12, "svr": 0.12, "vlmc": 0.08}


# `private` takes no parts and says nothing of its log: tests/models/test_private.py.
@pytest.mark.parametrize("name", [name for name in MODELS if name != "private"])
def test_model_keeps_the_contract(name, log, tmp_path):
    quick = {"epochs": 5} if name == "neural" else {}
    check_model(MODELS[name], log, tmp_path, tolerance=TOLERANCE.get(name, 0.05), **quick)


@pytest.mark.parametrize("within", ["uniform", "observed", "repeating"])
@pytest.mark.parametrize("coupling", ["width-from-runtime", "runtime-from-width", "joint", "none"])
def test_markov_variants_keep_it_too(within, coupling, log, tmp_path):
    from models.contract import check_json, check_reproducible

    model = MODELS["markov"].fit(log, within=within, coupling=coupling)
    check_sample(model, 400, model.sample(400, rng=1))
    check_reproducible(model)
    check_json(model, tmp_path)


@pytest.mark.parametrize("arrivals", ["poisson", "gamma", "weibull", "hyperexp", "log-gamma",
                                      "chain", "mmpp"])  # fmt: skip
@pytest.mark.parametrize("cycle", ["polynomial", "half-hours", "day-night", "none"])
def test_any_arrivals_under_any_cycle(arrivals, cycle, log, tmp_path):
    from models.contract import check_json, check_load

    model = MODELS["independent"].fit(log, arrivals=arrivals, cycle=cycle)
    drawn = model.sample(3000, rng=1)
    check_sample(model, 3000, drawn)
    check_json(model, tmp_path)
    # Nobody submits at night: the last job may have to wait for the morning.
    check_load(model, 0.05 if cycle == "day-night" else 1e-3)
    # The rate is the log's: 3000 gaps of a law with coefficient of variation up to 4 have a mean
    # with standard error 7 %.
    assert drawn.span / log.span == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("estimates", ["beta", "gamma", "tsafrir", "none"])
def test_any_model_can_carry_any_estimates(estimates, log, tmp_path):
    from models.contract import check_json

    model = MODELS["lublin"].fit(log, estimates=estimates)
    assert (model.estimates is None) == (estimates == "none")
    check_sample(model, 400, model.sample(400, rng=1))
    check_json(model, tmp_path)


def test_a_log_without_users_or_estimates_will_do():
    bare = example_log(users=False, estimates=False)
    for name in ("markov", "neural", "feitelson96"):
        model = MODELS[name].fit(bare, rng=0)
        assert model.estimates is None
        assert model.sample(100, rng=0).table["estimate"].null_count() == 100


def test_registry_is_lazy_and_honest():
    assert "markov" in MODELS
    assert "nope" not in MODELS
    assert len(MODELS) == len(list(MODELS))
    for name, family in MODELS.items():
        assert name == family.KIND
        assert family.TITLE


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"onega_model": "marcov"}', "not json"])
def test_files_that_are_no_models_are_refused(text, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ModelError, match=r"m\.json: "):
        load(path)
    with pytest.raises(ModelError):
        from_json(text)


def test_load_of_a_family_refuses_another(log, tmp_path):
    path = tmp_path / "m.json"
    MODELS["independent"].fit(log).save(path)
    with pytest.raises(ModelError, match="independent model, not a markov one"):
        MODELS["markov"].load(path)
    assert MODELS["independent"].load(path).KIND == "independent"


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(ModelError, match="isn't text"):
        load(path)


def odd_log(case):
    rng = np.random.default_rng(1)
    n = 300
    table = {
        "submit": np.cumsum(rng.exponential(600, n)).round(),
        "runtime": rng.lognormal(6, 2, n).round() + 1,
        "procs": 2 ** rng.integers(0, 5, n),
        "user": rng.integers(1, 12, n),
    }
    machine = 64
    if case == "serial machine":
        table["procs"], machine = np.ones(n, int), 1
    elif case == "one width":
        table["procs"] = np.full(n, 7)
    elif case == "shorter than a second":
        table["runtime"] = rng.exponential(0.3, n) + 1e-3
        table["submit"] = np.cumsum(rng.exponential(3.0, n))
    elif case == "two run times":
        table["runtime"] = rng.choice([60.0, 61.0], n)
    elif case == "bursts":
        table["submit"] = np.repeat(np.arange(30), 10) * 86400.0
    elif case == "huge":
        table["runtime"] = np.minimum(rng.lognormal(16, 4, n), 1e9)
        table["procs"], machine = rng.integers(1, 10**6, n), 10**6
    elif case == "before the epoch, unsorted":
        table["submit"] = rng.uniform(-1e7, 1e6, n)
    elif case == "one estimate":
        table["estimate"] = np.full(n, 3600.0)
    elif case == "few":
        table = {name: values[:50] for name, values in table.items()}
    return onega.Workload(table, onega.Meta(procs=machine))


@pytest.mark.parametrize(
    "case",
    ["serial machine", "one width", "shorter than a second", "two run times", "bursts", "huge",
     "before the epoch, unsorted", "one estimate", "few"],
)  # fmt: skip
def test_odd_logs_are_learnt_all_the_same(case):
    log = odd_log(case)
    for name, family in MODELS.items():
        quick = {"epochs": 2} if name == "neural" else {}
        model = family.fit(log, rng=1, **quick)
        check_sample(model, 200, model.sample(200, rng=1))
        assert from_json(model.to_json()) == model
