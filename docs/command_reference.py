"""The reference of the command, made from its own options (Typer carries a click of its own)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from onega.cli.app import make_command
from onega.cli.examples import EXAMPLES


def commands() -> dict[str, Any]:
    """Full name (``onega archive get``) → click command, groups included, in the order of help."""
    found: dict[str, Any] = {}

    def walk(name: str, command: Any) -> None:
        found[name] = command
        for word, inner in getattr(command, "commands", {}).items():
            walk(f"{name} {word}", inner)

    walk("onega", make_command())
    return found


def cli_markdown() -> str:
    """One section per command: usage, what it does, arguments and options."""
    parts = [
        "# The command",
        "Made from the command's own help. Exit codes: 0 done; 1 the answer is “no” where a "
        "command asks a question; 2 something given was wrong, one line on stderr says what; "
        "130 stopped by Ctrl-C. Results go to stdout, remarks and progress to stderr.",
    ]
    for name, command in commands().items():
        parts += list(_command(name, command))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option" and one.name != "help"]
    group = getattr(command, "commands", None)
    words = [name, *(_metavar(one) for one in arguments)]
    words += ["[OPTIONS]"] if options else []
    words += ["COMMAND …"] if group else []
    yield f"## {name}"
    yield _plain(inspect.cleandoc(command.help or ""))
    yield f"```text\n{' '.join(words)}\n```"
    if group:
        rows = [f"| [`{name} {word}`](#{_anchor(f'{name} {word}')}) | {_short(inner)} |"
                for word, inner in group.items()]  # fmt: skip
        yield "| command | what it does |\n|---|---|\n" + "\n".join(rows)
    if arguments:
        rows = [f"| `{_metavar(one)}` | {_cell(one.help)} |" for one in arguments]
        yield "| argument | what it is |\n|---|---|\n" + "\n".join(rows)
    if options:
        rows = [f"| {_option(one)} | {_cell(one.help)}{_default(one)} |" for one in options]
        yield "| option | what it does |\n|---|---|\n" + "\n".join(rows)
    word = name.removeprefix("onega ")
    if word in EXAMPLES:
        lines = [f"$ {line}    # {why}" for line, why in EXAMPLES[word]]
        yield "```console\n" + "\n".join(lines) + "\n```"


def _anchor(name: str) -> str:
    return name.replace(" ", "-").lower()


def _metavar(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name.strip('[]')}]"


def _option(option: Any) -> str:
    names = [*option.opts, *option.secondary_opts]
    value = "" if option.is_flag else f" {_value(option)}"
    return ", ".join(f"`{name}{value}`".replace("|", "\\|") for name in names)


def _value(option: Any) -> str:
    """The word for an option's value: its metavar, its choices, or its type."""
    if option.metavar:
        return str(option.metavar)
    kind = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(member.value) for member in kind)
    return {int: "N", float: "X"}.get(kind, str(option.name).upper())


def _default(option: Any) -> str:
    value = option.default
    if callable(value) or value is None or value is False or value == () or value == []:
        return ""
    value = getattr(value, "value", value)
    return f" Default: `{value}`."


def _short(command: Any) -> str:
    return _cell((command.help or "").strip().split("\n\n")[0])


def _cell(text: str | None) -> str:
    return _plain(" ".join((text or "").split())).replace("|", "\\|")


def _plain(text: str) -> str:
    """Rich markup ([bold]…[/]) and click's \\b don't belong on a page."""
    return re.sub(r"\[/?(?:bold|italic|dim|cyan|green|red|yellow)?\]", "", text.replace("\b", ""))
