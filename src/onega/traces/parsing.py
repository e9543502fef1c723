"""Columns of text into numbers, dates, durations, memory and labelled ids, a column at a time.

Each function takes a column as it was read (text, or already typed, as from Parquet) and returns
numbers; a text that isn't one is an error that names the file, the line and the field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.units import BYTES, LARGEST, LONGEST

MISSING: Final = ("", "Unknown", "None", "N/A", "n/a", "NA", "null", "NULL", "Invalid", "INVALID")
"""Words that stand for "not known" in logs and tables."""

UNITS: Final = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
"""Units of time in a column map."""

_PART: Final = r"(?::([0-9]{1,9}(?:\.[0-9]*)?))?"
_DURATION: Final = rf"^(?:([0-9]{{1,9}})-)?([0-9]{{1,18}}){_PART}{_PART}$"
_ISO: Final = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(\.[0-9]{1,9})?)?)?\s*"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$"
)
_MEMORY: Final = r"^([0-9]{1,18}(?:\.[0-9]*)?)\s*([KMGTP]?)(?:i?B)?([nc]?)$"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a column stands, for messages: the file, each row's line, the column's own name."""

    path: StrPath
    lines: pl.Series
    field: str

    def refuse(self, column: pl.Series, wrong: pl.Series, what: str) -> None:
        """Raise for the first row that is wrong, if any is."""
        rows = wrong.fill_null(value=False).arg_true()
        if len(rows):
            row = int(rows[0])
            shown = str(column[row])
            shown = repr(shown[:40]) + ("…" if len(shown) > 40 else "")
            raise TraceError(
                f"{shown} is not {what}",
                path=self.path,
                line=int(self.lines[row]),
                field=self.field,
            )


def text_of(column: pl.Series) -> pl.Series:
    """Strip a column of text; words for "not known" become null."""
    stripped = column.cast(pl.String).str.strip_chars()
    return stripped.set(stripped.is_in(list(MISSING)), None)


def numbers(column: pl.Series, source: Source, *, what: str = "a number") -> pl.Series:
    """Read finite numbers."""
    if column.dtype == pl.Boolean or not (column.dtype.is_numeric() or column.dtype == pl.String):
        source.refuse(column, column.is_not_null(), what)
    text = column if column.dtype.is_numeric() else text_of(column)
    values = text.cast(pl.Float64, strict=False)
    source.refuse(column, text.is_not_null() & (values.is_null() | ~values.is_finite()), what)
    return values


def whole_numbers(
    column: pl.Series, source: Source, *, most: int = 2**63 - 1, what: str = "a whole number"
) -> pl.Series:
    """Read whole numbers, exactly up to 64 bits."""
    text = column if column.dtype.is_integer() else text_of(column)
    exact = text.cast(pl.Int64, strict=False)
    rest = text.is_not_null() & exact.is_null()
    if rest.any():
        values = numbers(column, source, what=what)
        source.refuse(column, rest & ((values != values.floor()) | (values.abs() >= 2.0**63)), what)
        exact = exact.zip_with(~rest, values.cast(pl.Int64, strict=False))
    source.refuse(column, exact > most, f"{what} up to {most}")
    return exact


def durations(
    column: pl.Series, source: Source, *, unit: float = 1.0, words: tuple[str, ...] = ()
) -> pl.Series:
    """Read lengths of time into seconds.

    A bare number is in ``unit`` seconds; otherwise Slurm's and PBS's spellings: ``MM:SS``,
    ``HH:MM:SS``, ``D-HH``, ``D-HH:MM``, ``D-HH:MM:SS``, seconds with decimals. ``words``
    (``UNLIMITED``) are null.
    """
    if column.dtype == pl.Duration:
        return column.dt.total_microseconds().cast(pl.Float64) / 1e6
    if column.dtype.is_numeric():
        return _bounded(numbers(column, source, what="a length of time") * unit, column, source)
    text = text_of(column)
    text = text.set(text.str.to_lowercase().is_in([word.lower() for word in words]), None)
    bare = text.cast(pl.Float64, strict=False)
    parts = text.str.extract_groups(_DURATION).struct.unnest()
    days, a, b, c = (parts[name].cast(pl.Float64) for name in parts.columns)
    with_days = days * 86400 + a * 3600 + b.fill_null(0.0) * 60 + c.fill_null(0.0)
    clock = pl.select(
        pl.when(c.is_not_null()).then(a * 3600 + b * 60 + c).otherwise(a * 60 + b)
    ).to_series()
    seconds = with_days.zip_with(days.is_not_null(), clock)
    seconds = (bare * unit).zip_with(bare.is_not_null(), seconds)
    wrong = text.is_not_null() & (seconds.is_null() | ~seconds.is_finite())
    source.refuse(column, wrong, "a length of time ([D-]HH:MM:SS)")
    return _bounded(seconds, column, source)


def _bounded(seconds: pl.Series, column: pl.Series, source: Source) -> pl.Series:
    source.refuse(column, seconds.abs() > LONGEST, f"a time below {LONGEST:g} seconds")
    return seconds


