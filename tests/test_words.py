"""Words that don't belong here: documents that a reader can't look up, and jobs as persons."""

from __future__ import annotations

import re

from places import ROOT

UNKNOWN = re.compile(r"\bseeds? 00\d|\bDESIGN(?:\.md)? ?§", re.IGNORECASE)
KINDS = {".py", ".pyi", ".md", ".html", ".js", ".css", ".toml", ".ipynb", ".txt"}

PERSONS = re.compile(
    r"\b(?:he|his|him|himself|somebody|nobody|everybody|anybody|whoever)\b", re.IGNORECASE
)
"""Jobs are jobs, and a user is *they* or *the user*; *who* is for people: users who cancel jobs."""


def offenders(words, folders):
    """Return ``file:line: the words there`` of every line with one of the words."""
    found = []
    for folder in folders:
        paths = sorted((ROOT / folder).rglob("*"))
        assert paths, f"no folder {folder}"
        for path in paths:
            if path.suffix in KINDS and path.is_file():
                name = f"{folder}/{path.relative_to(ROOT / folder)}"
                lines = path.read_text(encoding="utf-8").splitlines()
                found += [
                    f"{name}:{number}: {', '.join(words.findall(line))}"
                    for number, line in enumerate(lines, start=1)
                    if words.search(line)
                ]
    return found


def test_papers_are_cited_by_author_and_year():
    assert not offenders(UNKNOWN, ("src", "docs", "tests", "bench", "examples"))


def test_jobs_and_users_are_no_riddles():
    assert not offenders(PERSONS, ("src", "docs"))


def test_persons_are_found(tmp_path):
    (tmp_path / "x.py").write_text("# Nobody waits.\n# The job waits: she, this, the.\n")
    found = offenders(PERSONS, [tmp_path])
    assert [one.partition("x.py")[2] for one in found] == [":1: Nobody"]
