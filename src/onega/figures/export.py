"""Figures as files: HTML that works without a network."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path

import plotly.graph_objects as go

from onega.core.files import write_text
from onega.figures.theme import CONFIG, FONT

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  body {{ margin: 0 auto; max-width: 68rem; padding: 1.5rem; background: #fff; color: #1f2933;
         font: 16px/1.5 {font}; }}
  h1 {{ font-size: 1.6rem; margin: 0.2rem 0 1rem; }}
  .figure {{ margin: 0 0 2rem; }}
</style>
</head>
<body>
{heading}{figures}
</body>
</html>
"""


def write_html(
    figures: go.Figure | Mapping[str, go.Figure],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
) -> Path:
    """Write one figure, or several by name, into one HTML page.

    The page holds Plotly's JavaScript once and asks the network for nothing. It appears whole or
    not at all: it is written beside its place and then moved there.

    Parameters
    ----------
    figures
        A figure, or a mapping of names (which become anchors, ``page.html#name``) to figures.
    path
        Where to; missing folders are made.
    title
        The page's title and heading.
    """
    named = {"figure": figures} if isinstance(figures, go.Figure) else dict(figures)
    if not named:
        raise ValueError("write_html needs at least one figure, got none")
    parts = []
    for place, (name, figure) in enumerate(named.items()):
        body = figure.to_html(
            full_html=False, include_plotlyjs=place == 0, config=CONFIG, div_id=f"plot-{name}"
        )
        parts.append(f'<div class="figure" id="{html.escape(name)}">{body}</div>')
    heading = f"<h1>{html.escape(title)}</h1>\n" if title else ""
    page = _PAGE.format(
        title=html.escape(title or next(iter(named))),
        font=FONT,
        heading=heading,
        figures="\n".join(parts),
    )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, page)
