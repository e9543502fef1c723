"""The references, generated: the command from its options, the library from its docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any, get_args, get_type_hints

from docstrings import to_markdown

import onega
from onega.cli.app import make_command
from onega.cli.examples import EXAMPLES

# The command ----------------------------------------------------------------------------------


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


# The library ----------------------------------------------------------------------------------


def api_markdown() -> str:
    """Every public name with its signature and docstring."""
    parts = [
        "# The library",
        "Every public name, from its docstring. `import onega` loads each on first use.",
    ]
    for name in onega.__all__:
        parts += list(_public(f"onega.{name}", getattr(onega, name), level=2))
    return "\n\n".join(parts) + "\n"


def _public(name: str, thing: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}"
    if isinstance(thing, ModuleType):
        yield to_markdown(inspect.getdoc(thing))
        for word in getattr(thing, "__all__", ()):
            yield from _public(f"{name}.{word}", getattr(thing, word), level=3)
    elif inspect.isclass(thing):
        yield from _class(name, thing, level)
    elif callable(thing):
        yield f"```python\n{_signature(name, thing)}\n```"
        yield to_markdown(inspect.getdoc(thing))
    else:
        yield f"A `{type(thing).__name__}`: `{thing!r}`."


def _class(name: str, thing: type, level: int) -> Iterator[str]:
    if "__init__" in vars(thing) and not _is_result(thing):
        yield f"```python\n{_signature(name, thing)}\n```"
    yield to_markdown(inspect.getdoc(thing))
    for word, member in _members(thing):
        plain = inspect.getattr_static(thing, word)
        yield f"{'#' * (level + 2)} {name}.{word}"
        if not isinstance(plain, property):
            yield f"```python\n{_signature(word, member)}\n```"
        yield to_markdown(inspect.getdoc(member))
    for part in _parts(thing):
        yield f"{'#' * (level + 1)} {name}: {part.__name__}"
        yield to_markdown(inspect.getdoc(part))


def _parts(thing: type) -> list[type]:
    """Dataclasses that a public dataclass is made of and that aren't public themselves."""
    if not dataclasses.is_dataclass(thing):
        return []
    public = {getattr(onega, name) for name in onega.__all__ if name[0].isupper()}
    found: dict[type, None] = {}
    for hint in get_type_hints(thing, localns=_LATE).values():
        for one in (hint, *get_args(hint)):
            ours = isinstance(one, type) and one.__module__.startswith("onega")
            if ours and dataclasses.is_dataclass(one) and one not in public:
                found[one] = None
    return list(found)


_LATE = {"Figure": Any}
"""Names that modules import for type checkers only."""


def _is_result(thing: type) -> bool:
    """Dataclasses that users get and never make: their fields are in the docstring."""
    return dataclasses.is_dataclass(thing) and len(dataclasses.fields(thing)) > 8


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties that the package itself defines, in the order of the source."""
    seen = set()
    for base in thing.__mro__:
        if not base.__module__.startswith("onega"):
            continue
        for word, plain in vars(base).items():
            if word.startswith("_") or word in seen:
                continue
            seen.add(word)
            if isinstance(plain, property):
                yield word, plain
            elif isinstance(plain, staticmethod | classmethod) or inspect.isfunction(plain):
                yield word, getattr(thing, word)


def _signature(name: str, thing: Any) -> str:
    """The call as it stands in the source: on one line, or a parameter a line."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return f"{name}(…)"
    texts = list(_parameters(signature))
    result = signature.return_annotation
    tail = "" if result is signature.empty or inspect.isclass(thing) else f" -> {_type(result)}"
    line = f"{name}({', '.join(texts)}){tail}"
    if len(line) <= 88:
        return line
    return f"{name}(\n    " + ",\n    ".join(texts) + f",\n){tail}"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    starred = False
    for one in signature.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            yield "*"
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        text = f"{stars}{one.name}"
        if one.annotation is not one.empty:
            text += f": {_type(one.annotation)}"
        if one.default is not one.empty:
            text += (
                f" = {one.default!r}" if one.annotation is not one.empty else f"={one.default!r}"
            )
        yield re.sub(r"<factory>|<[\w.]+ object at 0x[0-9a-f]+>", "…", text)


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
