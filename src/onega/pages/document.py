"""What stands on a page, whatever it looks like: sections of facts, sentences, tables, figures.

Texts are plain; ``backticks`` mean code and ``**two stars**`` mean bold, as in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go


@dataclass(frozen=True, slots=True)
class Fact:
    """One number that matters: what it is called, the number with its unit, what it means."""

    label: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts side by side."""

    items: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences that stand one by one."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that says more than its text.

    Attributes
    ----------
    text
        What was found.
    beside
        What a paper prints for it, or None.
    agrees
        Whether the two agree; None if there is nothing to compare.
    """

    text: str
    beside: str | None = None
    agrees: bool | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; the first column names the rows, the others are aligned right.

    ``note`` stands below. ``label`` is its number in the paper that prints it ("Table 3.4").
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    note: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r} has {len(self.columns)} columns, a row has {len(row)}"
                )


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """An interactive figure; title and caption are the figure's own unless given.

    ``name`` is its anchor on the page.
    """

    name: str
    figure: go.Figure
    meaning: str = ""
    label: str = ""

    @property
    def title(self) -> str:
        """What the figure shows."""
        return _plain(self.figure.layout.title.text)

    @property
    def caption(self) -> str:
        """The figure's smaller line, and what it means."""
        under = _plain(self.figure.layout.title.subtitle.text).rstrip(".")
        return ". ".join(part for part in (under, self.meaning) if part)


Block = Facts | Paragraph | Notes | Table | Picture


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One heading and what stands below it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A page.

    Attributes
    ----------
    title, subtitle
        What it is about.
    sections
        In the order of reading.
    provenance
        How it was made, a line each; at the end.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    provenance: tuple[str, ...] = ()

    def pictures(self) -> Iterator[Picture]:
        """All figures, in the order of reading."""
        for section in self.sections:
            yield from (block for block in section.blocks if isinstance(block, Picture))

    def tables(self) -> Iterator[Table]:
        """All tables, in the order of reading."""
        for section in self.sections:
            yield from (block for block in section.blocks if isinstance(block, Table))


def anchor(text: str) -> str:
    """Make a name that may stand in an address: ``Table 3.4, KTH`` → ``table-3-4-kth``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def _plain(text: str | None) -> str:
    """Take Plotly's markup out of a title."""
    return re.sub(r"<[^>]+>", " ", text or "").strip()
