"""The commented file that ``onega cluster init`` writes, made from `description`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic.fields import FieldInfo

from onega.core.machine.settings.description import ClusterSettings, table_of

WIDTH: Final = 100
ON: Final = "procs"
"""The setting that isn't commented out."""

_HEAD: Final = """\
# A machine for `onega simulate --cluster FILE`. Lines that begin with "#" and a letter or bracket
# are settings that are off: take the "#" away to use them. docs/machine.md has the exact rules.
# Durations are seconds, or text: "90s", "15m", "12h", "7d". Memory: "64GiB". Power: watts.
"""


def make_template() -> str:
    """Return the file: every setting with an example, all off but the number of processors."""
    lines = [_HEAD, *_example(_single(ClusterSettings.model_fields), 0)]
    heading = ""
    for name, field in ClusterSettings.model_fields.items():
        section = _extra(field).get("heading", "")
        if section and section != heading:
            heading = section
            lines.append(f"\n# ---- {heading} ".ljust(WIDTH - 2, "-"))
        if section:
            lines += _table(name, field)
    return "\n".join(lines) + "\n"


def _table(name: str, field: FieldInfo) -> Iterator[str]:
    """Yield the lines of a table, and of those inside of it."""
    model, several = table_of(field)
    text = field.description if model is None else model.__doc__
    yield ""
    words = " ".join((text or "").split())
    yield from textwrap.wrap(words, WIDTH, initial_indent="# ", subsequent_indent="# ")
    if model is None:  # names of one's section
        yield f"#[{name}]"
        yield from (f"#{key} = {_toml(value)}" for key, value in _examples(field)[0].items())
        return
    keys = _single(model.model_fields)
    for number in range(max(len(_examples(one)) for one in keys.values()) if several else 1):
        yield f"#[[{name}]]" if several else f"#[{name}]"
        yield from _example(keys, number)
    for key, inner in model.model_fields.items():
        if key not in keys:
            yield from _table(f"{name}.{key}", inner)


def _single(fields: Mapping[str, FieldInfo]) -> dict[str, FieldInfo]:
    """Return the settings that aren't tables."""
    return {
        name: field
        for name, field in fields.items()
        if table_of(field)[0] is None and "heading" not in _extra(field)
    }


def _example(fields: Mapping[str, FieldInfo], number: int) -> Iterator[str]:
    """Yield the lines of one example; what the settings are is text in the first."""
    for name, field in fields.items():
        value = _examples(field)[number]
        off = "" if name == ON and field is ClusterSettings.model_fields[ON] else "#"
        text = field.description if number == 0 else ""
        line = "" if value is None else f"{off}{name} = {_toml(value)}"
        if text and (value is None or len(line) + len(text) + 4 > WIDTH):
            yield f"# {name}: {text}"
        elif text:
            line += f"  # {text}"
        if line:
            yield line


def _examples(field: FieldInfo) -> list[Any]:
    return field.examples or []


def _extra(field: FieldInfo) -> Mapping[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def _toml(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{json.dumps(key)} = {_toml(one)}' for key, one in value.items())} }}"
        )
    return json.dumps(value)
