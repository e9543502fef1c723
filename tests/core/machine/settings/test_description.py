"""A machine is described once: file, template, flags, sweep keys, API and form come from there."""

from __future__ import annotations

import re
import tomllib
from typing import get_args

import pytest
from annotated_types import Ge, Gt, Le
from pydantic import TypeAdapter, ValidationError

from onega.cli.app import make_command
from onega.core.errors import SimulationError
from onega.core.machine.cluster import CONTROLS, NEEDED, Cluster, ControlKind
from onega.core.machine.faults import INTERRUPTIONS, InterruptionRule
from onega.core.machine.settings.description import (
    ClusterSettings,
    PowerSettings,
    RateControlSettings,
    described,
    sentence,
    setting_names,
    table_of,
)
from onega.core.machine.settings.making import make_cluster
from onega.core.machine.settings.reading import check_settings
from onega.core.machine.settings.template import make_template
from onega.experiment.sweep.keys import check_value, known_keys
from onega.web.form import POWER, PROCS, RATES
from onega.web.schemas import RunRequest

NAMES_OF_ONES_OWN = ("resources", "multifactor.shares")
"""Tables whose keys are the reader's own names."""


def tables(model=ClusterSettings, name="", several=False):
    """Yield every table: its name, its settings that aren't tables, whether there are several."""
    inner = {key: table_of(field) for key, field in model.model_fields.items()}
    yield name, {k: model.model_fields[k] for k, (below, _) in inner.items() if not below}, several
    for key, (below, many) in inner.items():
        if below is not None:
            yield from tables(below, f"{name}.{key}".strip("."), many)


TABLES = {name: (fields, several) for name, fields, several in tables()}


@pytest.mark.parametrize("name", TABLES)
def test_every_setting_has_a_sentence_and_examples_in_rows(name):
    fields, several = TABLES[name]
    rows = {len(field.examples) for field in fields.values()}
    assert len(rows) == 1
    assert rows == {2} or not several
    for key, field in fields.items():
        assert field.description.endswith((".", ")."))
        assert field.description in re.sub(r"\n# ", " ", make_template()), key


def test_every_example_is_accepted_and_shown():
    everything = re.sub(r"(?m)^#(?=[\w\[])", "", make_template())
    settings = check_settings(tomllib.loads(everything))
    for name, (fields, several) in TABLES.items():
        place = settings
        for part in filter(None, name.split(".")):
            place = place[part]
        for number, entry in enumerate(place if several else [place]):
            for key, field in fields.items():
                assert entry.get(key) == field.examples[number], (name, key)


@pytest.mark.parametrize("number", range(3))
def test_examples_of_a_row_make_a_machine(number):
    control = {
        key: field.examples[number] for key, field in RateControlSettings.model_fields.items()
    }
    cluster = make_cluster(check_settings({"procs": 8, "rate_control": control}))
    assert cluster.rates.kind == control["kind"]
    assert {
        key for key in ("k_low", "k_high", "p_low", "p_high") if control[key] is not None
    } == set(NEEDED[control["kind"]])


def test_words_that_are_chosen_from_are_those_of_the_parts():
    assert set(TypeAdapter(ControlKind).json_schema()["enum"]) == set(CONTROLS) == set(NEEDED)
    assert set(TypeAdapter(InterruptionRule).json_schema()["enum"]) == set(INTERRUPTIONS)


def bounded():
    """Yield every bound: the setting, a value at it, and one beyond."""
    for name in setting_names():
        if name in NAMES_OF_ONES_OWN:
            continue
        for bound in bounds_in(described(name).annotation):
            if isinstance(bound, Ge):
                yield name, bound.ge, bound.ge - 1
            elif isinstance(bound, Gt):
                yield name, None, bound.gt
            elif isinstance(bound, Le):
                yield name, bound.le, bound.le * 2


def bounds_in(annotation):
    for one in getattr(annotation, "__metadata__", ()):
        yield from getattr(one, "metadata", (one,))
    for inner in get_args(annotation):
        yield from bounds_in(inner)


BASE = {
    "rate_control": {"kind": "queue", "rates": [1.0, 2.0], "k_low": 0, "k_high": 9},
    "power": {"busy": 2.0**60},
    "sleep": {"states": [{"timeout": 1, "power": 1, "delay": 1, "wake_power": 1}]},
    "user_limits": {"max_jobs": 3},
    "failures": {"time_to_failure": "1d", "time_to_repair": "1h"},
    "interruption": {"rule": "checkpoint", "interval": "1h"},
}
"""What has to stand beside a setting."""

BOUNDS = sorted({(name, at, beyond) for name, at, beyond in bounded()}, key=str)


def test_there_are_bounds_to_look_at():
    assert len(BOUNDS) > 30


@pytest.mark.parametrize(("name", "at", "beyond"), BOUNDS, ids=str)
def test_bounds_are_those_of_the_parts(name, at, beyond):
    """What the description refuses, the part refuses as well; at the bound both take it."""
    table, _, key = name.rpartition(".")
    settings = {"procs": 4, **({table: dict(BASE.get(table, {}))} if table else {})}
    place = settings[table] if table else settings
    listed = name == "rate_control.rates"
    place[key] = [beyond, 2.0 * beyond] if listed and beyond < 1 else beyond
    with pytest.raises(SimulationError):
        check_settings(settings)
    with pytest.raises(SimulationError):
        make_cluster(settings)
    with pytest.raises(ValueError, match=r"must be (at least|at most|above)"):
        check_value(name if name == "procs" else f"cluster.{name}", beyond)
    if at is not None and not listed:
        place[key] = at
        if name == "rate_control.k_low":
            place["k_high"] = at
        if name == "rate_control.k_high":
            place["k_low"] = 0
        assert isinstance(make_cluster(check_settings(settings)), Cluster)


def test_lines_of_the_template_fit_a_screen():
    assert max(map(len, make_template().splitlines())) <= 100


def test_sweeps_vary_every_setting():
    known = set(known_keys())
    for name, (fields, several) in TABLES.items():
        if name and not several:
            assert {f"cluster.{name}.{key}" for key in fields} <= known


FLAGS = {
    "rate_control.kind": "--rate-control",
    "rate_control.k_low": "--k-low",
    "rate_control.k_high": "--k-high",
    "rate_control.p_low": "--p-low",
    "rate_control.p_high": "--p-high",
    "power.busy": "--power-busy",
    "power.idle": "--power-idle",
}


@pytest.mark.parametrize("setting", FLAGS)
def test_flags_say_the_same(setting):
    options = make_command().commands["simulate"].params
    helps = {
        flag: one.help for one in options if one.param_type_name == "option" for flag in one.opts
    }
    assert helps[FLAGS[setting]] == sentence(setting)


def test_the_api_takes_the_description_itself():
    for name, table in (("rate_control", RateControlSettings), ("power", PowerSettings)):
        assert table_of(RunRequest.model_fields[name])[0] is table
    request = {"log": "0" * 16, "procs": 0}
    with pytest.raises(ValidationError, match="procs"):
        RunRequest.model_validate(request)


def test_fields_of_the_form_are_settings_with_their_bounds():
    for field in (PROCS, *RATES, *POWER):
        name = re.sub(r"\.[0-9]$", "", field.name)
        assert name in set(setting_names())
        assert field.label == described(name).title
        if not field.choices:
            assert field.least is not None
            check = name if name == "procs" else f"cluster.{name}"
            check_value(check, [field.least] if field.name != name else field.least)
    shown = {field.name for field in RATES}
    assert {f"rate_control.{key}" for keys in NEEDED.values() for key in keys} <= shown
