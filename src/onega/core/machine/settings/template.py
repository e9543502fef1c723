"""The commented file that ``onega cluster init`` writes, made from `keys`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from onega.core.machine.settings.keys import TABLES, Table

WIDTH: Final = 100
ON: Final = frozenset({"procs"})
"""Settings outside of tables that aren't commented out."""

_HEAD: Final = """\
# A machine for `onega simulate --cluster FILE`. Lines that begin with "#" and a letter or bracket
# are settings that are off: take the "#" away to use them. docs/machine.md has the exact rules.
# Durations are seconds, or text: "90s", "15m", "12h", "7d". Memory: "64GiB". Power: watts.
"""


def make_template() -> str:
    """Return the file: every setting with an example, all off but the number of processors."""
    return "\n".join((_HEAD, *_lines())) + "\n"


def _lines() -> Iterator[str]:
    heading = ""
    for name, table in TABLES.items():
        if table.heading != heading:
            heading = table.heading
            yield f"\n# ---- {heading} ".ljust(WIDTH - 2, "-")
        if name:
            yield ""
            yield from textwrap.wrap(table.text, WIDTH, initial_indent="# ", subsequent_indent="# ")
        for number in range(max(len(key.examples) for key in table.keys.values())):
            if name:
                yield f"#[[{name}]]" if table.several else f"#[{name}]"
            yield from _settings(table, number, on=ON if not name else frozenset())


def _settings(table: Table, number: int, on: frozenset[str]) -> Iterator[str]:
    """Yield the lines of one example; what the settings are is said in the first."""
    for name, key in table.keys.items():
        value = key.examples[number]
        off = "" if name in on else "#"
        said = key.text if number == 0 else ""
        line = "" if value is None else f"{off}{name} = {_toml(value)}"
        if said and (value is None or len(line) + len(said) + 4 > WIDTH):
            yield f"# {name}: {said}"
        elif said:
            line += f"  # {said}"
        if line:
            yield line


def _toml(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{json.dumps(key)} = {_toml(one)}' for key, one in value.items())} }}"
        )
    return json.dumps(value)
