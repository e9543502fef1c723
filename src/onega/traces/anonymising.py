"""`anonymise`: a log without the names in it, so that it can be given away.

A name becomes HMAC-SHA256(key, column and name), cut to 40 bits and written as ``user_3f9a2c81be``.
Without the key a pseudonym can't be traced to its name, however many names are tried; with the
same key the same name gets the same pseudonym in every call. A key is never written into the
log.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from onega.core.errors import FileError, TraceError, suggest
from onega.core.files import StrPath, write_text
from onega.core.workload.report import Report
from onega.core.workload.schema import NAMED
from onega.core.workload.workload import Workload

KEY_BYTES: Final = 32
LEAST_KEY: Final = 16
DIGITS: Final = 10
"""Hexadecimal digits of a pseudonym: 40 bits, one collision expected among a million names."""
WEEK: Final = 7 * 86400.0
MOST_WEEKS: Final = 520
"""Times are shifted by up to ten years of weeks, into the past."""


def anonymise(
    workload: Workload,
    *,
    key: bytes | None = None,
    shift_times: bool = False,
    keep: Collection[str] = (),
) -> Workload:
    """Replace the names in a log by pseudonyms, and leave out what else may hold a name.

    Users, groups (accounts), applications, queues and partitions get pseudonyms, also where the
    log has numbers only. Jobs are numbered anew, the header's lines, the file's name and the
    history of the log are left out. Widths, times, memory and final states stay.

    Parameters
    ----------
    workload
        The log.
    key
        The secret behind the pseudonyms, at least 16 bytes; by default one that is drawn for this
        call and forgotten.
    shift_times
        Move the whole log by a secret number of weeks (by the key): weekdays and hours stay, but
        for an hour in the weeks where summer time begins or ends on another date.
    keep
        Columns that keep their names: ``"queue"``, ``"partition"``, ….
    """
    unknown = next((name for name in keep if name not in NAMED), None)
    if unknown is not None:
        raise TraceError(f"no names in {unknown!r}; {suggest(unknown, NAMED)}")
    secret = secrets.token_bytes(KEY_BYTES) if key is None else key
    if len(secret) < LEAST_KEY:
        raise TraceError(f"a key has at least {LEAST_KEY} bytes, got {len(secret)}")
    columns: list[pl.Series] = [*_jobs(workload.table)]
    labels = {name: workload.meta.labels[name] for name in keep if name in workload.meta.labels}
    for name in NAMED:
        if name not in keep and workload.has(name):
            numbers, labels[name] = _pseudonyms(workload, name, secret)
            columns.append(numbers)
    epoch = workload.meta.epoch
    if shift_times and epoch is not None:
        epoch -= WEEK * (1 + _digest(secret, "weeks", "") % MOST_WEEKS)
    kept = f", but for {', '.join(sorted(keep))}" if keep else ""
    shifted = "; times shifted by a secret number of weeks" if shift_times else ""
    said = f"anonymised: names under pseudonyms{kept}, jobs numbered anew{shifted}"
    meta = replace(
        workload.meta,
        source="an anonymised log",
        epoch=epoch,
        header=(f" Note: {said}",),
        labels=labels,
        provenance=(said,),
        report=Report(),
    )
    return Workload(workload.table.with_columns(columns), meta)


def _digest(key: bytes, column: str, name: str) -> int:
    """Return HMAC-SHA256 of a column's name and a name in it, as a number."""
    text = f"{column}\0{name}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hmac.new(key, text, hashlib.sha256).digest(), "big")


def _pseudonyms(workload: Workload, column: str, key: bytes) -> tuple[pl.Series, dict[int, str]]:
    """Give names numbers in the order of their pseudonyms; return number → pseudonym beside."""
    names = workload.names(column)
    called: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names.drop_nulls().unique().sort().to_list():
        digits = f"{_digest(key, column, name):064x}"
        size = DIGITS
        while digits[:size] in taken:  # two names that begin alike: the later one is longer
            size += 1
        taken[digits[:size]] = name
        called[name] = f"{column}_{digits[:size]}"
    order = sorted(called, key=lambda name: called[name])
    numbers = names.replace_strict(
        pl.Series(order, dtype=pl.String),
        pl.Series(range(1, len(order) + 1), dtype=pl.Int32),
        default=None,
        return_dtype=pl.Int32,
    )
    return numbers, {place: called[name] for place, name in enumerate(order, 1)}


def _jobs(table: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """Give jobs numbers from 1 in the order of the table, and ``after`` the new ones."""
    fresh = pl.int_range(1, table.height + 1, dtype=pl.Int64, eager=True).alias("job")
    known = table["job"].is_first_distinct()
    after = table["after"].replace_strict(
        table["job"].filter(known), fresh.filter(known), default=None, return_dtype=pl.Int64
    )
    return fresh, after


def key_from(path: StrPath) -> tuple[bytes, bool]:
    """Read the key in a file, or draw one and write it there; tell whether it is new.

    The file is readable for its owner only. With it, names can be found again behind their
    pseudonyms: don't give it away with the log.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        key = Path(path).read_bytes().strip()
        if len(key) < LEAST_KEY:
            raise TraceError(
                f"a key has at least {LEAST_KEY} bytes, this file {len(key)}; "
                "name a file that isn't there yet, and one is made",
                path=path,
            ) from None
        return key, False
    except OSError as error:
        raise TraceError(f"the key can't be written: {error.strerror}", path=path) from None
    drawn = secrets.token_hex(KEY_BYTES)
    try:
        write_text(path, f"{drawn}\n")  # keeps the file's permissions
    except FileError:
        Path(path).unlink(missing_ok=True)
        raise
    return drawn.encode(), True
