"""Values beside printed ones: when they agree, how they are written, what a page says."""

from __future__ import annotations

import math

import plotly.graph_objects as go
import pytest

from onega.figures.theme import styled
from onega.pages import to_markdown
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Reproduction, Value


@pytest.mark.parametrize(
    ("value", "agrees"),
    [
        (Value(37.56, 37.5, 1), True),  # 37.6, one unit
        (Value(37.66, 37.5, 1), False),
        (Value(7, 8, 0), False),
        (Value(390091.99, 390091.986, 0), True),
        (Value(0.27, 0.30, 2, 0.01), True),  # a draw: one unit and two deviations
        (Value(0.26, 0.30, 2, 0.01), False),
        (Value("yes", "yes"), True),
        (Value("no", "yes"), False),
        (Value(None, 1.0), None),
        (Value(1.0, None), None),
    ],
)
def test_agreement(value, agrees):
    assert value.agrees is agrees


@pytest.mark.parametrize(
    ("value", "words", "printed"),
    [
        (Value(0.1256, 0.1), "0.13", "0.10"),
        (Value(12.34, 1, 1, 0.5), "12.34 ± 0.50", "1.0"),
        (Value(None), "–", "–"),
        (Value(math.nan), "–", "–"),
        (Value("0 9 14", "0 9 14"), "0 9 14", "0 9 14"),
        (Value(18, 18, 0), "18", "18"),
    ],
)
def test_words(value, words, printed):
    assert value.words() == words
    assert value.printed_words() == printed


def made():
    rows = (("KTH", (Value(0.04, 0.04), Value(0.2, 0.1))), ("mine", (Value(0.5), Value(0.6))))
    table = PrintedTable("Table 3.4", "relations", ("log", "cor₀", "cor₁"), rows, ("because",))
    drawn = []

    def draw():
        drawn.append(1)
        return styled(go.Figure(go.Bar(x=[1], y=[2])), "Bars", "one of them")

    figure = PrintedFigure("Figure 1", "bars", draw, ("as the paper says",))
    result = Reproduction(
        "song", "Reproduced", ("KTH",), (Chapter("One", (table, figure)),),
        (Absent("Figure 9", "no data"),), ("seed 1",),
    )  # fmt: skip
    return result, drawn


def test_summary_counts_and_carries_every_value():
    result, _ = made()
    flat = result.summary()
    assert (flat["tables"], flat["figures"], flat["values"]) == (1, 1, 4)
    assert (flat["compared"], flat["agree"]) == (2, 1)
    assert flat["Table 3.4/KTH/cor₁"] == 0.2
    assert flat["Table 3.4/KTH/cor₁/printed"] == 0.1
    assert "Table 3.4/mine/cor₁/printed" not in flat
    assert flat["not_made"] == ["Figure 9: no data"]


def test_a_long_table():
    table = made()[0].to_polars()
    assert table.shape == (4, 6)
    assert table["agrees"].to_list() == [True, False, None, None]


def test_figures_are_drawn_for_a_page_only():
    result, drawn = made()
    result.summary(), result.to_polars(), result.verdict()
    assert not drawn
    text = to_markdown(result.document())
    assert drawn
    assert "**0.20** / 0.10" in text
    assert "- because" in text
    assert "- as the paper says" in text
    assert "- **Figure 9**: no data" in text


def test_the_verdict_says_how_much():
    result, _ = made()
    assert "1 of 2 printed values come out as printed" in result.verdict()
    nothing = Reproduction("x", "X", (), ())
    assert "no values" in nothing.verdict()
