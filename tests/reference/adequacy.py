"""Baranov et al. (2019), (1) and (2), written as plainly as possible: dictionaries and loops."""

from __future__ import annotations

import math


def measure(real, model):
    """(E, P, different) of two lists of rows, or the word for what differs first.

    A row: (id, submit, width, requested or None, start, end). Equal ids on both sides.
    """
    if len(real) != len(model):
        return "numbers"
    other = {row[0]: row for row in model}
    ordered = sorted(real, key=lambda row: (row[1], row[0]))
    for place, word in ((1, "submit"), (2, "widths"), (3, "requested")):
        for row in ordered:
            if row[place] != other[row[0]][place]:
                return word
    total, different = 0.0, 0
    for job, submit, _width, _requested, start, end in ordered:
        partner = other[job]
        total += ((partner[5] - partner[1]) - (end - submit)) ** 2
        different += abs((partner[4] - partner[1]) - (start - submit)) > 1e-6
    return math.sqrt(total), math.sqrt(total / len(real)), different
