"""The public face: what is there, what it costs to import, what can go wrong."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys

import pytest

import onega
from onega.core import errors
from places import ROOT

HEAVY = (
    "dask",
    "distributed",
    "numba",
    "scipy",
    "sklearn",
    "plotly",
    "matplotlib",
    "pandas",
    "kmedoids",
)

JOB = {"submit": [0], "runtime": [1], "procs": [1]}


def fresh(code: str):
    """What a fresh interpreter prints, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


def test_all_is_sorted_and_without_repeats():
    assert onega.__all__ == sorted(set(onega.__all__))


def test_all_is_what_is_visible():
    visible = fresh("import json, onega; print(json.dumps(dir(onega)))")
    assert [name for name in visible if not name.startswith("_")] == onega.__all__


def test_every_public_name_can_be_had_and_lives_where_it_says():
    for name in onega.__all__:
        thing = getattr(onega, name)
        assert getattr(onega, name) is thing
        assert thing.__name__.rpartition(".")[2] == name


def test_a_package_of_the_same_name_does_not_hide_a_public_one():
    """Importing ``onega.x.y`` sets ``onega.x``; a function ``onega.x`` has to survive that."""
    code = """
import json, pkgutil, types
from importlib import import_module
import onega
for module in pkgutil.walk_packages(onega.__path__, "onega."):
    import_module(module.name)
modules = {name for name in onega.__all__ if isinstance(getattr(onega, name), types.ModuleType)}
print(json.dumps(sorted(modules - {"machine", "models", "results"})))
"""
    assert fresh(code) == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="simulat"):
        onega.simulat  # noqa: B018


def test_the_face_is_typed(tmp_path):
    """What a user's type checker sees: types where there are names, errors where there are none."""
    script = tmp_path / "script.py"
    script.write_text(
        "import onega\n"
        "log = onega.read('jobs.swf')\n"
        "reveal_type(onega.simulate)\n"
        "reveal_type(onega.simulate(log, 4, 'easy').start)\n"
        "reveal_type(onega.stability(log, procs=4))\n"
        "reveal_type(onega.models.Markov.fit(log).sample(10))\n"
        "onega.nonsense\n"
        "onega.models.nonsense\n"
        "onega.machine.nonsense\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    told = [line.partition(": ")[2] for line in done.stdout.splitlines() if "script.py" in line]
    assert len(told) == 7, done.stdout
    simulate, start, stability, sample, *missing = told
    assert "def (workload: onega." in simulate
    assert "numpy.float64" in start or "floating" in start
    assert "Stability" in stability
    assert "onega.core.workload.workload.Workload" in sample
    assert "Any" not in stability + sample
    assert all("nonsense" in line and "error" in line for line in missing)


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("import onega", {"polars", "pydantic"}),
        ("from onega.cli.app import make_command; make_command()", {"polars"}),
        (f"import onega; onega.Workload({JOB}); onega.read", {"pydantic"}),
        (f"import onega; onega.describe(onega.Workload({JOB}))", {"pydantic"}),
    ],
)
def test_heavy_libraries_wait_until_they_are_needed(what, more):
    loaded = fresh(f"{what}\nimport json, sys; print(json.dumps(sorted(sys.modules)))")
    assert {*HEAVY, *more} & set(loaded) == set()


def all_subclasses(parent):
    return dict.fromkeys(parent.__subclasses__(), parent) | {
        one: above
        for child in parent.__subclasses__()
        for one, above in all_subclasses(child).items()
    }


def test_the_drawn_error_tree_is_the_real_one():
    """Names under ├── and └── in the module's docstring, with their parents by indentation."""
    for module in ("onega.web.job_broker", "onega.web.store"):  # the page has two of its own
        importlib.import_module(module)
    drawn, path = {}, []
    for line in errors.__doc__.splitlines():
        found = re.fullmatch(r"    ((?:[│ ] {3})*)(?:[├└]── )?(\w+Error)\b.*", line)
        if not found:
            continue
        branch = "── " in line
        depth = len(found[1]) // 4 + branch
        del path[depth:]
        if path:
            drawn[found[2]] = path[-1]
        path.append(found[2])
    real = {
        one.__name__: above.__name__
        for one, above in all_subclasses(errors.OnegaError).items()
        if one.__module__.startswith("onega.")
    }
    assert drawn == real


def test_every_error_is_public():
    names = {one.__name__ for one in all_subclasses(errors.OnegaError)} | {"OnegaError"}
    ours = {name for name in names if hasattr(errors, name)}
    assert ours <= set(onega.__all__)


def returned(thing):
    """Names of our types in the return annotations of a function, or of a class's methods."""
    found = [thing]
    if inspect.isclass(thing):
        public = [value for word, value in vars(thing).items() if not word.startswith("_")]
        found = [
            getattr(value, "fget", None) or getattr(value, "__func__", value) for value in public
        ]
    for one in filter(inspect.isfunction, found):
        said = str(inspect.signature(one).return_annotation)
        for word in re.findall(r"\b[A-Z]\w+", said):
            type_ = one.__globals__.get(word)
            if inspect.isclass(type_) and type_.__module__.startswith("onega."):
                yield word


def test_what_is_returned_can_be_named():
    """Types that public functions and methods return are public, or in one of the submodules."""
    places = (onega, onega.models, onega.machine, onega.results)
    known = {name for place in places for name in place.__all__}
    lacking = {
        f"{name}: {word}"
        for name in onega.__all__
        for word in returned(getattr(onega, name))
        if word not in known
    }
    assert not lacking


def test_submodules_give_the_same_things():
    for place in (onega.machine, onega.results):
        for name in place.__all__:
            thing = getattr(place, name)
            assert thing.__name__ == name
            assert getattr(onega, name, thing) is thing


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert onega.__version__ == version("onega")
