"""Tables on the screen: an interval is never cut off, in a pipe or on a narrow terminal."""

from __future__ import annotations

import pytest

from onega.cli import console

ROWS = [
    ("a policy with a long name, and more of it", 7514.0, "-3,783,123.5 (-8,311,456.7..-1,926)*")
]
COLUMNS = ("", "the log", "minus fcfs (95 %), the difference")


@pytest.mark.parametrize("terminal", [False, True])
def test_no_cell_is_cut_off(capsys, monkeypatch, terminal):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    console.emit_table("A table", ROWS, COLUMNS)
    said = capsys.readouterr().out
    assert "…" not in said
    lines = [line for line in said.splitlines() if line.startswith("│")]
    column = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert "".join(cells[2] for cells in column).replace(" ", "") == ROWS[0][2].replace(" ", "")
    if not terminal:
        assert ROWS[0][2] in said  # whole, on one line
