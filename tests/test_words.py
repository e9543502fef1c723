"""Words that a reader of the project can't look up: numbers of documents that aren't here."""

from __future__ import annotations

import re

from places import ROOT

UNKNOWN = re.compile(r"\bseeds? 00\d|\bDESIGN(\.md)? ?§", re.IGNORECASE)
KINDS = {".py", ".pyi", ".md", ".html", ".js", ".css", ".toml", ".ipynb", ".txt"}


def test_papers_are_cited_by_author_and_year():
    found = []
    for folder in ("src", "docs", "tests", "bench", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in KINDS and path.is_file():
                text = path.read_text(encoding="utf-8")
                found += [f"{path.name}: {one.group()}" for one in UNKNOWN.finditer(text)]
    assert not found
