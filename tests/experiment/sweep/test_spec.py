"""Sweep files: what they mean, and what is said when they are wrong."""

from __future__ import annotations

import itertools
import json
import re
import tomllib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onega.core.errors import ExperimentError
from onega.experiment.sweep.design import Design, column, draw
from onega.experiment.sweep.keys import known_keys, machine_settings, nested
from onega.experiment.sweep.spec import read_spec
from onega.experiment.sweep.store import read_design
from onega.experiment.sweep.tables import Range
from places import ROOT

WHOLE = """
note = "all of it"
measures = ["p99(wait)"]

[read]
timezone = "Europe/Stockholm"

[fixed]
trace = "log.swf"
cluster.power.busy = [0.5, 1.0]

[vary]
policy = ["fcfs", "easy"]
procs = {from = 80, to = 120, step = 20}
cluster.rate_control.rates = [[1.0, 2.0], [1.0, 3.0]]

[[cases]]
name = "narrow"
cluster.rate_control = {kind = "queue", k_low = 1, k_high = 2}

[[cases]]
cluster.rate_control.kind = "workload"
"cluster.rate_control.k_low" = 1e5
"cluster.rate_control.k_high" = 2e5

[random]
runs = 3
seed = 7
load = {from = 0.5, to = 0.9}
"""


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(WHOLE)
    return read_spec(path)


def test_everything_a_file_can_say(whole, tmp_path):
    assert whole.fixed == {"trace": "log.swf", "cluster.power.busy": [0.5, 1.0]}
    assert whole.grid == {
        "policy": ("fcfs", "fcfs+easy"),
        "procs": (80, 100, 120),
        "cluster.rate_control.rates": ([1.0, 2.0], [1.0, 3.0]),
    }
    assert [case["case"] for case in whole.cases] == ["narrow", "case 2"]
    assert whole.cases[1]["cluster.rate_control.k_low"] == 1e5
    assert whole.random.runs == 3
    assert whole.measures == ("p99(wait)",)
    assert whole.read == {"timezone": "Europe/Stockholm"}
    assert whole.folder == tmp_path
    assert whole.varied[:4] == ("policy", "procs", "cluster.rate_control.rates", "case")
    assert whole.varied[-1] == "load"


def test_a_spec_says_itself_again(whole):
    told = whole.to_dict()
    assert read_spec(told).to_dict() == told


def test_the_design_is_grid_times_cases_times_draws(whole):
    runs = list(Design(whole, {}))
    assert len(runs) == len(Design(whole, {})) == 2 * 3 * 2 * 2 * 3
    assert [run.number for run in runs] == list(range(72))
    assert len({run.key for run in runs}) == 72
    rows = [
        (run.parameters["policy"], run.parameters["procs"],
         tuple(run.parameters["cluster.rate_control.rates"]), run.parameters["case"])
        for run in runs
    ]  # fmt: skip
    combinations = itertools.product(
        ("fcfs", "fcfs+easy"), (80, 100, 120), ((1.0, 2.0), (1.0, 3.0)), ("narrow", "case 2")
    )
    assert rows == [one for one in combinations for _ in range(3)]
    loads = [run.parameters["load"] for run in runs]
    assert loads == loads[:3] * 24  # the same draws for every combination
    assert all(0.5 <= load <= 0.9 for load in loads)


