"""Tables and laws that ``onega simulate`` is given beside log and machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onega.core.errors import SimulationError


def read_inputs(
    events: Path | None,
    demands: Path | None,
    patience: str | None,
    *,
    moldable: str | None,
    dependencies: bool,
) -> dict[str, Any]:
    """Read what was given, as arguments of `onega.simulate`; nothing for what wasn't.

    ``moldable`` is a law if there is no file of that name.
    """
    given: dict[str, Any] = {}
    if events is not None:
        from onega.traces.tables.named import read_events

        given["events"] = read_events(events)
    if demands is not None:
        from onega.traces.tables.named import read_table

        given["demands"] = read_table(demands)
    if patience is not None:
        from onega.core.machine.laws import Law

        given["patience"] = Law.parse(patience)
    if moldable is not None and Path(moldable).is_file():
        from onega.traces.tables.named import read_table

        given["moldable"] = read_table(Path(moldable))
    elif moldable is not None:
        from onega.core.machine.speedup import parse_speedup

        if "(" not in moldable:
            raise SimulationError(f"{moldable}: no such file, nor a law such as amdahl(0.05)")
        given["moldable"] = parse_speedup(moldable)
    if dependencies:
        given["dependencies"] = True
    return given
