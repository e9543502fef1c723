"""A log of jobs, observed or sampled: one immutable table and what is known of it."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import TraceError
from onega.core.units import LARGEST, LONGEST, humanise_seconds
from onega.core.workload.meta import Meta
from onega.core.workload.schema import (
    DEMAND,
    JOB_TABLE,
    NAMED,
    NUMBERED,
    REQUIRED,
    demand_names,
    is_demand,
    renumbered,
)
from onega.core.workload.tables import AMOUNT, TableLike, not_amounts

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Workload:
    """An immutable job table with the columns of `onega.core.workload.schema.JOB_TABLE`.

    Parameters
    ----------
    table
        A Polars frame, or a mapping of columns, with at least ``submit``, ``runtime`` and
        ``procs``. Absent columns are null; ``job`` is numbered from 1. ``runtime`` and ``procs``
        may be null (a log doesn't always say); `onega.clean` takes such rows out. Columns
        ``demand_NAME`` may follow: what jobs need of a resource, for the whole job.
    meta
        Where the jobs come from and what machine they ran on.

    Notes
    -----
    Rows keep the order they were given in. The simulator takes them by ``submit``, and rows that
    were submitted at the same instant in the order of the table (of ids, if the table isn't sorted
    by ``submit``: see `sorted`).
    """

    table: pl.DataFrame
    meta: Meta = field(default_factory=Meta)

    def __init__(self, table: TableLike, meta: Meta | None = None) -> None:
        object.__setattr__(self, "table", _conform(table))
        object.__setattr__(self, "meta", meta or Meta())
        object.__setattr__(self, "_made", {})

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached results: they are made again when asked for."""
        return {"table": self.table, "meta": self.meta}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _made={})

    @classmethod
    def concat(cls, workloads: Iterable[Workload]) -> Workload:
        """Join logs of one machine into one, sorted by submission; ids are numbered anew.

        Logs with different known epochs are moved onto the first one's time axis.
        """
        parts = list(workloads)
        if not parts:
            raise ValueError("concat needs at least one workload, got none")
        first = parts[0].meta
        tables = []
        alike, labels = _numbered_alike(parts)
        for part, table in zip(parts, alike, strict=True):
            shift = 0.0
            if first.epoch is not None and part.meta.epoch is not None:
                shift = part.meta.epoch - first.epoch
            tables.append(table.with_columns(pl.col("submit") + shift))
        joined = pl.concat(tables, how="diagonal").sort("submit", maintain_order=True)
        joined = renumbered(joined)
        sizes = [part.meta.procs for part in parts if part.meta.procs is not None]
        note = f"concat of {len(parts)} workloads, {joined.height} jobs"
        return cls(joined, first.noting(note, procs=max(sizes, default=None), labels=labels))

    def __len__(self) -> int:
        return self.table.height

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Workload):
            return NotImplemented
        return self.meta.facts() == other.meta.facts() and self.table.equals(other.table)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        parts = [f"{len(self)} jobs"]
        if self.meta.procs is not None:
            parts.append(f"{self.meta.procs} procs")
        if len(self):
            parts.append(f"over {humanise_seconds(self.span)}")
        if self.meta.source is not None:
            parts.append(f"from {self.meta.source}")
        return f"<Workload: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(repr(self)[1:-1])}</b></p>{self.table.head(10)._repr_html_()}"

    @property
    def span(self) -> float:
        """Seconds between the first and the last submission; 0 for fewer than two jobs."""
        if len(self) < 2:
            return 0.0
        submit = self.table["submit"]
        return float(submit.max()) - float(submit.min())  # type: ignore[arg-type]

    def column(self, name: str) -> npt.NDArray[Any]:
        """One column as a read-only NumPy array; null becomes NaN (so whole numbers become floats).

        Columns without nulls keep their own type.
        """
        values = self.table[name].to_numpy()
        values.setflags(write=False)
        return values

    @property
    def submissions(self) -> npt.NDArray[np.float64]:
        """The times of submission, sorted."""

        def make() -> npt.NDArray[np.float64]:
            submit = self.table["submit"]
            return self.column("submit") if submit.is_sorted() else np.sort(submit.to_numpy())

        return self.cached((Workload.submissions,), make)

    def cached(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return the result of ``make``, which is called once for each key and then cached.

        The key is a function and all that its result depends on beside the workload. The result is
        kept as long as the workload, for all runs of it on any thread, and must not be changed.
        """
        made: dict[tuple[Hashable, ...], Any] = vars(self)["_made"]
        if key not in made:
            made.setdefault(key, make())
        return cast(T, made[key])

    def has(self, name: str) -> bool:
        """Whether a column has any value at all."""
        return self.table[name].null_count() < len(self)

    @property
    def demands(self) -> pl.DataFrame:
        """What jobs need beside processors and memory: ``job`` and a column for each resource.

        ``nodes`` is the number of nodes that a job had; all other amounts (``gpus``,
        ``gpus:a100``, …) are for the whole job. What isn't known is null.
        """
        names = demand_names(self.table.columns)
        return self.table.select("job", *(pl.col(DEMAND + name).alias(name) for name in names))

    def names(self, column: str) -> pl.Series:
        """Return a column (``user``, ``group``, ``queue``, …) under the log's own names.

        A number without a name stands for itself; what isn't known is null.
        """
        numbers, known = self.table[column], self.meta.labels.get(column, {})
        text = numbers.cast(pl.String)
        if not known:
            return text
        keys = pl.Series(list(known), dtype=pl.Int64).cast(numbers.dtype, strict=False)
        called = numbers.replace_strict(
            keys, pl.Series(list(known.values()), dtype=pl.String), default=None
        )
        return called.fill_null(text).alias(column)

    def select(self, predicate: pl.Expr | npt.NDArray[np.bool_]) -> Workload:
        """Keep the jobs for which a Polars expression, or a mask, is true."""
        mask = predicate if isinstance(predicate, pl.Expr) else pl.Series(predicate)
        kept = self.table.filter(mask)
        return self._with(kept, f"select: kept {kept.height} of {len(self)} jobs")

    def window(self, t0: float = -math.inf, t1: float = math.inf) -> Workload:
        """Keep the jobs submitted in [t0, t1), in seconds after the epoch."""
        kept = self.table.filter((pl.col("submit") >= t0) & (pl.col("submit") < t1))
        return self._with(kept, f"window [{t0:g}, {t1:g}): kept {kept.height} of {len(self)} jobs")

    def head(self, n: int = 10) -> Workload:
        """Keep the first n rows."""
        if n < 0:
            raise ValueError(f"head takes a number of jobs, at least 0; got {n}")
        return self._with(self.table.head(n), f"head: first {min(n, len(self))} jobs")

    def scale_load(self, factor: float) -> Workload:
        """Multiply the offered load by ``factor``: every gap is divided by it (§2.2 of Song 2006).

        The first submission stays where it is. The daily cycle is compressed with the gaps; a
        model's ``sample(load=…)`` keeps it.
        """
        _positive("factor", factor)
        first = self.table["submit"].min() if len(self) else 0.0
        scaled = (pl.col("submit") - first) / factor + first
        return self._with(self.table.with_columns(scaled), f"scale_load by {factor:g}")

    def stretch_runtimes(self, factor: float) -> Workload:
        """Multiply run times, estimates and processor times by ``factor``."""
        _positive("factor", factor)
        columns = pl.col("runtime", "estimate", "cpu_time") * factor
        return self._with(self.table.with_columns(columns), f"stretch_runtimes by {factor:g}")

    def with_machine(self, procs: int, nodes: int | None = None) -> Workload:
        """Say how large the machine is (the jobs stay as they are)."""
        if procs < 1:
            raise ValueError(f"procs must be at least 1, got {procs}")
        return Workload(self.table, replace(self.meta, procs=int(procs), nodes=nodes))

    def with_columns(self, *exprs: Any, note: str, **named: Any) -> Workload:  # noqa: ANN401
        """Return a workload with columns changed as `polars.DataFrame.with_columns` does."""
        return self._with(self.table.with_columns(*exprs, **named), note)

    def sorted(self) -> Workload:
        """Rows by submission.

        A table that is sorted already keeps its order at equal submissions. In one that isn't, the
        order of rows doesn't tell which job came first, but ids do: they are given at submission.
        """
        if self.table["submit"].is_sorted():
            return self
        ordered = self.table.sort("submit", "job", maintain_order=True)
        return self._with(ordered, "sorted by submission, then id")

    def _with(self, table: pl.DataFrame, note: str) -> Workload:
        return Workload(table, self.meta.noting(note))


def _numbered_alike(
    parts: Sequence[Workload],
) -> tuple[list[pl.DataFrame], dict[str, Mapping[int, str]]]:
    """Give users, groups and the like of several logs the same numbers where names are the same."""
    tables = [part.table for part in parts]
    labels: dict[str, Mapping[int, str]] = {}
    for column in NAMED:
        known = [part.meta.labels.get(column, {}) for part in parts]
        if all(one == known[0] for one in known):
            labels |= {column: known[0]} if known[0] else {}
            continue
        texts = [part.names(column) for part in parts]
        names = pl.concat(texts).drop_nulls().unique(maintain_order=True)
        numbers = pl.Series(range(1, len(names) + 1), dtype=pl.Int32)
        tables = [
            table.with_columns(
                text.replace_strict(names, numbers, default=None, return_dtype=pl.Int32)
            )
            for table, text in zip(tables, texts, strict=True)
        ]
        labels[column] = dict(zip(numbers.to_list(), names.to_list(), strict=True))
    return tables, labels


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, got {value}")


def _conform(table: TableLike) -> pl.DataFrame:
    """Bring a table to the schema: all columns, in order, of the right type."""
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(dict(table), strict=False)
    demands = sorted(name for name in frame.columns if is_demand(name))
    if demands:
        needs = [_demand(frame[name]) for name in demands]
        return _conform(frame.drop(demands)).with_columns(needs)
    if frame.schema == JOB_TABLE and tuple(frame.columns) == tuple(JOB_TABLE):
        _check(frame)
        return frame
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        raise TraceError(
            f"a job table needs the columns {', '.join(REQUIRED)}; {', '.join(missing)} missing"
        )
    unknown = [name for name in frame.columns if name not in JOB_TABLE]
    if unknown:
        raise TraceError(
            f"unknown columns {', '.join(unknown)}; a job table has {', '.join(JOB_TABLE)}, "
            f"and {DEMAND}NAME for what jobs need of a resource"
        )
    return _check(frame.select(_columns(frame)))


def _demand(values: pl.Series) -> pl.Series:
    """Bring a demand to its type; refuse amounts that can't be."""
    amount = _cast(values, pl.Float64).fill_nan(None)
    wrong = np.flatnonzero(not_amounts(amount.to_numpy()))
    if len(wrong):
        at = int(wrong[0])
        raise TraceError(
            f"a demand is {AMOUNT}; row {at + 1} has {values[at]}",
            field=values.name,
        )
    return amount


def _columns(frame: pl.DataFrame) -> Sequence[pl.Expr | pl.Series]:
    columns: list[pl.Expr | pl.Series] = []
    for name, dtype in JOB_TABLE.items():
        if name in frame.columns:
            columns.append(_cast(frame[name], dtype))
        elif name == "job":
            columns.append(NUMBERED)
        else:
            columns.append(pl.lit(None, dtype=dtype).alias(name))
    return columns


def _cast(values: pl.Series, dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    try:
        return values.cast(dtype)
    except pl.exceptions.PolarsError as error:
        raise TraceError(
            f"can't turn {values.dtype} into {dtype}: {str(error).splitlines()[0]}",
            field=values.name,
        ) from None


def _is_fine(frame: pl.DataFrame) -> bool:
    """Return True if `_check` would find nothing, by a quick look."""
    submit, runtime = frame["submit"], frame["runtime"]
    times = [np.abs(column.to_numpy()) <= LONGEST for column in (submit, runtime)]
    known = [frame.height, frame.height - runtime.null_count()]
    memory = (frame[name].max() for name in ("memory", "requested_memory"))
    return (
        frame["job"].null_count() == 0
        and [np.count_nonzero(one) for one in times] == known
        and all(most is None or most <= LARGEST for most in memory)  # type: ignore[operator]
    )


def _check(frame: pl.DataFrame) -> pl.DataFrame:
    if _is_fine(frame):
        return frame
    checks: tuple[tuple[str, Callable[[pl.Series], pl.Series], str], ...] = (
        ("job", lambda s: s.is_null(), "a job has no id"),
        ("submit", lambda s: s.is_null() | ~s.is_finite(), "the submit time must be a number"),
        ("submit", _above(LONGEST), f"the submit time must be at most {LONGEST:g} seconds"),
        ("runtime", lambda s: ~s.is_finite(), "the run time must be finite"),
        ("runtime", _above(LONGEST), f"the run time must be at most {LONGEST:g} seconds"),
        ("memory", _above(LARGEST), f"memory must be at most {LARGEST:g} bytes"),
        ("requested_memory", _above(LARGEST), f"memory must be at most {LARGEST:g} bytes"),
    )
    for name, wrong, message in checks:
        rows = wrong(frame[name]).fill_null(value=False).arg_true()
        if len(rows):
            raise TraceError(
                f"{message}; row {rows[0] + 1} has {frame[name][int(rows[0])]}", field=name
            )
    return frame


def _above(most: float) -> Callable[[pl.Series], pl.Series]:
    return lambda values: values.abs() > most
