"""The command's root: sub-commands, errors in one line, exit codes.

Exit codes: 0 done; 1 the answer is "no" where a command asks a question; 2 something given was
wrong (one line on stderr says what); 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any, NoReturn

import typer

from onega import __version__
from onega.cli.console import be_quiet, fail, remark, say_compiling, warnings_as_remarks
from onega.cli.examples import epilog
from onega.cli.grouping import grouped
from onega.core.errors import OnegaError
from onega.kernels import compile_events as news

PANELS: dict[str, tuple[str, ...]] = {
    "Logs": ("describe", "convert", "archive"),
    "Schedulers and machines": ("simulate", "cluster", "compare-policies", "plan", "sweep"),
    "Workload models": (
        "fit",
        "sample",
        "compose",
        "resample",
        "recover",
        "compare",
        "groups",
        "feedback",
        "closed-loop",
    ),
    "Theory": ("stability", "hysteresis", "limits"),
    "Against reality": ("adequacy", "virtual", "golden"),
    "To look at": ("demo", "report", "serve", "reproduce"),
}
"""Headings of ``onega --help``, and their commands (or groups) in order."""

FOLDERS: dict[str, str] = {
    "Logs": "logs",
    "Schedulers and machines": "scheduling",
    "Workload models": "models",
    "Theory": "theory",
    "Against reality": "reality",
    "To look at": "views",
}
"""Heading → folder of `onega.cli` that has a module for each of its commands.

The module of a command has a function of the command's name; that of a group has ``HELP`` and
``COMMANDS``. They import what computes inside their functions, so that ``onega --help`` doesn't
wait for a compiler.
"""

STOPPED = 130

# Typer carries its own copy of click from 0.26 on: the class must come from the copy in use.
_Misuse: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


def make_app() -> typer.Typer:
    """Build the command with all its sub-commands."""
    app = typer.Typer(
        name="onega",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def root(
        version: Annotated[  # noqa: FBT002
            bool,
            typer.Option(
                "--version", callback=_version, is_eager=True, help="Print the version and leave."
            ),
        ] = False,
    ) -> None:
        """Models of supercomputers from their job logs.

        Begin with `onega demo`, or with a log of your own: `onega describe LOG`.
        """

    for heading, names in PANELS.items():
        for name in names:
            _register(app, name, FOLDERS[heading])
    return app


def _register(app: typer.Typer, name: str, folder: str) -> None:
    """Add the command, or the group of commands, of one module."""
    word = name.replace("-", "_")
    module = import_module(f"onega.cli.{folder}.{word}")
    if not hasattr(module, "COMMANDS"):
        app.command(name)(grouped(getattr(module, word)))
        return
    group = typer.Typer(help=module.HELP, no_args_is_help=True)
    for inner, command in module.COMMANDS.items():
        group.command(inner)(grouped(command))
    app.add_typer(group, name=name)


def make_command() -> Any:  # noqa: ANN401
    """Build the command as click has it, with what all sub-commands share.

    Each ends its help with examples, takes ``--quiet``, shows flags without a type, and breaks the
    lines of its help where the terminal ends, not where the source does.
    """
    whole: Any = typer.main.get_command(make_app())
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for name, command in whole.commands.items():
        command.rich_help_panel = panels.get(name)
    _share(whole, "")
    return whole


def _share(command: Any, name: str) -> None:  # noqa: ANN401
    inner = getattr(command, "commands", {})
    for word, one in inner.items():
        _share(one, f"{name} {word}".strip())
    command.epilog = epilog(name)
    if not inner:
        command.params.append(_quiet_option())
    command.help = "\n\n".join(
        " ".join(paragraph.split()) for paragraph in cleandoc(command.help or "").split("\n\n")
    )
    own_help = command.get_help_option

    def help_option(context: Any) -> Any:  # noqa: ANN401
        return _without_type(own_help(context))

    command.get_help_option = help_option
    for option in command.params:
        _without_type(option)


def _without_type(option: Any) -> Any:  # noqa: ANN401
    if getattr(option, "is_flag", False):
        option.metavar = ""
    return option


def _quiet_option() -> Any:  # noqa: ANN401
    """Make the option as Typer makes its own: its classes differ from version to version."""
    lone = typer.Typer(add_completion=False)

    @lone.command()
    def _lone(
        quiet: Annotated[  # noqa: FBT002
            bool,
            typer.Option(
                "--quiet",
                "-q",
                callback=lambda value: be_quiet() if value else None,
                expose_value=False,
                help="No remarks and no progress on stderr; errors only.",
            ),
        ] = False,
    ) -> None: ...

    return next(one for one in typer.main.get_command(lone).params if one.name == "quiet")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command; every foreseeable failure is one line on stderr and exit code 2."""
    # Importing makes hundreds of thousands of objects that live on: don't go through them often.
    gc.set_threshold(200_000, 20, 50)
    news.listeners[:] = [say_compiling]
    news.troubles[:] = [remark]
    try:
        with warnings_as_remarks():
            code = make_command().main(args=arguments, prog_name="onega", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        fail("stopped", code=STOPPED)
    except _Misuse as error:
        if not error.format_message():  # type: ignore[attr-defined]
            sys.exit(0)  # no command given: the help is shown, and that is all
        fail(f"{_what_was_given(error, arguments or sys.argv[1:])}{_hint(error)}")
    except OnegaError as error:
        fail(str(error))
    except BrokenPipeError:
        # The reader went away (`onega … | head`): not an error, but stdout can't be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(f"{error.filename or 'input/output'}: {error.strerror or error}")
    except MemoryError:
        fail("not enough memory for this input")
    if code == STOPPED:  # Typer turns Ctrl-C into an exit code before it gets here
        fail("stopped", code=STOPPED)
    sys.exit(code if isinstance(code, int) else 0)


def _what_was_given(error: Exception, words: list[str]) -> str:
    """Return a mistake in the arguments, with the value that an option was given."""
    message: str = error.format_message()  # type: ignore[attr-defined]
    options = getattr(getattr(error, "param", None), "opts", ())
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in options:
            value = value if equals else "".join(words[place + 1 : place + 2])
            if value and value not in message:
                return f"{message}; got {value!r}"
    return message


def _hint(error: Exception) -> str:
    """Say where the accepted options are listed, for a mistake in the arguments."""
    context = getattr(error, "ctx", None)
    return "" if context is None else f" (see {context.command_path} --help)"


def _version(value: bool) -> None:  # noqa: FBT001
    if value:
        from onega.kernels.jit import cache_folder

        typer.echo(f"onega {__version__}")
        typer.echo(f"compiled kernels are kept in {cache_folder() or '(no writable folder)'}")
        raise typer.Exit
