"""What pydantic finds wrong, in Onega's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onega.core.errors import suggest

if TYPE_CHECKING:
    from pydantic import ValidationError

Fault = Mapping[str, Any]
"""One of `ValidationError.errors`: its type, where it stands, the input, a message."""

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}


def first_fault(error: ValidationError) -> Fault:
    """Return the fault to tell of.

    A misspelt key is missing as well: then what was misspelt. Of several kinds that a value may be
    of, the one that it is nearest to.
    """

    def rank(one: Fault) -> tuple[bool, bool, int]:
        return one["type"] == "extra_forbidden", one["type"] != "missing", len(one["loc"])

    return max(error.errors(), key=rank)


def fault_words(fault: Fault) -> str:
    """Say what is wrong with a value, and what it is."""
    kind, context, given = fault["type"], fault.get("ctx", {}), fault["input"]
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return str(fault["msg"]).lower()
    if kind == "literal_error":
        accepted = re.findall("'([^']*)'", context["expected"])
        return f"unknown {given!r:.80}; {suggest(str(given), accepted)}"
    words = fault["msg"].lower()
    if kind in _KINDS:
        words = f"must be {_KINDS[kind]}"
    elif kind in _BOUNDS:
        name, how = _BOUNDS[kind]
        words = f"must be {how} {context[name]:g}"
    return f"{words}, got {given!r:.80}"
