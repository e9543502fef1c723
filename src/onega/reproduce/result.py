"""What a reproduction is: numbered tables and figures of a paper, ours beside the printed value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from onega.pages import Block, Cell, Document, Notes, Paragraph, Picture, Section, Table
from onega.pages.document import anchor

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, slots=True)
class Value:
    """One figure: ours, and what the paper prints for it.

    Attributes
    ----------
    ours
        A number or a word; None if the log can't give it.
    printed
        The same in print; None if it prints none for this log.
    digits
        Digits after the point, as printed.
    spread
        Standard deviation over replicates, if ours is a mean of random draws.
    interval
        Of ours, to be written beside it; None: there is none.
    """

    ours: float | str | None
    printed: float | str | None = None
    digits: int = 2
    spread: float | None = None
    interval: tuple[float, float] | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether ours is the printed one; None if there is nothing to compare.

        Rounded as printed, numbers agree within one unit of the last digit (papers sometimes cut
        digits off instead of rounding), whole numbers if they are equal. A random draw may be off
        by two standard deviations more, since the printed one is a draw too.
        """
        if self.ours is None or self.printed is None:
            return None
        if isinstance(self.ours, str) or isinstance(self.printed, str):
            return str(self.ours) == str(self.printed)
        unit = 10.0**-self.digits if self.digits else 0.0
        room = unit + 2 * (self.spread or 0.0) + 1e-9
        return abs(round(self.ours, self.digits) - round(self.printed, self.digits)) <= room

    def words(self) -> str:
        """Write our value."""
        if self.ours is None or (isinstance(self.ours, float) and math.isnan(self.ours)):
            return "–"
        if isinstance(self.ours, str):
            return self.ours
        text = f"{self.ours:.{self.digits}f}"
        if self.interval is not None:
            low, high = (f"{one:.{self.digits}f}" for one in self.interval)
            return f"{text} ({low}–{high})"
        if self.spread is None:
            return text
        return f"{self.ours:.{self.digits + 1}f} ± {self.spread:.{self.digits + 1}f}"

    def printed_words(self) -> str:
        """Write the printed figure."""
        if self.printed is None:
            return "–"
        return self.printed if isinstance(self.printed, str) else f"{self.printed:.{self.digits}f}"

    def cell(self) -> Cell:
        """Return both values as a cell of a table."""
        if self.printed is None:
            return Cell(self.words())
        return Cell(self.words(), self.printed_words(), self.agrees)


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A numbered table: the first column names the rows."""

    label: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Value, ...]], ...]
    notes: tuple[str, ...] = ()

    def blocks(self) -> Iterator[Block]:
        """Return it for a page: the table, and why it differs."""
        rows: list[tuple[str | Cell, ...]] = [
            (name, *(value.cell() for value in values)) for name, values in self.rows
        ]
        yield Table(self.title, self.columns, tuple(rows), label=self.label)
        if self.notes:
            yield Notes(self.notes)


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """A numbered figure, drawn when a page is made; what the paper says about it, and ours."""

    label: str
    title: str
    draw: Callable[[], go.Figure]
    notes: tuple[str, ...] = ()

    def blocks(self) -> Iterator[Block]:
        """Return it for a page."""
        yield Picture(anchor(f"{self.label} {self.title}"), self.draw(), label=self.label)
        if self.notes:
            yield Notes(self.notes)


@dataclass(frozen=True, slots=True)
class Absent:
    """A numbered table or figure that isn't made, and why."""

    label: str
    why: str


@dataclass(frozen=True, slots=True)
class Chapter:
    """Tables and figures that belong together."""

    title: str
    items: tuple[PrintedTable | PrintedFigure, ...]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A paper's tables and figures made from given logs.

    Attributes
    ----------
    name, title
        Which paper.
    logs
        What it was made from.
    chapters
        What was made.
    absent
        What was not, and why.
    provenance
        How it was made, a line each.
    about
        Below the title, if nothing is printed for it.
    """

    name: str
    title: str
    logs: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    absent: tuple[Absent, ...] = ()
    provenance: tuple[str, ...] = ()
    about: str = ""

    def tables(self) -> tuple[PrintedTable, ...]:
        """Return the tables."""
        return tuple(one for one in self._items() if isinstance(one, PrintedTable))

    def figures(self) -> tuple[PrintedFigure, ...]:
        """Return the figures."""
        return tuple(one for one in self._items() if isinstance(one, PrintedFigure))

    def to_polars(self) -> pl.DataFrame:
        """One row per value: label, row, column, ours, printed (as text), agrees."""
        schema = dict.fromkeys(("label", "row", "column", "ours", "printed"), pl.String)
        rows = [
            (where, row, column, value.words(), value.printed_words(), value.agrees)
            for where, row, column, value in self._values()
        ]
        return pl.DataFrame(rows, schema=schema | {"agrees": pl.Boolean}, orient="row")

    def summary(self) -> dict[str, Any]:
        """Return counts, and every value as ``LABEL/ROW/COLUMN`` and the same with ``/printed``."""
        values = list(self._values())
        compared = [value.agrees for *_, value in values if value.agrees is not None]
        flat: dict[str, Any] = {
            "reproduction": self.name,
            "logs": list(self.logs),
            "tables": len(self.tables()),
            "figures": len(self.figures()),
            "not_made": [f"{one.label}: {one.why}" for one in self.absent],
            "values": len(values),
            "compared": len(compared),
            "agree": sum(compared),
        }
        for where, row, column, value in values:
            key = f"{where}/{row}/{column}"
            flat[key] = value.ours
            if value.printed is not None:
                flat[f"{key}/printed"] = value.printed
        return flat

    def verdict(self) -> str:
        """Say in a sentence how much of it comes out as printed."""
        flat = self.summary()
        made = f"{_several(flat['tables'], 'table')} and {_several(flat['figures'], 'figure')} made"
        if not flat["compared"]:
            if self.about:
                return f"{made}."
            return f"{made}; the paper prints no values for what was given."
        return (
            f"{made}; {flat['agree']} of {flat['compared']} printed values come out as printed "
            "(within one unit of the last digit, random draws within two standard deviations more)."
        )

    def document(self) -> Document:
        """Return the page: all tables and figures, and what couldn't be made."""
        sections = []
        if not self.about:
            sections.append(Section("verdict", "How much comes out", (Paragraph(self.verdict()),)))
        for chapter in self.chapters:
            blocks = tuple(block for item in chapter.items for block in item.blocks())
            sections.append(Section(anchor(chapter.title), chapter.title, blocks))
        if self.absent:
            notes = Notes(tuple(f"**{one.label}**: {one.why}" for one in self.absent))
            sections.append(Section("not-made", "Not made, and why", (notes,)))
        about = f"Ours, and the printed value beside it, from {', '.join(self.logs)}."
        if not self.logs:
            about = "Ours, and the printed value beside it; no log is needed."
        return Document(self.title, self.about or about, tuple(sections), self.provenance)

    def _items(self) -> Iterator[PrintedTable | PrintedFigure]:
        for chapter in self.chapters:
            yield from chapter.items

    def _values(self) -> Iterator[tuple[str, str, str, Value]]:
        for table in self.tables():
            for row, values in table.rows:
                for column, value in zip(table.columns[1:], values, strict=True):
                    yield table.label, row, column, value


def _several(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
