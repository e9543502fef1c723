"""Model files that somebody edited, or that were damaged: refused in a line, never a traceback."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import onega
from onega.core.errors import ModelError, OnegaError
from onega.models import MODELS, from_json

STRANGE = [
    None, True, "x", "", "١٢", -1, 0, 1, 1.5, -0.5, 1e308, 10**30, 2**63, [], [[]], [1], [1, "a"],
    [[1, 2], [3]], [None], {}, {"kind": "poisson", "version": 1, "mean": 5.0}, {"kind": []},
    {"kind": "x"}, [True], [1e400],
]  # fmt: skip


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(1)
    log = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(300, 400)).round(),
            "runtime": rng.lognormal(6, 1.5, 400).round() + 1,
            "procs": 2 ** rng.integers(0, 6, 400),
            "estimate": rng.choice([3600.0, 7200.0, 86400.0], 400),
            "user": rng.integers(1, 9, 400),
        },
    )
    names = ["independent", "markov", "vlmc", "lublin", "downey", "feitelson96"]
    return {name: MODELS[name].fit(log, rng=1).to_json() for name in names}


def places(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value[:6]):
            yield from places(inner, (*path, number))


def changed(text, path, new):
    data = json.loads(text)
    if not path:
        return json.dumps(new)
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = new
    return json.dumps(data)


def test_every_place_with_every_strange_value(texts):
    """1 200 draws of the cross product: each is refused in a line, or is a model that samples."""
    dice = random.Random(5)
    for _ in range(200):
        for name, text in texts.items():
            path = dice.choice(list(places(json.loads(text))))
            edited = changed(text, path, dice.choice(STRANGE))
            told = "taken"
            try:
                assert len(from_json(edited).sample(20, rng=1)) == 20
            except OnegaError as error:
                told = str(error)
            assert len(told.splitlines()) == 1, (name, path)


def test_types_are_what_they_are_named():
    for edited, words in [
        ('{"onega_model": "lublin", "machine": "12"}', "machine: Input should be a valid integer"),
        ('{"onega_model": "lublin", "machine": true}', "machine"),
        ('{"onega_model": ["lublin"]}', "no model"),
        ('{"onega_model": "lublin", "arrivals": []}', "a table with a kind"),
        ('{"onega_model": "lublin", "arrivals": {"kind": []}}', "no part of kind"),
        ("[" * 50_000, "not a model file"),
    ]:
        with pytest.raises(ModelError, match=words):
            from_json(edited)


def test_saved_models_load_as_they_were(texts):
    for text in texts.values():
        assert from_json(text).to_json() == text
