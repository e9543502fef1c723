"""One small language for measures, targets and precisions.

::

    measure    mean(wait)  median(response)  p95(wait)  max(bounded_slowdown)  share(wait>1h)
               utilisation  mean_power  energy  …            (of the whole run)
               window_utilisation  window_mean_power  …      (of the window that the log supports)
    target     p95(wait)<1h        share(wait>10m)<=5%       utilisation>70%
    precision  ci(mean(wait))<5%   ci(p95(wait))<10m

Spaces and capitals don't matter. Times take units (``90``, ``15m``, ``1h30m``, ``2d``), shares and
other ratios take ``%``.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import ExperimentError, suggest
from onega.core.schedule.measures import machine_measures
from onega.core.schedule.window import log_window
from onega.core.units import (
    JOULES_PER_KWH,
    duration,
    humanise_energy,
    humanise_power,
    humanise_seconds,
    quantity,
)

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

JOB_UNITS: Final = {
    "wait": "s",
    "response": "s",
    "service": "s",
    "slowdown": "",
    "bounded_slowdown": "",
    "energy": "J",
}
"""Columns of `Schedule.jobs` that a statistic can be taken of, and their units."""

RUN_UNITS: Final = {
    "utilisation": "%",
    "makespan": "s",
    "energy": "J",
    "job_energy": "J",
    "idle_energy": "J",
    "mean_power": "W",
    "mean_rate": "",
    "rate_changes": "",
    "mean_workload": "s",
    "mean_jobs_in_system": "",
    "mean_jobs_running": "",
    "mean_jobs_waiting": "",
    "wasted_capacity": "",
    "wasted_share": "%",
    "effective_load": "",
    "potential_load": "",
}
"""Measures of a whole run and their units: keys of `Schedule.summary`, and ``mean_workload``, the
time average of the remaining work of all jobs in the system (Rumyantsev et al. 2018, Figure 3)."""

WINDOW: Final = "window_"
"""Before a measure of a run: of the window that the workload supports, in place of all of it."""

WINDOW_UNITS: Final = {
    f"{WINDOW}{name}": RUN_UNITS[name]
    for name in ("utilisation", "energy", "job_energy", "idle_energy", "mean_power", "mean_rate",
                 "mean_jobs_in_system", "mean_jobs_running", "mean_jobs_waiting",
                 "wasted_capacity", "wasted_share", "effective_load", "potential_load")
}  # fmt: skip
"""The same of the log's window: see `onega.core.schedule.window.log_window`."""

SUFFERED: Final = ("wait", "response", "slowdown", "bounded_slowdown")
"""Job measures that a larger machine, or less load, makes smaller."""

