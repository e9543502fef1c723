"""Numbers out of the text of a log in Standard Workload Format.

One pass over the bytes. A token of at most fifteen significant digits is exact: its digits are an
integer below 2⁵³, and one division by a power of ten up to 10²² is correctly rounded, so the
result is what ``float()`` gives. Everything else (exponents, longer numbers, letters) is handed
back by its place in the text, to be judged by the one Python function that both paths share.
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

_POWERS: Final = 10.0 ** np.arange(23)


class Rows(NamedTuple):
    """Where the numbers go: one column per row of the log.

    ``values[f, r]`` is field f of row r, −1 where the row is shorter; ``starts[r]`` the place of
    the row's first byte; ``fields[r]`` how many fields it has, those beyond the 18th included.
    """

    values: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    fields: npt.NDArray[np.int64]


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
    """Split text into rows of numbers; ``counts`` gets the number of rows, odd tokens, comments.

    ``rows`` needs room for as many rows as there are lines.
    """
    end = text.size
    place = 0
    row = 0
    odd = 0
    comments = 0
    while place < end:
        byte = text[place]
        if byte == 32 or (9 <= byte <= 13):
            place += 1
            continue
        if byte == 59:  # ';'
            begin = place + 1
            while place < end and text[place] != 10:
                place += 1
            if comments == asides.comments.shape[0]:
                return TOO_MANY_COMMENTS
            asides.comments[comments, 0] = begin
            asides.comments[comments, 1] = place
            comments += 1
            continue
        rows.starts[row] = place
        field = 0
        while place < end:
            byte = text[place]
            if byte == 10 or byte == 59:
                break
            if byte == 32 or (9 <= byte <= 13):
                place += 1
                continue
            begin = place
            negative = byte == 45
            if negative or byte == 43:
                place += 1
            mantissa = np.int64(0)
            seen = 0
            significant = 0
            decimals = -1
            plain = True
            while place < end:
                byte = text[place]
                if 48 <= byte <= 57:
                    seen += 1
                    if significant > 0 or byte != 48:
                        significant += 1
                    if significant <= 15:
                        mantissa = mantissa * 10 + (byte - 48)
                    if decimals >= 0:
                        decimals += 1
                elif byte == 46 and decimals < 0:
                    decimals = 0
                elif byte == 32 or (9 <= byte <= 13) or byte == 59:
                    break
                else:
                    plain = False
                place += 1
            if field < FIELDS:
                value = float(mantissa)
                if decimals > 0:
                    if decimals > 22:
                        plain = False
                    else:
                        value /= _POWERS[decimals]
                rows.values[field, row] = -value if negative else value
                if not plain or seen == 0 or significant > 15:
                    if odd == asides.odd.shape[0]:
                        return TOO_MANY_ODD
                    asides.odd[odd, 0] = row
                    asides.odd[odd, 1] = field
                    asides.odd[odd, 2] = begin
                    asides.odd[odd, 3] = place
                    odd += 1
            field += 1
        rows.fields[row] = field
        for missing in range(field, FIELDS):
            rows.values[missing, row] = -1.0
        row += 1
        while place < end and text[place] != 10:  # a comment behind the numbers
            place += 1
    counts[0] = row
    counts[1] = odd
    counts[2] = comments
    return DONE
