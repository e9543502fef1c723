"""Cells of ``onega compare-policies``: digits that mean something, and no powers of ten."""

from __future__ import annotations

import pytest

from onega.cli.scheduling.compare_policies import _row

BLANK = dict.fromkeys(("mean", "low", "high", "difference_low", "difference_high"))


@pytest.mark.parametrize(
    ("on_log", "difference", "size", "shown"),
    [
        (0.891, -7.38e-07, 0.01, ("89.1", "0")),  # beyond the fourth digit of 89.1 %
        (0.891, -0.0404, 0.01, ("89.1", "-4.04")),
        (10440.0, -7020.0, 60.0, ("174", "-117")),
        (0.0, -0.5, 1.0, ("0", "-0.5")),
        (123456.0, 4321.0, 1.0, ("123,456", "4,321")),
    ],
)
def test_differences_have_the_digits_of_the_figures(on_log, difference, size, shown):
    row = {**BLANK, "policy": "easy", "on_log": on_log, "difference": difference}
    cells = _row(row, size)
    assert (cells[1], cells[4]) == shown