_STATISTICS: Final = ("mean", "median", "min", "max", "p95", "share")
_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CALL: Final = re.compile(r"([a-z_]+|p\d+(?:\.\d+)?)\((.*)\)")
_COMPARISON: Final = re.compile(r"([^<>=]+)(<=|>=|<|>)([^<>=]+)")


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a schedule: a statistic over its jobs, or a measure of the whole run.

    Attributes
    ----------
    statistic
        ``"mean"``, ``"median"``, ``"min"``, ``"max"``, ``"quantile"``, ``"share"``, or ``"run"``
        for a measure of the whole run.
    of
        The column of `Schedule.jobs`, or the key of `Schedule.summary`.
    at
        The quantile's level in (0, 1), or the limit that a share of the jobs exceeds.
    """

    statistic: str
    of: str
    at: float | None = None

    @classmethod
    def parse(cls, text: str | Measure) -> Measure:
        """Read ``mean(wait)``, ``p95(wait)``, ``share(wait>1h)``, ``utilisation``, …."""
        if isinstance(text, Measure):
            return text
        given = _compact(text)
        found = _CALL.fullmatch(given)
        if found is None:
            return cls._of_run(text, given)
        name, inside = found[1], found[2]
        if name == "share":
            return cls._share(text, inside)
        _check_column(text, inside)
        if name in ("mean", "median", "min", "max"):
            return cls(name, inside)
        if re.fullmatch(r"p\d+(\.\d+)?", name):
            level = float(name[1:]) / 100
            if not 0 < level < 1:
                raise ExperimentError(
                    f"{text!r}: a percentile lies between p0 and p100, e.g. p95 or p99.9"
                )
            return cls("quantile", inside, level)
        raise ExperimentError(f"{text!r}: unknown statistic {name!r}; {suggest(name, _STATISTICS)}")

    @classmethod
    def _of_run(cls, text: str, given: str) -> Measure:
        if given in RUN_UNITS or given in WINDOW_UNITS:
            return cls("run", given)
        if given in JOB_UNITS:
            raise ExperimentError(
                f"{text!r}: say which statistic of the jobs' {given}, e.g. mean({given}) "
                f"or p95({given})"
            )
        raise ExperimentError(
            f"not a measure: {text!r}; accepted: mean, median, min, max, p95 or share(…>…) of "
            f"{', '.join(JOB_UNITS)}; or of the whole run {', '.join(RUN_UNITS)}; or, of the "
            "window that the log supports, window_utilisation, window_mean_power, …"
        )

    @classmethod
    def _share(cls, text: str, inside: str) -> Measure:
        found = _COMPARISON.fullmatch(inside)
        if found is None or found[2] != ">":
            raise ExperimentError(f"{text!r}: a share needs a limit, e.g. share(wait>1h)")
        _check_column(text, found[1])
        return cls("share", found[1], _number(text, found[3], JOB_UNITS[found[1]]))

    def __str__(self) -> str:
        if self.statistic == "run":
            return self.of
        if self.statistic == "quantile":
            assert self.at is not None
            return f"p{100 * self.at:.10g}({self.of})"
        if self.statistic == "share":
            return f"share({self.of}>{_short(self.at, JOB_UNITS[self.of])})"
        return f"{self.statistic}({self.of})"

    @property
    def words(self) -> str:
        """The name in words: ``mean wait``, ``p95 of wait``, ``jobs with wait over 1h``."""
        of = self.of.replace("_", " ")
        if self.of in WINDOW_UNITS:
            return f"{of.removeprefix('window ')} in the log's window"
        if self.statistic == "run":
            return "mean remaining work" if self.of == "mean_workload" else of
        if self.statistic == "quantile":
            return f"{str(self).partition('(')[0]} of {of}"
        if self.statistic == "share":
            return f"jobs with {of} over {_short(self.at, JOB_UNITS[self.of])}"
        return f"{self.statistic} {of}"

    @property
    def key(self) -> str:
        """The name of a column or of a key of a summary: ``mean_wait``, ``p95_wait``."""
        return str(self).replace("(", "_").replace(">", "_over_").rstrip(")")

    @property
    def unit(self) -> str:
        """``"s"``, ``"J"``, ``"W"``, ``"%"`` for a share or ratio, or nothing."""
        if self.statistic == "share":
            return "%"
        return (RUN_UNITS | WINDOW_UNITS if self.statistic == "run" else JOB_UNITS)[self.of]

    @property
    def suffered(self) -> bool:
        """Whether a full machine makes it larger (waits, slowdowns): less is better."""
        return self.statistic != "run" and self.of in SUFFERED

    def evaluate(self, schedule: Schedule, keep: npt.NDArray[np.bool_] | None = None) -> float:
        """Return the value; ``keep`` marks the jobs that count (measures of a run take all).

        Quantiles interpolate linearly between jobs, as everywhere in Onega.
        """
        if self.statistic == "run":
            if self.of == "mean_workload":
                return mean_workload(schedule)
            value = _of_run(schedule, self.of)
            if value is None:
                raise ExperimentError(f"{self} needs the processors' power; give power=")
            return float(value)
        column = schedule.jobs[self.of]
        if self.of == "energy" and schedule.cluster.power is None:
            raise ExperimentError(f"{self} needs the processors' power; give power=")
        # Jobs that never started have no wait; jobs that never ran no slowdown.
        kept = column if keep is None else column.filter(pl.Series(keep))
        values = kept.drop_nulls().drop_nans().to_numpy()
        if values.size == 0:
            return math.nan
        if self.statistic == "quantile":
            return float(np.quantile(values, cast(float, self.at)))
        if self.statistic == "share":
            return float(np.mean(values > self.at))
        return float(_OVER_JOBS[self.statistic](values))

    def readable(self, values: Iterable[float]) -> tuple[float, str]:
        """Choose the unit in which these values are easy to read: its size, and its name."""
        largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
        for limit, size, name in _READABLE.get(self.unit, ()):
            if largest >= limit:
                return size, name
        return 1.0, "seconds" if self.unit == "s" else self.unit

    def show(self, value: float) -> str:
        """Write a value of this measure for a person, with its unit."""
        if not math.isfinite(value):
            return "–"
        if self.unit == "s":
            return humanise_seconds(value)
        if self.unit == "%":
            return f"{quantity(100 * value)} %"
        if self.unit in _HUMANISED:
            return _HUMANISED[self.unit](value)
        return quantity(value, 4)


_HUMANISED: Final = {"J": humanise_energy, "W": humanise_power}
_READABLE: Final[dict[str, tuple[tuple[float, float, str], ...]]] = {
    "s": ((864000.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes")),
    "%": ((0.0, 0.01, "%"),),
    "J": tuple(
        (size * JOULES_PER_KWH, size * JOULES_PER_KWH, name)
        for size, name in ((1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh"), (1e-3, "Wh"))
    ),
    "W": ((1e7, 1e6, "MW"), (2e3, 1e3, "kW")),
}
"""By unit: from which value on, in what, and how that is called."""

_OVER_JOBS: Final[dict[str, Callable[[Any], Any]]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
}


@dataclass(frozen=True, slots=True)
class Target:
    """A measure that has to stay on one side of a limit."""

    measure: Measure
    sign: str
    limit: float

    @classmethod
    def parse(cls, text: str | Target) -> Target:
        """Read ``p95(wait)<1h``, ``share(wait>10m)<=5%``, ``utilisation>70%``, …."""
        if isinstance(text, Target):
            return text
        left, sign, right = _split(text, "a target", "p95(wait)<1h")
        measure = Measure.parse(left)
        return cls(measure, sign, _number(text, right, measure.unit))

    def __str__(self) -> str:
        return f"{self.measure}{self.sign}{_short(self.limit, self.measure.unit)}"

    @property
    def upper(self) -> bool:
        """Whether the limit is an upper one."""
        return self.sign.startswith("<")

    def holds(self, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which values meet it."""
        return np.asarray(_COMPARE[self.sign](np.asarray(values, np.float64), self.limit))

    def excess(self, value: float) -> float:
        """How far a value is on the wrong side, relative to the limit; negative if it isn't."""
        beyond = value - self.limit if self.upper else self.limit - value
        return beyond / abs(self.limit) if self.limit else beyond


