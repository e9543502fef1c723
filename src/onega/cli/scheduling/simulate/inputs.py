"""Tables and laws that ``onega simulate`` is given beside log and machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from onega.cli.options import flag, option
from onega.core.errors import SimulationError

_PANEL = "Events and resources"


@dataclass(frozen=True, slots=True)
class InputOptions:
    """What is given beside log and machine."""

    events: Annotated[
        Path | None,
        option("--events", "FILE", "Failures, drains, cancellations, … as a table.", _PANEL),
    ] = None
    demands: Annotated[
        Path | None,
        option("--demands", "FILE", "What jobs need beside processors, as a table.", _PANEL),
    ] = None
    dependencies: Annotated[
        bool,
        flag("--dependencies", "Submit jobs after those that the log says they follow.", _PANEL),
    ] = False
    patience: Annotated[
        str | None,
        option("--patience", "LAW", "Cancel jobs that wait longer: 'exponential(1d)'.", _PANEL),
    ] = None
    moldable: Annotated[
        str | None,
        option(
            "--moldable", "LAW|FILE", "Jobs take other widths: 'amdahl(0.05)', a table.", _PANEL
        ),
    ] = None

    def read(self) -> dict[str, Any]:
        """Read what was given, as arguments of `onega.simulate`; nothing for what wasn't.

        ``moldable`` is a law if there is no file of that name.
        """
        given: dict[str, Any] = {}
        if self.events is not None:
            from onega.traces.tables.named import read_events

            given["events"] = read_events(self.events)
        if self.demands is not None:
            from onega.traces.tables.named import read_table

            given["demands"] = read_table(self.demands)
        if self.patience is not None:
            from onega.core.machine.laws import Law

            given["patience"] = Law.parse(self.patience)
        if self.moldable is not None and Path(self.moldable).is_file():
            from onega.traces.tables.named import read_table

            given["moldable"] = read_table(Path(self.moldable))
        elif self.moldable is not None:
            from onega.core.machine.speedup import parse_speedup

            if "(" not in self.moldable:
                raise SimulationError(
                    f"{self.moldable}: no such file, nor a law such as amdahl(0.05)"
                )
            given["moldable"] = parse_speedup(self.moldable)
        if self.dependencies:
            given["dependencies"] = True
        return given