def memory(column: pl.Series, source: Source, *, unit: float = 1.0) -> tuple[pl.Series, pl.Series]:
    """Read amounts of memory into bytes, with Slurm's last letter (``n`` per node, ``c`` per cpu).

    ``4G``, ``1048576K``, ``512Mn``, ``2000kb``; a bare number is in ``unit`` bytes.
    """
    if column.dtype.is_numeric():
        values = numbers(column, source, what="an amount of memory") * unit
        source.refuse(column, values > LARGEST, f"an amount of memory up to {LARGEST:g} bytes")
        return values, pl.Series([None], dtype=pl.String).new_from_index(0, len(values))
    text = text_of(column)
    # A bare 0 with a unit of its own ("0n") is an amount too.
    parts = text.str.replace(r"(?i)([kmgtp])i?b?$", "${1}").str.to_uppercase()
    parts = parts.str.replace(r"N$", "n").str.replace(r"C$", "c")
    groups = parts.str.extract_groups(_MEMORY).struct.unnest()
    amount, letter, per = (groups[name] for name in groups.columns)
    factor = letter.str.to_lowercase().replace_strict(
        {"": unit, **{name[0]: size for name, size in BYTES.items() if name != "b"}},
        default=None,
        return_dtype=pl.Float64,
    )
    bare = text.cast(pl.Float64, strict=False)
    values = (bare * unit).zip_with(bare.is_not_null(), amount.cast(pl.Float64) * factor)
    wrong = text.is_not_null() & (values.is_null() | ~values.is_finite())
    source.refuse(column, wrong, "an amount of memory (4G, 512M)")
    source.refuse(column, values > LARGEST, f"an amount of memory up to {LARGEST:g} bytes")
    return values, per.set(per == "", None)


def moments(
    column: pl.Series, source: Source, *, timezone: str | None = None, pattern: str | None = None
) -> tuple[pl.Series, bool]:
    """Read points in time into Unix seconds; also tell whether local times were among them.

    Accepted: seconds since 1970, ISO 8601 (with or without an offset from UTC), or ``pattern``
    (as of strptime). Times without an offset are in ``timezone``, UTC if None. In the hour that a
    clock shows twice the earlier is meant; in the hour that it skips, time goes on.
    """
    if isinstance(column.dtype, pl.Datetime):
        if column.dtype.time_zone is not None:
            return column.dt.epoch("us").cast(pl.Float64) / 1e6, False
        return _to_unix(column.cast(pl.Datetime("us")), timezone), True
    if column.dtype == pl.Date:
        return _to_unix(column.cast(pl.Datetime("us")), timezone), True
    if column.dtype.is_numeric():
        return _bounded(numbers(column, source, what="a point in time"), column, source), False
    text = text_of(column)
    if pattern is not None:
        naive = text.str.to_datetime(pattern, time_unit="us", strict=False, ambiguous="earliest")
        source.refuse(column, text.is_not_null() & naive.is_null(), f"a date of the form {pattern}")
        if naive.dtype.time_zone is not None:  # type: ignore[attr-defined]
            return naive.dt.epoch("us").cast(pl.Float64) / 1e6, False
        return _to_unix(naive, timezone), True
    unix = text.cast(pl.Float64, strict=False)
    parts = text.str.extract_groups(_ISO).struct.unnest()
    day, clock, second, fraction, offset = (parts[name] for name in parts.columns)
    stamp = day + " " + clock.fill_null("00:00") + ":" + second.fill_null("00")
    naive = stamp.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)
    local = _to_unix(naive, timezone)
    fixed = naive.dt.epoch("us").cast(pl.Float64) / 1e6 - _offset_seconds(offset)
    dated = fixed.zip_with(offset.is_not_null(), local)
    dated = dated + ("0" + fraction).cast(pl.Float64).fill_null(0.0)
    seconds = unix.zip_with(unix.is_not_null(), dated)
    wrong = text.is_not_null() & (seconds.is_null() | ~seconds.is_finite())
    source.refuse(column, wrong, "a point in time (seconds since 1970, or YYYY-MM-DDTHH:MM:SS)")
    was_local = bool((naive.is_not_null() & offset.is_null()).any())
    return _bounded(seconds, column, source), was_local


def _offset_seconds(offset: pl.Series) -> pl.Series:
    sign = offset.str.starts_with("-").cast(pl.Float64) * -2 + 1
    digits = offset.str.replace_all(r"[^0-9]", "").str.pad_end(4, "0")
    hours = digits.str.slice(0, 2).cast(pl.Float64)
    minutes = digits.str.slice(2, 2).cast(pl.Float64)
    return sign * (hours * 3600 + minutes * 60)


def _to_unix(naive: pl.Series, timezone: str | None) -> pl.Series:
    if timezone is None:
        return naive.dt.epoch("us").cast(pl.Float64) / 1e6

    def localised(times: pl.Series) -> pl.Series:
        aware = times.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
        return aware.dt.epoch("us").cast(pl.Float64) / 1e6

    seconds = localised(naive)
    skipped = naive.is_not_null() & seconds.is_null()
    if skipped.any():
        seconds = seconds.zip_with(~skipped, localised(naive.dt.offset_by("-1h")) + 3600.0)
    return seconds


def labelled(column: pl.Series) -> tuple[pl.Series, dict[int, str]]:
    """Give names numbers from 1 in order of first appearance; return number → name beside."""
    text = text_of(column)
    names = text.drop_nulls().unique(maintain_order=True)
    numbers_of = pl.Series(range(1, len(names) + 1), dtype=pl.Int32)
    ids = text.replace_strict(names, numbers_of, default=None, return_dtype=pl.Int32)
    return ids, dict(zip(numbers_of.to_list(), names.to_list()))


def ids_or_labels(column: pl.Series) -> tuple[pl.Series, dict[int, str]]:
    """Keep a column of whole numbers (from 0) as it is; number anything else as `labelled`."""
    text = column if column.dtype.is_integer() else text_of(column)
    whole = text.cast(pl.Int32, strict=False)
    if (text.is_null() | (whole >= 0).fill_null(value=False)).all():
        return whole, {}
    return labelled(column)
