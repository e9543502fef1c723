"""`describe`: a log's measures, section by section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.plotting import Plottable
from onega.core.schedule.window import Window
from onega.core.types import Floats
from onega.core.workload.workload import Workload
from onega.traces.description.cautions import log_cautions, size_warning
from onega.traces.description.cycles import Cycles, cycles
from onega.traces.description.demands import Demands, demands
from onega.traces.description.estimates import Estimates, estimates
from onega.traces.description.load import Load, load
from onega.traces.description.marginals import Marginal, Tail, hill_tail, marginal
from onega.traces.description.sections import Jobs, Lacking, Summary, floats
from onega.traces.description.shape import Shape, shape
from onega.traces.description.shares import Shares, shares
from onega.traces.description.temporal import Temporal, temporal
from onega.traces.description.users import Users, users


@dataclass(frozen=True, slots=True)
class Description(Plottable):
    """What a log says, measured as Song (2006) measures it.

    Sections that a log can't give are None; `missing` says why.

    Attributes
    ----------
    source
        Where the log comes from.
    load
        Counts, period, machine, offered load, utilisation.
    runtime, width, gap, estimate, area, wait
        One attribute each: moments, percentiles, mode (§2.3). ``gap`` is the time between
        neighbouring submissions, ``area`` run time × width.
    tail
        Heavy-tail index of the run times.
    shape
        Serial and power-of-two widths, correlation of width and run time.
    temporal
        Relations between neighbours in the order of submission (ch. 3).
    estimates
        Accuracy of estimates, and which ones are given (ch. 4).
    users
        Submissions per user (ch. 5).
    shares
        Jobs and processor hours by user, account, queue, partition, final state and month.
    demands
        What jobs need beside processors: GPUs, nodes, memory.
    unfinished
        Jobs that still ran or waited when the log was taken, by state; they aren't in it.
    cycles
        Hours of the day and days of the week (§7.1).
    missing
        Section or measure → why it is None.
    provenance
        What was done to the log before.
    warnings
        What makes the first numbers mislead: cut ends, bursts, a short log.
    size_warning
        That the log can't be of a machine of this size; None if it can be.

    See Also
    --------
    onega.describe : makes one.
    """

    FIGURES: ClassVar[str] = "describe"

    source: str | None
    load: Load
    runtime: Marginal | None
    width: Marginal | None
    gap: Marginal | None
    estimate: Marginal | None
    area: Marginal | None
    wait: Marginal | None
    tail: Tail | None
    shape: Shape | None
    temporal: Temporal | None
    estimates: Estimates | None
    users: Users | None
    shares: Shares | None
    demands: Demands | None
    cycles: Cycles | None
    unfinished: Mapping[str, int]
    missing: Mapping[str, str]
    provenance: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    size_warning: str | None = None

    def sections(self) -> dict[str, Any]:
        """Return the sections that the log can give, by name."""
        names = ("load", "runtime", "width", "gap", "estimate", "area", "wait", "tail", "shape",
                 "temporal", "estimates", "users", "shares", "demands", "cycles")  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        return {name: section for name, section in found.items() if section is not None}

    def summary(self) -> Summary:
        """Every measure in one flat dictionary; tables are lists of small dictionaries.

        ``missing`` says why a measure isn't there.
        """
        flat: Summary = {"source": self.source}
        for section in self.sections().values():
            flat.update(section.summary())
        flat["size_warning"] = self.size_warning
        flat["warnings"] = list(self.warnings)
        if self.unfinished:
            flat["unfinished"] = [
                {"state": state, "jobs": jobs} for state, jobs in self.unfinished.items()
            ]
        flat["missing"] = [f"{name}: {why}" for name, why in self.missing.items()]
        return flat

    def to_polars(self) -> pl.DataFrame:
        """One row per measure: section, measure, value (a number), text (what isn't a number)."""
        rows = []
        for name, section in self.sections().items():
            for measure, value in section.summary().items():
                if isinstance(value, list):
                    continue
                number = float(value) if isinstance(value, bool | int | float) else None
                rows.append((name, measure, number, value if isinstance(value, str) else None))
        return pl.DataFrame(
            rows,
            schema={
                "section": pl.String,
                "measure": pl.String,
                "value": pl.Float64,
                "text": pl.String,
            },
            orient="row",
        )

    def table(self, name: str) -> pl.DataFrame:
        """Return one of the tables by name: ``"runs"``, ``"hours"``, ``"active"``, ``"by_user"``.

        See the attributes of the sections that are tuples of rows.
        """
        tables = {
            key: getattr(section, key)
            for section in self.sections().values()
            if section is not None
            for key in section.__slots__
            if _is_table(getattr(section, key))
        }
        if name not in tables:
            raise ValueError(f"no table {name!r}; this description has {', '.join(tables)}")
        return pl.DataFrame([row._asdict() for row in tables[name]], infer_schema_length=None)

    def __repr__(self) -> str:
        parts = [f"{self.load.jobs} jobs"]
        if self.load.offered_load is not None:
            parts.append(f"offered load {self.load.offered_load:.1%}")
        if self.source is not None:
            parts.append(f"of {self.source}")
        return f"<Description: {', '.join(parts)}>"


def describe(
    workload: Workload, *, window: str | tuple[float, float] | Window = "log"
) -> Description:
    """Measure a log: load, distributions, relations in time, estimates, users, cycles.

    Parameters
    ----------
    workload
        Any log, also one without waits, estimates, users or a machine size: what can't be
        measured is None, and `Description.missing` says why. Rows may stand in any order.
    window
        Over what time the machine is measured: ``"log"`` (what the log supports), ``"whole"``, or
        ``"START..END"``, dates or times after the first submission (docs/measures.md).

    Raises
    ------
    TraceError
        If the log has no jobs.
    ScheduleError
        If no job was submitted in the window.

    Examples
    --------
    >>> import onega
    >>> log = onega.Workload({"submit": [0, 10, 30], "runtime": [60, 60, 5], "procs": [1, 1, 4]})
    >>> onega.describe(log).temporal.same_width
    0.5
    """
    jobs = Jobs.of(workload)
    asked = Window.of(window, jobs.workload)
    makers: dict[str, Callable[[], Any]] = {
        "load": lambda: load(jobs, asked),
        "runtime": lambda: marginal("runtime", _known(jobs.runtime, jobs.runtime >= 0)),
        "width": lambda: marginal("width", _known(jobs.width, jobs.width > 0)),
        "gap": lambda: _gaps(jobs),
        "estimate": lambda: _column(jobs, "estimate"),
        "area": lambda: marginal("area", _known(jobs.area, jobs.usable)),
        "wait": lambda: _column(jobs, "wait"),
        "tail": lambda: hill_tail(jobs.runtime),
        "shape": lambda: shape(jobs),
        "temporal": lambda: temporal(jobs),
        "estimates": lambda: estimates(jobs),
        "users": lambda: users(jobs),
        "shares": lambda: shares(jobs),
        "demands": lambda: demands(jobs),
        "cycles": lambda: cycles(jobs),
    }
    sections: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for name, make in makers.items():
        try:
            sections[name] = make()
        except Lacking as reason:
            sections[name], missing[name] = None, str(reason)
        else:
            missing.update(getattr(sections[name], "missing", {}))
    return Description(
        source=workload.meta.source,
        unfinished=workload.meta.unfinished,
        missing=missing,
        provenance=workload.meta.provenance,
        warnings=log_cautions(jobs.workload),
        size_warning=size_warning(jobs.workload),
        **sections,
    )


def _is_table(value: object) -> bool:
    return isinstance(value, tuple) and all(hasattr(row, "_asdict") for row in value)


def _known(values: Floats, condition: npt.NDArray[np.bool_]) -> Floats:
    return np.where(condition, values, np.nan)


def _column(jobs: Jobs, name: str) -> Marginal:
    """Measure an attribute that may not be negative; an estimate of zero is none."""
    values = floats(jobs.workload, name)
    return marginal(name, _known(values, values > 0 if name == "estimate" else values >= 0))


def _gaps(jobs: Jobs) -> Marginal:
    if jobs.size < 2:
        raise Lacking("a single job has no gap to the next")
    return marginal("gap", np.diff(jobs.submit))
