"""Options in groups: a dataclass is a group, a command takes it as one parameter.

::

    @dataclass(frozen=True, slots=True)
    class ReadOptions:
        timezone: Annotated[str | None, typer.Option("--timezone")] = None

    def describe(trace: TraceArgument, reading: ReadOptions) -> None: ...

    app.command("describe")(grouped(describe))

The command line has ``--timezone`` as if the command had a parameter ``timezone``; the command gets
a `ReadOptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, get_type_hints

from onega.cli.console import fail

OUTPUTS = ("out", "output", "target")
"""Parameters of commands that name a file to write."""

LOGS = ("trace", "traces", "source")
"""Those that name a log."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose groups are spread out into single options, in their places."""
    hints = get_type_hints(command, include_extras=True)
    spread: dict[str, Parameter] = {}
    groups: dict[str, tuple[type, list[str]]] = {}
    for parameter in signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind) and isinstance(kind, type):
            inside = _options_of(kind)
            groups[parameter.name] = kind, [one.name for one in inside]
        else:
            inside = [parameter.replace(annotation=kind, kind=Parameter.KEYWORD_ONLY)]
        for one in inside:
            if one.name in spread:
                raise TypeError(f"{command.__name__} has two options {one.name!r}")
            spread[one.name] = one

    def call(**given: Any) -> None:  # noqa: ANN401
        _keep_what_is_read(given)
        for name, (kind, inside) in groups.items():
            given[name] = kind(**{word: given.pop(word) for word in inside})
        command(**given)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {name: one.annotation for name, one in spread.items()}
    vars(call)["__signature__"] = Signature(list(spread.values()))
    return call


def _keep_what_is_read(given: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the command reads, a log above all."""
    targets = [given[name] for name in OUTPUTS if isinstance(given.get(name), Path)]
    for target in filter(Path.is_file, targets):
        for name, value in given.items():
            for file in value if isinstance(value, list) else [value]:
                if name in OUTPUTS or not isinstance(file, Path) or not file.exists():
                    continue
                if target.samefile(file):
                    what = "the log itself" if name in LOGS else "a file that is read, too"
                    fail(f"{target} is {what}; write to another file, so that nothing is lost")


def _options_of(group: type) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