@dataclass(frozen=True, slots=True)
class Precision:
    """How narrow the confidence interval of a measure has to be.

    ``width`` bounds the interval's half-width: relative to the mean if ``relative``, else in the
    measure's own unit.
    """

    measure: Measure
    width: float
    relative: bool

    @classmethod
    def parse(cls, text: str | Precision) -> Precision:
        """Read ``ci(mean(wait))<5%`` or ``ci(mean(wait))<30s``."""
        if isinstance(text, Precision):
            return text
        left, sign, right = _split(text, "a precision", "ci(mean(wait))<5%")
        found = re.fullmatch(r"ci\((.*)\)", left)
        if found is None or not sign.startswith("<"):
            raise ExperimentError(f"not a precision: {text!r}; write e.g. ci(mean(wait))<5%")
        measure = Measure.parse(found[1])
        relative = right.endswith("%") and measure.unit != "%"
        width = _number(text, right, "%" if relative else measure.unit)
        if width <= 0:
            raise ExperimentError(f"{text!r}: an interval's width must be positive")
        return cls(measure, width, relative)

    def __str__(self) -> str:
        unit = "%" if self.relative else self.measure.unit
        return f"ci({self.measure})<{_short(self.width, unit)}"

    def ratio(self, mean: float, half_width: float) -> float:
        """Half-width over what is wanted: 1 or less is narrow enough."""
        wanted = self.width * abs(mean) if self.relative else self.width
        if half_width == 0:
            return 0.0
        return half_width / wanted if wanted > 0 else math.inf


