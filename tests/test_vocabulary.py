"""One word for one idea, over all public signatures: the table of docs/conventions.md."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import onega
from onega.core.renamed import renamed
from places import ROOT

NOT_SAID = {
    "log": "workload",
    "stream": "workload",
    "trace": "workload",
    "machine": "cluster",
    "level": "confidence (of an interval) or significance (of a test)",
    "warm_up": "warmup",
    "seed": "rng",
    "random_state": "rng",
    "n_jobs": "jobs",
    "pain": "objective",
}
N_MEANS_JOBS = {"sample", "head"}
"""Where ``n`` is a parameter: the number of jobs to draw or keep."""


def functions():
    """Public functions, and methods of public classes that aren't made by `dataclass`."""
    for name in onega.__all__:
        thing = getattr(onega, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            for word, value in vars(thing).items():
                inner = getattr(value, "__func__", value)
                if inspect.isfunction(inner) and not word.startswith("_"):
                    yield f"{name}.{word}", inner
    for name, model in onega.models.MODELS.items():
        yield f"{name}.sample", model.sample
        yield f"{name}.fit", model.fit


FUNCTIONS = dict(functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_words(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    wrong = {word: NOT_SAID[word] for word in parameters if word in NOT_SAID}
    assert not wrong
    if "n" in parameters:
        assert name.rpartition(".")[2] in N_MEANS_JOBS
    if "progress" in parameters:
        said = str(parameters["progress"].annotation)
        assert "Progress" in said or "Callable[[float], None]" in said
    if "rng" in parameters:
        assert parameters["rng"].kind in (
            inspect.Parameter.KEYWORD_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )


def test_the_table_is_in_the_docs():
    table = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
    for word in ("workload", "cluster", "confidence", "significance", "warmup", "rng", "progress"):
        assert f"| `{word}` |" in table


def test_old_names_are_taken_too():
    values = np.arange(10.0)
    assert onega.mean_interval(values, level=0.5) == onega.mean_interval(values, confidence=0.5)
    with pytest.raises(TypeError, match="twice"):
        onega.mean_interval(values, level=0.5, confidence=0.9)
    with pytest.raises(TypeError, match="unexpected"):
        onega.mean_interval(values, nonsense=1)


def test_every_old_name_leads_to_a_parameter():
    for name, function in FUNCTIONS.items():
        for old, new in vars(function).get("renamed", {}).items():
            parameters = inspect.signature(function).parameters
            assert new in parameters, name
            assert old not in parameters, name


def test_a_renamed_function_keeps_its_face():
    @renamed(old="new")
    def say(new):
        """Say it."""
        return new

    assert say(old=1) == say(new=1) == say(1) == 1
    assert say.__doc__ == "Say it."
