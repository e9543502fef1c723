"""The table of `onega.kernels.machine.state`: which modules write which record."""

from __future__ import annotations

import ast
import itertools
import re
from collections import defaultdict
from pathlib import Path

import onega.kernels.machine.state as state

FOLDER = Path(state.__file__).parent
PARAMETERS = {
    "part": {"partitions"},
    "job": {"jobs"},
    "user": {"users"},
    "change": {"changes"},
    "owner": {"nodes", "resources"},
}
"""Records that functions are given, by the names that they go by."""


def array_of(value: ast.expr, known: dict[str, set[str]]) -> set[str]:
    """Arrays of the machine that an expression is, or is an element of; empty: of none."""
    if isinstance(value, ast.Subscript):
        return array_of(value.value, known)
    if isinstance(value, ast.Name):
        return known.get(value.id, set())
    if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
        return {value.attr} if value.value.id in ("m", "logs") else set()
    if isinstance(value, ast.Attribute):  # m.logs.lines
        return {value.attr} if array_of(value.value, known) == {"logs"} else set()
    if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "add_change":
        return {"changes"}
    return set()


def targets_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        given = node.targets
    elif isinstance(node, ast.AugAssign):
        given = [node.target]
    else:
        return []
    return [one for target in given for one in getattr(target, "elts", [target])]


def writes_of(function: ast.FunctionDef) -> set[str]:
    """Arrays that a function writes elements or fields of."""
    known = {one.arg: PARAMETERS.get(one.arg, set()) for one in function.args.args}
    for node in ast.walk(function):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, value in pairs:
                if isinstance(name, ast.Name) and array_of(value, known):
                    known[name.id] = array_of(value, known)
    found: set[str] = set()
    for node in ast.walk(function):
        for target in targets_of(node):
            if isinstance(target, ast.Attribute | ast.Subscript):
                found |= array_of(target.value, known)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "shift":
            found |= array_of(node.args[0], known)
    return found


def writers() -> dict[str, set[str]]:
    """Modules that write each array, by its name in the machine."""
    found = defaultdict(set)
    for path in FOLDER.glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                for name in writes_of(node):
                    found[name].add(path.stem)
    return found


def table() -> dict[str, set[str]]:
    """What the docstring says; a row goes on where its first column is empty."""
    rows = re.split(r"^=+ =+ =+$", state.__doc__ or "", flags=re.MULTILINE)[2]
    edges = [0, 18, 67, None]
    told: dict[str, set[str]] = {}
    arrays: list[str] = []
    for row in filter(None, rows.splitlines()):
        name, _, modules = (row[a:b].strip() for a, b in itertools.pairwise(edges))
        arrays = name.split(", ") if name else arrays
        for array in arrays:
            told.setdefault(array, set()).update(modules.rstrip(",").split(", "))
    return told


def test_the_table_tells_who_writes_what():
    found = writers()
    assert len(found) >= 25
    assert found == table()


def test_a_write_is_noticed():
    source = (
        "def f(m, n):\n    job = m.jobs[n]\n    job.end = m.clock[0].now\n    m.free[n, 0] += 1\n"
    )
    (function,) = ast.parse(source).body
    assert writes_of(function) == {"jobs", "free"}
