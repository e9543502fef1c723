"""Build the documentation: docs/*.md and the generated references, as static pages in site/.

    python docs/build.py [FOLDER]

Nothing is fetched, neither here nor by the pages. A link to a page or a heading that doesn't exist
stops the build.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS)]

import generated  # noqa: E402  (a neighbour, found by the line above)

SECTIONS = {
    "Begin": ("index", "tutorial"),
    "How to": (
        "logs",
        "own-policy",
        "energy",
        "machine",
        "replay-with-failures",
        "planning",
        "sweeps",
        "beyond-one-machine",
        "adequacy",
        "report",
        "page",
    ),
    "Reference": (
        "describe",
        "simulator",
        "golden",
        "measures",
        "models",
        "users",
        "queueing",
        "conventions",
        "cli",
        "api",
    ),
    "Explanation": ("design", "differences", "reproduction", "song-tables"),
}
"""Pages by what they are for, in this order, if they exist; others follow by title."""

OTHERS = "More"


@dataclass(frozen=True)
class Page:
    """One page: its name (``describe`` → describe.html), its title, its Markdown."""

    name: str
    title: str
    text: str


def pages() -> list[Page]:
    """All pages in the order of the navigation."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
    texts.setdefault("index", (ROOT / "README.md").read_text(encoding="utf-8"))
    if "cli" in texts or "api" in texts:
        raise SystemExit("docs/cli.md and docs/api.md are generated; remove them")
    texts["cli"], texts["api"] = generated.cli_markdown(), generated.api_markdown()
    found = [Page(name, _title(name, text), text) for name, text in texts.items()]
    return sorted(found, key=_place)


def section(page: Page) -> str:
    """What a page is for."""
    return next((name for name, found in SECTIONS.items() if page.name in found), OTHERS)


def _place(page: Page) -> tuple[int, int, str]:
    sections = [*SECTIONS, OTHERS]
    name = section(page)
    listed = SECTIONS.get(name, ())
    return sections.index(name), listed.index(page.name) if listed else 0, page.title.lower()


def _title(name: str, text: str) -> str:
    heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
    if heading is None:
        raise SystemExit(f"{name}.md has no heading; begin it with '# Title'")
    return heading[1].strip()


def slug(text: str) -> str:
    """The anchor of a heading, as GitHub makes it; dotted names keep their dots."""
    plain = re.sub(r"[`*]", "", text.strip())
    return re.sub(r"[^\w.\- ]", "", plain).replace(" ", "-").lower() if " " in plain else plain


def _highlight(code: str, language: str, _attributes: str) -> str:
    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def renderer() -> MarkdownIt:
    """Markdown with tables and highlighted code; raw HTML is shown, not obeyed."""
    return MarkdownIt("commonmark", {"html": False, "highlight": _highlight}).enable("table")


def render(page: Page) -> tuple[str, list[tuple[int, str, str]]]:
    """Return the page's HTML and its headings (level, anchor, text)."""
    engine = renderer()
    tokens = engine.parse(page.text)
    headings = []
    for token, following in pairwise(tokens):
        if token.type == "heading_open":
            anchor = slug(following.content)
            token.attrSet("id", anchor)
            text = re.sub(r"[`*]", "", following.content)
            headings.append((int(token.tag[1]), anchor, text))
        if following.type == "inline":
            for child in following.children or []:
                _point_to_pages(child)
    return engine.renderer.render(tokens, engine.options, {}), headings


def _point_to_pages(token: Token) -> None:
    """Links between Markdown files become links between pages."""
    target = token.attrGet("href")
    if token.type != "link_open" or not isinstance(target, str) or "://" in target:
        return
    target = re.sub(r"^(?:docs/|\./)", "", target)
    token.attrSet("href", re.sub(r"^([\w-]+)\.md(?=#|$)", r"\1.html", target))


def navigation(found: list[Page], current: Page, headings: list[tuple[int, str, str]]) -> str:
    """All pages by section; below the current one its headings."""
    parts = []
    for name, some in groupby(found, section):
        items = "".join(_entry(page, current, headings) for page in some)
        parts.append(f'<p class="section">{html.escape(name)}</p><ul>{items}</ul>')
    return "".join(parts)


def _entry(page: Page, current: Page, headings: list[tuple[int, str, str]]) -> str:
    here = page.name == current.name
    mark = ' aria-current="page"' if here else ""
    label = "Start" if page.name == "index" else page.title
    inner = "".join(
        f'<li><a href="#{anchor}">{html.escape(text)}</a></li>'
        for level, anchor, text in headings
        if here and level == 2
    )
    below = f"<ul>{inner}</ul>" if inner else ""
    return f'<li><a href="{page.name}.html"{mark}>{html.escape(label)}</a>{below}</li>'


def broken_links(site: Path) -> list[str]:
    """Links inside the site that lead nowhere: ``page.html: href``."""
    bodies = {path.name: path.read_text(encoding="utf-8") for path in site.glob("*.html")}
    anchors = {name: set(re.findall(r'\bid="([^"]+)"', body)) for name, body in bodies.items()}
    broken = []
    for name, body in bodies.items():
        for target in re.findall(r'<a href="([^"]+)"', body):
            if re.match(r"[a-z]+:", target):
                continue
            page, _, anchor = unquote(html.unescape(target)).partition("#")
            page = page or name
            wrong_anchor = anchor and anchor not in anchors.get(page, set())
            if wrong_anchor or not (page in bodies or (site / page).is_file()):
                broken.append(f"{name}: {target}")
    return broken


def build(site: Path) -> list[Path]:
    """Write all pages into a folder; returns their paths."""
    template = (DOCS / "page.html").read_text(encoding="utf-8")
    found = pages()
    site.mkdir(parents=True, exist_ok=True)
    written = []
    for page in found:
        body, headings = render(page)
        values = {
            "title": html.escape(page.title),
            "navigation": navigation(found, page, headings),
            "body": body,
            "highlighting": HtmlFormatter(style="tango").get_style_defs("pre"),
        }
        text = re.sub(r"\{\{(\w+)\}\}", lambda match, v=values: v[match[1]], template)
        path = site / f"{page.name}.html"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    for extra in ("images",):
        if (DOCS / extra).is_dir():
            shutil.copytree(DOCS / extra, site / extra, dirs_exist_ok=True)
    if broken := broken_links(site):
        raise SystemExit("links that lead nowhere:\n  " + "\n  ".join(broken))
    return written


def main() -> None:
    """Build into site/, or the folder that is given."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    written = build(site)
    print(f"{len(written)} pages; open {site / 'index.html'}")


if __name__ == "__main__":
    main()
