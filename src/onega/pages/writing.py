"""A document as HTML that works without a network, or as Markdown."""

from __future__ import annotations

import html
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from onega.core.errors import OnegaError
from onega.core.files import write_text
from onega.pages.document import Cell, Document, Facts, Notes, Paragraph, Picture, Table

if TYPE_CHECKING:
    from jinja2 import Environment

FORMATS: Final = {"html": ".html", "md": ".md"}
"""Accepted formats and how their files end."""

_NARROW_TOP: Final = 18
_LEGEND_TOP: Final = 44
"""Room above a figure on a page, where the title stands outside of it, in pixels."""


def to_html(document: Document) -> str:
    """Write a document as one HTML page that asks the network for nothing."""
    from plotly.offline import get_plotlyjs

    return _environment().get_template("page.html").render(
        document=document,
        plotly=get_plotlyjs(),
        kind=lambda block: type(block).__name__.lower(),
    )  # fmt: skip


def to_markdown(document: Document) -> str:
    """Write a document as Markdown, for a pull request or a mail: figures are named, not drawn."""
    lines = [f"# {document.title}", "", document.subtitle, ""]
    for section in document.sections:
        lines += [f"## {section.title}", ""]
        for block in section.blocks:
            lines += [*_BLOCKS[type(block)](block), ""]
    lines += [f"- {line}" for line in document.provenance]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def write_document(document: Document, path: str | os.PathLike[str], format: str = "html") -> Path:
    """Write a document into a file, whole or not at all; missing folders are made."""
    if format not in FORMATS:
        raise OnegaError(f"no format {format!r}; accepted: {', '.join(FORMATS)}")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, to_html(document) if format == "html" else to_markdown(document))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("onega.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["prose"] = _prose
    made.filters["figure_json"] = _figure_json
    return made


def _prose(text: str) -> Any:  # noqa: ANN401
    """Turn a text into HTML: escaped, with code and bold."""
    from markupsafe import Markup

    safe = html.escape(text, quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe))


def _figure_json(picture: Picture) -> Any:  # noqa: ANN401
    """Return a figure as JSON that may stand inside a script element, its title left out."""
    import plotly.graph_objects as go
    from markupsafe import Markup

    figure = go.Figure(picture.figure)
    legend = any(trace.name and trace.showlegend is not False for trace in figure.data)
    titles = any(one.yref == "paper" and (one.y or 0) > 0.95 for one in figure.layout.annotations)
    top = _LEGEND_TOP * (legend + titles) + _NARROW_TOP
    height = max(240, (figure.layout.height or 460) - (figure.layout.margin.t or 86) + top)
    figure.update_layout(title=None, margin={"t": top}, height=height)
    return Markup(figure.to_json().replace("</", "<\\/"))


def _cell_markdown(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    return cell.text if cell.beside is None else f"**{cell.text}** / {cell.beside}"


def _table_markdown(table: Table) -> list[str]:
    heading = f"{table.label}: {table.title}" if table.label else table.title
    lines = [f"### {heading}", "", f"| {' | '.join(table.columns)} |"]
    lines.append("|" + "|".join(["---"] + ["---:"] * (len(table.columns) - 1)) + "|")
    lines += [f"| {' | '.join(map(_cell_markdown, row))} |" for row in table.rows]
    return [*lines, "", table.note] if table.note else lines


def _picture_markdown(picture: Picture) -> list[str]:
    heading = f"{picture.label}: {picture.title}" if picture.label else picture.title
    return [f"*{heading}* (figure in the HTML page). {picture.caption}"]


_BLOCKS: Final[dict[type, Any]] = {
    Facts: lambda block: [f"- {one.label}: **{one.value}** – {one.meaning}" for one in block.items],
    Paragraph: lambda block: [block.text],
    Notes: lambda block: [f"- {one}" for one in block.items],
    Table: _table_markdown,
    Picture: _picture_markdown,
}
