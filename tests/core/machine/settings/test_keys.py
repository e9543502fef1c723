"""A machine is described once: types, words, template, flags, sweep keys, the API and the form."""

from __future__ import annotations

import re
import tomllib
from typing import get_args

import pytest

from onega.cli.app import make_command
from onega.core.machine.settings.keys import TABLES, text_of
from onega.core.machine.settings.reading import check_settings
from onega.core.machine.settings.tables import ClusterFile, _table_in
from onega.core.machine.settings.template import make_template
from onega.experiment.sweep.keys import known_keys
from onega.web.schemas import PowerRequest, RateControlRequest
from places import ROOT

NAMES_OF_ONES_OWN = {"resources"}
"""Tables whose keys are the reader's own names."""


def typed(table=ClusterFile, name=""):
    """Yield every table of the types: its name and its keys that aren't tables themselves."""
    inner = {key: _table_in(field.annotation) for key, field in table.model_fields.items()}
    yield name, {key for key, below in inner.items() if below is None}
    for key, below in inner.items():
        if below is not None:
            yield from typed(below, f"{name}.{key}".strip("."))


def test_every_setting_has_a_type_and_a_word():
    types = dict(typed())
    types[""] -= NAMES_OF_ONES_OWN
    words = {
        name: set(table.keys) for name, table in TABLES.items() if name not in NAMES_OF_ONES_OWN
    }
    assert words == types


def test_every_example_is_accepted_and_shown():
    everything = re.sub(r"(?m)^#(?=[\w\[])", "", make_template())
    settings = check_settings(tomllib.loads(everything))
    for name, table in TABLES.items():
        place = settings
        for part in filter(None, name.split(".")):
            place = place[part]
        entries = place if table.several else [place]
        assert len(entries) == max(len(key.examples) for key in table.keys.values())
        for key, words in table.keys.items():
            shown = [entry.get(key) for entry in entries]
            assert shown == list(words.examples), (name, key)


def test_lines_of_the_template_fit_a_screen():
    assert max(map(len, make_template().splitlines())) <= 100


def test_sweeps_vary_every_setting():
    known = set(known_keys())
    for name, table in TABLES.items():
        if name and not table.several and name not in NAMES_OF_ONES_OWN:
            assert {f"cluster.{name}.{key}" for key in table.keys} <= known


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
    assert helps[FLAGS[setting]] == text_of(setting)


@pytest.mark.parametrize(
    ("name", "request_"), [("rate_control", RateControlRequest), ("power", PowerRequest)]
)
def test_the_api_takes_the_same_keys(name, request_):
    assert set(request_.model_fields) == set(TABLES[name].keys)
    for key, field in request_.model_fields.items():
        assert field.description == text_of(f"{name}.{key}")


def test_the_form_has_the_same_names():
    form = (ROOT / "src/onega/web/templates/log.html").read_text(encoding="utf-8")
    names = set(re.findall(r'name="([a-z_]+)"', form))
    assert {"k_low", "k_high", "p_low", "p_high", "procs"} <= names
    kinds = set(re.findall(r'<option value="([a-z]+)"', form))
    assert kinds >= {"random", "queue", "workload"}
    assert set(get_args(RateControlRequest.model_fields["kind"].annotation)) >= {
        "queue",
        "workload",
    }
