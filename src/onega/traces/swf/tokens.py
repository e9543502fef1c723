"""Two ways from text to numbers that must agree: plain Python, and the compiled kernel.

Small logs take the plain one: it has read a few thousand jobs before numba is even imported (half a
second).
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.traces.files import count_lines

FIELDS: Final = 18

_PLAIN_BYTES: Final = b"0123456789+-. \t\r\x0b\x0c"
_NUMBER: Final = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?")
_SPELT_OUT: Final = re.compile(rb"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


class OddToken(NamedTuple):
    """A token that only Python can judge."""

    row: int
    field: int
    text: bytes


class Tokens(NamedTuple):
    """Rows of numbers: ``values[f, r]`` is field f (from 0) of row r, −1 where it is absent.

    ``points[f]`` tells whether field f may hold numbers that aren't whole; ``lines`` counts the
    newlines.
    """

    values: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    fields: npt.NDArray[np.int64]
    points: npt.NDArray[np.bool_]
    odd: list[OddToken]
    comments: list[bytes]
    lines: int


def tokenize_python(text: bytes) -> Tokens:
    """Split text into rows of numbers, line by line."""
    rows: list[list[float]] = []
    starts: list[int] = []
    fields: list[int] = []
    odd: list[OddToken] = []
    comments: list[bytes] = []
    place = 0
    for line in text.split(b"\n"):
        body, mark, comment = line.partition(b";")
        tokens = body.split()
        if tokens:
            starts.append(place)
            fields.append(len(tokens))
            del tokens[FIELDS:]
            rows.append(_row(tokens, body, len(rows), odd))
        elif mark:
            comments.append(comment)
        place += len(line) + 1
    values = np.full((FIELDS, len(rows)), -1.0)
    if rows and min(fields) >= FIELDS:
        values[:] = np.array(rows).T
    else:
        for number, row in enumerate(rows):
            values[: len(row), number] = row
    return Tokens(
        values,
        np.array(starts, dtype=np.int64),
        np.array(fields, dtype=np.int64),
        np.ones(FIELDS, dtype=np.bool_),
        odd,
        comments,
        text.count(b"\n"),
    )


def _row(tokens: list[bytes], body: bytes, row: int, odd: list[OddToken]) -> list[float]:
    """Turn one line's tokens into numbers, setting the odd ones aside."""
    if not body.translate(None, _PLAIN_BYTES) and max(map(len, tokens)) <= 15:
        try:
            return [float(token) for token in tokens]
        except ValueError:
            pass
    values = []
    for field, token in enumerate(tokens):
        value = float(token) if _NUMBER.fullmatch(token) and len(token) <= 15 else math.inf
        if math.isfinite(value):
            values.append(value)
        else:  # not a number, too large for one, or exact only as a whole number
            odd.append(OddToken(row, field, token))
            values.append(0.0)
    return values


class Scratch:
    """Memory for the kernel's answers, used again and again, as fresh memory is slow."""

    def __init__(self) -> None:
        self.make_room(0)

    def make_room(self, rows: int) -> None:
        """Allocate room for so many rows."""
        self.values = np.empty((FIELDS, rows))
        self.places = np.empty((2, rows), dtype=np.int64)

    @property
    def room(self) -> int:
        """Rows that there is room for."""
        return self.values.shape[1]


def tokenize_compiled(text: bytes, scratch: Scratch | None = None) -> Tokens:
    """Split text into rows of numbers with the compiled kernel.

    The arrays returned are ``scratch``'s, if one is given: good until it is used again.
    """
    from onega.kernels.traces import swf_tokens as kernel

    size = len(text)
    if not text.endswith(b"\n"):
        text += b"\n"
    data = np.frombuffer(text, dtype=np.uint8)
    scratch = scratch or Scratch()
    if not scratch.room:
        scratch.make_room(64 + len(text) // 32)
    points = np.zeros(FIELDS, dtype=np.bool_)
    counts = np.zeros(4, dtype=np.int64)
    room = {kernel.TOO_MANY_ODD: 64, kernel.TOO_MANY_COMMENTS: 256}
    while True:
        rows = kernel.Rows(scratch.values, scratch.places[0], scratch.places[1], points)
        asides = kernel.Asides(
            np.empty((room[kernel.TOO_MANY_ODD], 4), dtype=np.int64),
            np.empty((room[kernel.TOO_MANY_COMMENTS], 2), dtype=np.int64),
        )
        code = kernel.tokenize(data, rows, asides, counts)
        if code == kernel.DONE:
            break
        if code == kernel.TOO_MANY_ROWS:
            scratch.make_room(count_lines(text))
        else:
            room[code] *= 16
    n, n_odd, n_comments, lines = (int(count) for count in counts)
    odd = [
        OddToken(row, field, text[begin:end])
        for row, field, begin, end in asides.odd[:n_odd].tolist()
    ]
    points[list({token.field for token in odd})] = True
    return Tokens(
        scratch.values[:, :n],
        scratch.places[0, :n],
        scratch.places[1, :n],
        points,
        odd,
        [text[begin:end] for begin, end in asides.comments[:n_comments].tolist()],
        lines - (len(text) - size),
    )


def judge(token: bytes) -> int | float:
    """Read one odd token: an integer stays exact, anything else is a float.

    Raises
    ------
    ValueError
        If it is not a number, or not a finite one; the message says which.
    """
    shown = repr(token[:40].decode("utf-8", "replace")) + ("…" if len(token) > 40 else "")
    if _SPELT_OUT.fullmatch(token):
        raise ValueError(f"{shown} is not a finite number")
    if not _NUMBER.fullmatch(token):
        raise ValueError(f"{shown} is not a number")
    value = float(token)
    if not np.isfinite(value):
        raise ValueError(f"{shown} is too large for a number")
    if abs(value) >= 2**53 and len(token) < 40:
        exact = Decimal(token.decode())
        if abs(value) < 1e19 and exact == exact.to_integral_value():
            return int(exact)
    return value
