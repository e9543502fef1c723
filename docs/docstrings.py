"""NumPy-style docstrings as Markdown."""

from __future__ import annotations

import re

ENTRIES = ("Parameters", "Attributes", "Returns", "Raises", "Yields", "Other Parameters")
"""Sections that are lists of ``name`` lines with indented texts."""


def to_markdown(text: str | None) -> str:
    """Turn a docstring into Markdown; None is empty."""
    if not text:
        return ""
    parts = [_prose(body) if head is None else _section(head, body) for head, body in split(text)]
    return "\n\n".join(part for part in parts if part)


def split(text: str) -> list[tuple[str | None, str]]:
    """(heading, body) in order; the heading of what comes first is None."""
    lines = text.splitlines()
    sections: list[tuple[str | None, list[str]]] = [(None, [])]
    number = 0
    while number < len(lines):
        line = lines[number]
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", below) and not line.startswith(" "):
            sections.append((line, []))
            number += 2
            continue
        sections[-1][1].append(line)
        number += 1
    return [(head, "\n".join(body).strip("\n")) for head, body in sections]


def _section(head: str, body: str) -> str:
    if head in ENTRIES:
        return f"**{head}**\n\n{_entries(body)}"
    if head == "Examples":
        return f"**{head}**\n\n```pycon\n{body}\n```"
    return f"**{head}**\n\n{_prose(body)}"


def _entries(body: str) -> str:
    """``name`` at the margin, its text indented below → a list."""
    items: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            items.append((line, []))
        elif items:
            items[-1][1].append(line[4:])
    rows = []
    for name, text in items:
        names = re.sub(r"^([\w, .*]+?)( : .*)?$", _name, name)
        prose = _prose("\n".join(text).strip("\n"))
        indented = prose.replace("\n", "\n  ")
        rows.append(f"- {names}: {indented}" if prose else f"- {names}")
    return "\n".join(rows)


def _name(match: re.Match[str]) -> str:
    names = ", ".join(f"`{one.strip()}`" for one in match[1].split(","))
    return names + (f" ({match[2][3:]})" if match[2] else "")


def _prose(text: str) -> str:
    """reST's ``code`` and `name` → `code`; blocks after ``::`` and indented ones → fences."""
    blocks = re.split(r"\n{2,}", text)
    out: list[str] = []
    literal = False
    for block in blocks:
        if literal and block.startswith(" "):
            body = re.sub(r"^ {4}", "", block, flags=re.MULTILINE)
            out.append(f"```text\n{body}\n```")
            continue
        literal = block.rstrip().endswith("::")
        if literal:
            block = block.rstrip()[:-2].rstrip()
            block += ":" if block and not block.endswith((":", ".")) else ""
        out.append(re.sub(r"``([^`]+)``", r"`\1`", block))
    return "\n\n".join(one for one in out if one)