def test_keys_depend_on_what_counts_and_on_nothing_else(whole):
    def keys(**changes):
        told = whole.to_dict() | changes
        return [run.key for run in Design(read_spec(told), {"log.swf": "abc"})]

    first = keys()
    assert keys(note="another") == first
    assert keys(measures=["p98(wait)"])[0] != first[0]
    assert keys(read={})[0] != first[0]
    assert next(iter(Design(whole, {"log.swf": "other"}))).key != first[0]
    assert next(iter(Design(whole, {"log.swf": "abc"}, "0.0"))).key != first[0]
    renamed = [dict(one) for one in whole.to_dict()["cases"]]
    renamed[0]["name"] = "other"
    assert keys(cases=renamed) == first  # a name changes nothing in a run
    moved = whole.to_dict()["vary"]
    assert set(keys(vary=dict(reversed(moved.items())))) == set(first)


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"from": 1, "to": 3}, (1, 2, 3)),
        ({"from": 80, "to": 120, "step": 15}, (80, 95, 110)),
        ({"from": 0.1, "to": 0.5, "step": 0.1}, (0.1, 0.2, 0.3, 0.4, 0.5)),
        ({"from": 5, "to": 5}, (5,)),
        ({"from": 1, "to": 1000, "count": 4, "scale": "log"}, (1, 10, 100, 1000)),
        ({"from": 1.0, "to": 2.0, "count": 3}, (1.0, 1.5, 2.0)),
        ({"from": 1, "to": 3, "count": 9}, (1, 2, 3)),
        ({"from": 1e5, "to": 3e6, "count": 2, "scale": "log"}, (1e5, 3e6)),
        ({"from": 7, "to": 9, "count": 1}, (7,)),
    ],
)
def test_ranges(table, values):
    found = Range.model_validate(table).values()
    assert found == pytest.approx(values, rel=1e-12)
    assert [type(one) for one in found] == [type(one) for one in values]


@given(
    low=st.floats(-1e6, 1e6),
    size=st.floats(0, 1e6),
    count=st.integers(1, 50),
)
def test_a_range_keeps_to_its_ends(low, size, count):
    found = Range.model_validate({"from": low, "to": low + size, "count": count}).values()
    assert found[0] == low
    assert all(low <= one <= low + size for one in found)
    assert list(found) == sorted(set(found))


def test_each_whole_number_is_equally_likely():
    one = Range.model_validate({"from": 1, "to": 3})
    drawn = [one.drawn((i + 0.5) / 300) for i in range(300)]
    assert [drawn.count(value) for value in (1, 2, 3)] == [100, 100, 100]


def random_part(**more):
    return read_spec({"random": {"runs": 100, **more}}).random


def test_draws_of_one_key_do_not_move_those_of_another():
    alone = draw(random_part(load={"from": 0.5, "to": 1.0}))
    beside = draw(random_part(procs={"from": 1, "to": 9}, load={"from": 0.5, "to": 1.0}))
    assert [row["load"] for row in alone] == [row["load"] for row in beside]
    assert {row["procs"] for row in beside} == set(range(1, 10))
    other = draw(random_part(load={"from": 0.5, "to": 1.0}, seed=1))
    assert other != alone


def test_a_latin_design_draws_once_from_every_part():
    drawn = draw(random_part(load={"from": 1.0, "to": 2.0}, method="latin"))
    parts = sorted(int((row["load"] - 1) * 100) for row in drawn)
    assert parts == list(range(100))


def test_a_random_choice_takes_all_values():
    drawn = draw(random_part(policy=["fcfs", "easy"]))
    counts = [sum(row["policy"] == one for row in drawn) for one in ("fcfs", "fcfs+easy")]
    assert sum(counts) == 100
    assert min(counts) > 30  # binomial: below 30 with probability 2e-5; the seed is fixed


def test_machine_settings_lie_over_the_file():
    base = {"procs": 10, "power": {"busy": 1.0, "idle": 0.5}}
    found = machine_settings(base, {"procs": 20, "cluster.power.idle": 0.1, "policy": "fcfs"})
    assert found == {"procs": 20, "power": {"busy": 1.0, "idle": 0.1}}
    assert base["procs"] == 10
    assert nested({"a.b": 1, "a.c": 2, "d": 3}) == {"a": {"b": 1, "c": 2}, "d": 3}