def parse_targets(given: str | Target | Iterable[str | Target]) -> tuple[Target, ...]:
    """Read one target or several."""
    listed = [given] if isinstance(given, str | Target) else list(given)
    if not listed:
        raise ExperimentError('a plan needs a target, e.g. "p95(wait)<1h"')
    return tuple(Target.parse(one) for one in listed)


def whole_run(measure: Measure) -> Measure:
    """Return the same measure of the whole run, if it is one of the log's window."""
    return Measure(measure.statistic, measure.of.removeprefix(WINDOW), measure.at)


def _of_run(schedule: Schedule, key: str) -> float | None:
    """Return a measure of the whole run, or of the window that its workload supports."""
    if key in WINDOW_UNITS:
        window = log_window(schedule.workload).within(schedule.begin, schedule.last)
        found = machine_measures(schedule, window.since, window.until)
    else:
        found = schedule.summary()
    value: float | None = found[key.removeprefix(WINDOW)]
    return value


def mean_workload(schedule: Schedule) -> float:
    """Time average of the remaining work, exact: it falls at rate × running between events."""
    gap = pl.col("time").diff().shift(-1).fill_null(0)
    area = pl.col("workload") * gap - pl.col("rate") * pl.col("running") * gap**2 / 2
    total, length = schedule.system.select(area.sum(), gap.sum().alias("length")).row(0)
    return float(total) / float(length) if length > 0 else math.nan


def _compact(text: str) -> str:
    words = "".join(str(text).split()).lower()
    return words.replace("≤", "<=").replace("≥", ">=")


def _split(text: str, what: str, example: str) -> tuple[str, str, str]:
    """Cut at the last comparison outside parentheses."""
    found = re.fullmatch(r"(.*[^<>=])(<=|>=|<|>)([^<>=()]+)", _compact(text))
    if found is None:
        raise ExperimentError(f"not {what}: {text!r}; write e.g. {example}")
    return found[1], found[2], found[3]


def _check_column(text: str, name: str) -> None:
    if name not in JOB_UNITS:
        raise ExperimentError(f"{text!r}: no job measure {name!r}; {suggest(name, JOB_UNITS)}")


def _number(text: str, given: str, unit: str) -> float:
    """Read a limit: a duration for seconds, a percentage or number for ratios, else a number."""
    try:
        if unit == "s":
            value = duration(given)
        elif given.endswith("%") and unit == "%":
            value = float(given[:-1]) / 100
        else:
            value = float(given)
    except ValueError:
        accepted = {"s": "a time such as 90, 15m, 1h30m or 2d", "%": "a share such as 0.05 or 5%"}
        raise ExperimentError(
            f"{text!r}: {given!r} isn't {accepted.get(unit, 'a number')}"
        ) from None
    if not math.isfinite(value):
        raise ExperimentError(f"{text!r}: a limit must be finite, got {given}")
    return value


def _short(value: float | None, unit: str) -> str:
    """Write a limit so that it can be read again: 1h, 5%, 0.3."""
    assert value is not None
    if unit == "%":
        return f"{100 * value:.10g}%"
    if unit == "s":
        for size, name in ((86400, "d"), (3600, "h"), (60, "m")):
            if value >= size and value % size == 0:
                return f"{value / size:.10g}{name}"
        return f"{value:.10g}s"
    return f"{value:.10g}"
