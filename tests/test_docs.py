"""Documentation that can't lag: snippets run, commands parse, references are whole, links lead."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from dataclasses import dataclass

import pytest

import onega
from places import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import command_reference
import library_reference

INDEX = ROOT / "docs" / "index.md"
PAGES = [ROOT / "README.md", *(one for one in sorted((ROOT / "docs").glob("*.md")) if one != INDEX)]
NAVIGATED = [*PAGES[1:], *sorted((ROOT / "docs" / "notebooks").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NOT_RUN_AT_MOST = 0.2
"""Share of a page's Python blocks (beyond one) that may need something from outside."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the rest of its first line, its text and where it begins."""

    language: str
    remark: str
    text: str
    line: int


def blocks(text: str, language: str) -> list[Block]:
    return [
        Block(found[1], found[2].strip(), found[3], text.count("\n", 0, found.start()) + 2)
        for found in FENCE.finditer(text)
        if found[1] == language
    ]


def page_ids(page):
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_python_snippets_run(page, tmp_path, monkeypatch):
    """A page's blocks in one namespace, in an empty folder; the traceback names the page's line."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__page__"}
    for block in blocks(page.read_text(encoding="utf-8"), "python"):
        if not block.remark.startswith("no-run"):
            padded = "\n" * (block.line - 1) + block.text
            exec(compile(padded, str(page), "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_snippets_that_are_not_run_say_why_and_are_few(page):
    found = blocks(page.read_text(encoding="utf-8"), "python")
    skipped = [block for block in found if block.remark.startswith("no-run")]
    for block in skipped:
        assert re.fullmatch(r"no-run: .{10,}", block.remark), (
            f"{page.name}:{block.line - 1}: write what it needs from outside: ```python no-run: …"
        )
    assert len(skipped) <= 1 + NOT_RUN_AT_MOST * len(found)


def command_lines(text: str) -> list[tuple[int, list[str]]]:
    """(line, words) of every ``$ onega …`` in the console blocks, up to a pipe or redirection."""
    found = []
    for block in blocks(text, "console"):
        joined = re.sub(r"\\\n\s*", " ", block.text)
        for number, line in enumerate(joined.splitlines()):
            if line.startswith("$ onega"):
                words = shlex.split(line[2:], comments=True)
                ends = [
                    i for i, w in enumerate(words) if w in ("|", ">", ">>", "<", "&&", ";", "&")
                ]
                found.append((block.line + number, words[: min(ends, default=len(words))]))
    return found


def problem(words: list[str]) -> str | None:
    """What is wrong with a command line; None if its sub-command and options exist."""
    known = command_reference.commands()
    name, rest = words[0], words[1:]
    while rest and f"{name} {rest[0]}" in known:
        name, rest = f"{name} {rest[0]}", rest[1:]
    command = known[name]
    if getattr(command, "commands", None) and rest and not rest[0].startswith("-"):
        return f"no command {name} {rest[0]}"
    options = {word for one in command.params for word in (*one.opts, *one.secondary_opts)}
    flags = {word for one in command.params for word in one.opts if getattr(one, "is_flag", False)}
    options |= {"--help", "-h"}
    values = iter(rest)
    for word in values:
        if not re.match(r"-{1,2}[a-zA-Z]", word):
            continue
        option, equals, _ = word.partition("=")
        if option not in options:
            return f"{name} has no option {option}"
        if not equals and option not in flags | {"--help", "-h"} and next(values, None) is None:
            return f"{option} of {name} needs a value"
    return None


@pytest.mark.parametrize("page", PAGES, ids=page_ids)
def test_commands_in_console_blocks_exist(page):
    lines = command_lines(page.read_text(encoding="utf-8"))
    wrong = [f"{page.name}:{line}: {said}" for line, words in lines if (said := problem(words))]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("onega describe x.swf --json", None),
        ("onega describe --procs 4 x.swf", None),
        ("onega describe --procs=4 x.swf", None),
        ("onega --version", None),
        ("onega descrybe x", "no command onega descrybe"),
        ("onega describe x --jsn", "onega describe has no option --jsn"),
        ("onega describe x --procs", "--procs of onega describe needs a value"),
    ],
)
def test_wrong_commands_are_found(line, said):
    assert problem(shlex.split(line)) == said


def test_blocks_and_commands_are_found_where_they_stand():
    text = (
        "a\n\n```python\nx = 1\n```\n\n"
        "```console\n$ onega describe \\\n    x --json | head\nout\n```\n"
    )
    assert blocks(text, "python") == [Block("python", "", "x = 1\n", 4)]
    assert command_lines(text) == [(8, ["onega", "describe", "x", "--json"])]


@pytest.fixture(scope="module")
def library():
    return library_reference.pages()


@pytest.mark.parametrize("name", onega.__all__)
def test_every_public_name_is_documented(name, library):
    own = inspect.getdoc(getattr(onega, name)) or ""
    assert len(own) > 20, f"onega.{name} has no docstring"
    # A dataclass without a docstring gets its signature for one.
    assert not own.startswith(f"{name}("), f"onega.{name} has no docstring of its own"
    if not inspect.ismodule(getattr(onega, name)):
        assert f":: onega.{name}\n" in library[library_reference.part_of(name)]


def test_every_public_method_is_documented():
    bare = [
        f"{name}.{word}"
        for name in onega.__all__
        if inspect.isclass(thing := getattr(onega, name))
        for base in thing.__mro__
        if base.__module__.startswith("onega")
        for word, member in vars(base).items()
        if not word.startswith("_")
        if isinstance(member, property | staticmethod | classmethod) or inspect.isfunction(member)
        if not inspect.getdoc(getattr(thing, word))
    ]
    assert bare == []


def test_every_command_and_option_has_a_help_text():
    bare = []
    for name, command in command_reference.commands().items():
        bare += [] if command.help else [name]
        bare += [f"{name} {one.opts[0]}" for one in command.params if not getattr(one, "help", "x")]
    assert bare == []


def test_the_command_reference_has_every_command():
    text = command_reference.cli_markdown()
    for name in command_reference.commands():
        assert f"## {name}\n" in text


def test_every_page_stands_in_the_navigation():
    listed = set(re.findall(r"^([\w/-]+)$", INDEX.read_text("utf-8"), re.MULTILINE))
    written = {one.relative_to(ROOT / "docs").with_suffix("").as_posix() for one in NAVIGATED}
    made = {"reference/command", *(f"reference/library/{part}" for part in library_reference.PARTS)}
    assert listed == written | made