def test_one_entry_of_a_list_can_be_set():
    told = {"fixed": {"cluster": {"sleep": {"states": [{"timeout": 60, "power": 5}]}}},
            "vary": {"cluster": {"sleep": {"states": {"0": {"timeout": [300, 900]}}}},
                     "cluster.rate_control.rates.1": [1.5, 2.0]}}  # fmt: skip
    spec = read_spec(told)
    assert spec.grid["cluster.sleep.states.0.timeout"] == (300, 900)
    assert spec.grid["cluster.rate_control.rates.1"] == (1.5, 2.0)
    assert read_spec(spec.to_dict()).to_dict() == spec.to_dict()
    base = {"rate_control": {"kind": "queue", "rates": [1.0, 2.0], "k_low": 1, "k_high": 2}}
    found = machine_settings(base, {"cluster.rate_control.rates.1": 3.0})
    assert found["rate_control"]["rates"] == [1.0, 3.0]
    assert base["rate_control"]["rates"] == [1.0, 2.0]
    for key in ("cluster.rate_control.rates.2", "cluster.sleep.states.0.timeout"):
        with pytest.raises(ExperimentError, match=f"{key}: there is no such entry"):
            machine_settings(base, {key: 3.0})
    with pytest.raises(ExperimentError, match=r"unknown key 'cluster.slep.states.0.timeout'"):
        read_spec({"vary": {"cluster.slep.states.0.timeout": [1]}})


def test_every_key_of_a_cluster_file_can_vary():
    assert {"cluster.power.busy", "cluster.rate_control.k_low"} <= set(known_keys())
    assert "cluster.procs" not in known_keys()  # it is called procs


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], pl.Int64),
        ([1, 2.5], pl.Float64),
        (["a", None], pl.String),
        ([True, False], pl.Boolean),
        ([[1, 2], [1.5]], pl.List(pl.Float64)),
        ([{"a": 1}, 2], pl.String),
        ([1, "a"], pl.String),
    ],
)
def test_columns_of_parameters(values, kind):
    assert column("x", values).dtype == kind


