"""What pyproject.toml declares: everything that is imported, once, with bounds that are tried."""

from __future__ import annotations

import ast
import re
import sys
import tomllib

from places import ROOT

NAMES = {"sklearn": "scikit-learn"}
"""Packages that are imported under another name than they are installed."""


def same_name(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(extra=None):
    """Name → lowest version, as pyproject.toml says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for line in lines]
    assert all(found), lines
    names = [same_name(one[1]) for one in found]
    assert len(set(names)) == len(names), f"declared twice: {names}"
    return {same_name(one[1]): one[2] for one in found}


def pinned(name):
    lines = (ROOT / name).read_text().splitlines()
    found = [re.fullmatch(r"([A-Za-z0-9._-]+)==([\w.]+)", line) for line in lines]
    assert all(found), f"{name}: name==version lines only"
    return {same_name(one[1]): one[2] for one in found}


def imported():
    """Every package that the source imports, wherever in a file."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add((node.module or "").partition(".")[0])
    return {same_name(NAMES.get(name, name)) for name in found - sys.stdlib_module_names}


def test_everything_that_is_imported_is_declared():
    assert imported() - {"onega"} <= {*declared(), *declared("dask")}


def test_the_lowest_versions_are_those_that_are_tried():
    """`make test-lowest` installs exactly the bounds."""
    tried = pinned("constraints-lowest.txt")
    for name, bound in declared().items():
        assert tried[name].removesuffix(".0").removesuffix(".0") == bound.removesuffix(".0"), name


def test_every_dependency_is_pinned():
    known = pinned("constraints.txt")
    assert {*declared(), *declared("dask")} <= set(known)
