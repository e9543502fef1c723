"""Numbers out of the text of a log in Standard Workload Format.

One pass over the bytes. A token of at most fifteen digits is exact: its digits are an integer
below 2⁵³, and one division by a power of ten is correctly rounded, so the result is what
``float()`` gives. Everything else (exponents, longer numbers, letters) is handed back by its
place in the text, to be judged by the one Python function that both paths share.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import kernel

FIELDS: Final = 18

DONE: Final = 0
TOO_MANY_ODD: Final = 1
TOO_MANY_COMMENTS: Final = 2
TOO_MANY_ROWS: Final = 3

_U0, _U1, _U15 = np.uint64(0), np.uint64(1), np.uint64(15)
_FIELDS: Final = np.uint64(FIELDS)
_POWERS: Final = 10.0 ** np.arange(16)


class Rows(NamedTuple):
    """Where the numbers go: one column per row of the log.

    ``values[f, r]`` is field f of row r, −1 where the row is shorter; ``starts[r]`` the place of
    the row's first byte; ``fields[r]`` how many fields it has, those beyond the 18th included;
    ``points[f]`` whether any number in field f has a decimal point.
    """

    values: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    fields: npt.NDArray[np.int64]
    points: npt.NDArray[np.bool_]


class Asides(NamedTuple):
    """What Python looks at: ``odd`` tokens (row, field, begin, end), ``comments`` (begin, end)."""

    odd: npt.NDArray[np.int64]
    comments: npt.NDArray[np.int64]


@kernel
def tokenize(
    text: npt.NDArray[np.uint8],
    rows: Rows,
    asides: Asides,
    counts: npt.NDArray[np.int64],
) -> int:
    """Split text into rows of numbers; ``counts`` gets the rows, odd tokens, comments and lines.

    ``text`` must end with a newline, which saves a check of the end at every byte. If there isn't
    room for all, the code says for what.
    """
    # Arrays that are taken out of their tuple in the loop would be counted there each time.
    values, starts, fields, points = rows.values, rows.starts, rows.fields, rows.points
    odds, remarks = asides.odd, asides.comments
    room = np.uint64(starts.shape[0])
    end = np.uint64(text.size)
    # Unsigned, because a signed index is checked for being negative at every byte.
    place = _U0
    row = _U0
    odd = 0
    comments = 0
    lines = 0
    while place < end:
        byte = text[place]
        if byte == 32 or (9 <= byte <= 13):
            lines += byte == 10
            place += _U1
            continue
        if byte == 59:  # ';'
            begin = place + _U1
            while text[place] != 10:
                place += _U1
            if comments == remarks.shape[0]:
                return TOO_MANY_COMMENTS
            remarks[comments, 0] = begin
            remarks[comments, 1] = place
            comments += 1
            continue
        if row == room:
            return TOO_MANY_ROWS
        starts[row] = place
        field = _U0
        while True:
            while byte == 32:
                place += _U1
                byte = text[place]
            if byte == 10 or byte == 59:
                break
            if 9 <= byte <= 13:
                place += _U1
                byte = text[place]
                continue
            begin = place
            negative = byte == 45
            if negative or byte == 43:
                place += _U1
                byte = text[place]
            first = place
            number = np.int64(0)
            while 48 <= byte <= 57:
                number = number * 10 + (np.int64(byte) - 48)
                place += _U1
                byte = text[place]
            digits = place - first
            value = float(number)
            if byte == 46:  # '.'
                place += _U1
                byte = text[place]
                first = place
                while 48 <= byte <= 57:
                    number = number * 10 + (np.int64(byte) - 48)
                    place += _U1
                    byte = text[place]
                decimals = place - first
                digits += decimals
                if digits <= _U15:
                    value = float(number) / _POWERS[decimals]
                if field < _FIELDS:
                    points[field] = True
            strange = not _U0 < digits <= _U15
            while byte != 32 and not (9 <= byte <= 13) and byte != 59:
                strange = True
                place += _U1
                byte = text[place]
            if field < _FIELDS:
                values[field, row] = -value if negative else value
                if strange:
                    if odd == odds.shape[0]:
                        return TOO_MANY_ODD
                    odds[odd, 0] = row
                    odds[odd, 1] = field
                    odds[odd, 2] = begin
                    odds[odd, 3] = place
                    odd += 1
            field += _U1
        fields[row] = np.int64(field)
        while field < _FIELDS:
            values[field, row] = -1.0
            field += _U1
        row += _U1
        while text[place] != 10:  # a comment behind the numbers
            place += _U1
    counts[0] = row
    counts[1] = odd
    counts[2] = comments
    counts[3] = lines
    return DONE