WRONG = [
    ({"vary": {"procz": [1]}}, "unknown key 'procz' in vary; did you mean 'procs'?"),
    ({"vary": {"k_low": [1]}}, "'k_low' in vary; did you mean 'cluster.rate_control.k_low'?"),
    ({"vary": {"cluster.power.buzy": [1]}}, "did you mean 'cluster.power.busy'?"),
    ({"vary": {"cluster": {"power": {"buzy": [1]}}}}, "unknown key 'cluster.power.buzy' in vary"),
    ({"vry": {"procs": [1]}}, "unknown key 'vry'; did you mean 'vary'?"),
    ({"vary": {"procs": []}}, "vary.procs is empty"),
    ({"vary": {"procs": 5}}, "goes into [fixed] as procs = 5"),
    ({"vary": {"procs": [1, 2, 1]}}, "vary.procs has 1 twice"),
    ({"vary": {"procs": [1.5]}}, "vary.procs: must be a whole number, got 1.5"),
    ({"vary": {"procs": [0]}}, "vary.procs: must be at least 1, got 0"),
    ({"vary": {"procs": [True]}}, "vary.procs: must be a whole number, got True"),
    ({"vary": {"load": [0.0]}}, "vary.load: must be above 0, got 0.0"),
    ({"vary": {"load": [float("nan")]}}, "vary.load: must be a finite number, got nan"),
    ({"vary": {"policy": ["eazy"]}}, "vary.policy: unknown policy 'eazy'; did you mean 'easy'?"),
    ({"vary": {"policy": [3]}}, "vary.policy: must be a policy or its name, got 3"),
    ({"vary": {"ties": ["never"]}}, "vary.ties: unknown 'never'"),
    ({"vary": {"knowledge": ["all"]}}, "vary.knowledge: unknown 'all'"),
    ({"vary": {"resample": ["days"]}}, "vary.resample: unknown 'days'"),
    ({"vary": {"enforce_limits": ["yes"]}}, "must be true or false, got 'yes'"),
    ({"vary": {"patience": ["long"]}}, "vary.patience: "),
    ({"vary": {"patience": [3]}}, "vary.patience: must be a text, got 3"),
    ({"vary": {"dependencies": [1]}}, "vary.dependencies: must be true or false, got 1"),
    ({"vary": {"trace": [1]}}, "vary.trace: must be a text, got 1"),
    ({"vary": {"cluster.power.busy": ["a"]}}, "vary.cluster.power.busy: "),
    ({"vary": {"procs": {"from": 1}}}, "vary.procs.to is missing"),
    ({"vary": {"procs": {"from": 1, "to": 5, "stp": 1}}}, "'stp' in vary.procs; did you mean"),
    ({"vary": {"procs": {"from": 5, "to": 1}}}, "vary.procs: from must not exceed to, got 5 > 1"),
    ({"vary": {"procs": {"from": 1, "to": 5, "step": 0}}}, "vary.procs: step must be positive"),
    ({"vary": {"procs": {"from": 1, "to": 5, "count": 0}}}, "count must be at least 1, got 0"),
    ({"vary": {"procs": {"from": 1, "to": 5, "step": 1, "count": 2}}}, "step or count, not both"),
    ({"vary": {"procs": {"from": 1, "to": 9, "scale": "log"}}}, "a log scale needs count = N"),
    ({"vary": {"load": {"from": 0, "to": 9, "count": 2, "scale": "log"}}}, "begins above 0"),
    ({"vary": {"procs": {"from": 1, "to": 9, "scale": "lg"}}}, "vary.procs.scale"),
    ({"vary": {"procs": {"from": "a", "to": 9}}}, "vary.procs.from"),
    ({"vary": {"load": {"from": 0.0, "to": 1.0, "step": 1e-9}}}, "too many"),
    ({"fixed": {"procs": 1}, "vary": {"procs": [1]}}, "procs stands in [fixed] and in [vary]"),
    ({"fixed": {"procs": 1}}, "nothing varies"),
    ({"fixed": {"procs": "x"}, "vary": {"seed": [1]}}, "fixed.procs: must be a whole number"),
    ({"cases": [{"name": "a"}]}, "cases (a) sets nothing"),
    ({"cases": [{"name": 3, "procs": 1}]}, "cases: a name is a text, got 3"),
    ({"cases": [{"name": "a", "procs": 1}, {"name": "a", "procs": 2}]}, "'a' is used twice"),
    ({"cases": [{"procs": 0}]}, "cases (case 1).procs: must be at least 1"),
    ({"cases": {"procs": 0}}, "cases: "),
    ({"random": {"load": [1.0]}}, "random.runs is missing"),
    ({"random": {"runs": 0, "load": [1.0]}}, "random.runs: "),
    ({"random": {"runs": 5}}, "random draws nothing"),
    ({"random": {"runs": 5, "lod": [1.0]}}, "unknown key 'lod' in random; did you mean 'load'?"),
    ({"random": {"runs": 5, "load": {"from": 1, "to": 2, "step": 1}}}, "neither step nor count"),
    ({"random": {"runs": 5, "load": []}}, "random.load is empty"),
    ({"measures": 3, "vary": {"seed": [1]}}, "measures: "),
    ({"measures": ["mean(wayt)"], "vary": {"seed": [1]}}, "measures: "),
    ({"read": {"zone": "x"}, "vary": {"seed": [1]}}, "unknown key 'zone'"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "said"), WRONG, ids=[said for _, said in WRONG])
def test_mistakes_are_named(told, said):
    with pytest.raises(ExperimentError) as refused:
        read_spec(told)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_files_of_the_documentation_are_right():
    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    told = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(told) == 2
    for text in told:
        assert len(Design(read_spec(tomllib.loads(text)), {})) > 10


def test_a_file_that_is_not_toml_is_named(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text("policy = [")
    with pytest.raises(ExperimentError, match=r"s\.toml: not a TOML file"):
        read_spec(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match=r"s\.toml: not a TOML file"):
        read_spec(path)
    path.write_text("[vary]\nprocz = [1]")
    with pytest.raises(ExperimentError, match=r"s\.toml: unknown key 'procz'"):
        read_spec(path)


@pytest.mark.parametrize("missing", ["onega", "contents", "spec"])
def test_a_manifest_without_a_key_is_refused_in_a_line(tmp_path, missing):
    told = {
        "onega_sweep": 1,
        "onega": "0.1.0",
        "contents": {},
        "spec": {"fixed": {"procs": 8}, "vary": {"policy": ["easy"]}},
    }
    del told[missing]
    (tmp_path / "sweep.json").write_text(json.dumps(told))
    with pytest.raises(ExperimentError, match=f"a damaged manifest: {missing}: ") as raised:
        read_design(tmp_path)
    assert len(str(raised.value).splitlines()) == 1
