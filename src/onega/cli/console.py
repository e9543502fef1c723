"""Speaking: results on stdout, everything else on stderr, progress only on a terminal."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeVar

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onega.core.errors import OnegaWarning
from onega.core.json_safe import json_safe
from onega.core.plotting import Plottable

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

    from onega.core.workload.report import Report


def out() -> Console:
    """Return the console for results (made on call, so that a redirected stdout is respected)."""
    return Console(highlight=False)


def err() -> Console:
    """Return the console for remarks."""
    return Console(stderr=True, highlight=False)


def fail(message: str, code: int = 2) -> NoReturn:
    """Say on one line what is wrong, and leave."""
    line = " ".join(str(message).split())
    print(f"onega: {line}", file=sys.stderr)
    sys.exit(code)


_quiet = False


def be_quiet() -> None:
    """Leave out remarks and progress from now on; results and errors remain."""
    global _quiet
    _quiet = True


def is_quiet() -> bool:
    """Whether remarks and progress are left out."""
    return _quiet


def remark(message: str) -> None:
    """Say something on stderr that the reader should know but that isn't the result."""
    if not _quiet:
        print(f"onega: {message}", file=sys.stderr)


_said_compiling = False


def say_compiling() -> None:
    """Say once, on a terminal, why nothing seems to happen."""
    global _said_compiling
    if not _said_compiling and err().is_terminal:
        _said_compiling = True
        remark("compiling what this needs; once on this machine, a minute or two at most")


def remark_report(report: Report, path: str | Path | None = None) -> None:
    """Say on stderr, a line a rule, what was changed or left out, and of which file if named."""
    for finding in report:
        remark(f"{finding}" if path is None else f"{path}: {finding}")


class HasSummary(Protocol):
    """A result that tells its numbers under flat keys."""

    def summary(self) -> Mapping[str, Any]:
        """Return the numbers."""


class FigurePage(NamedTuple):
    """Figures that ``--figures DIR`` asks for: those of a result, or those that ``draw`` makes.

    Of a result its figures' module draws what it can (``draw_all``), or else one of each kind.
    """

    folder: Path | None
    name: str
    title: str
    draw: Plottable | Callable[[], Mapping[str, Any]]

    def write(self) -> None:
        """Write the page, if there is a folder for it and anything to draw."""
        if self.folder is None:
            return
        from onega.figures.export import write_html

        drawn = self.draw() if callable(self.draw) else draw_all(self.draw)
        if drawn:
            path = write_html(drawn, self.folder / f"{self.name}.html", title=self.title)
            remark(f"{len(drawn)} figures in {path}")


def draw_all(result: Plottable) -> Mapping[str, Any]:
    """Draw the figures of a result by name."""
    module = import_module(f"onega.figures.{result.FIGURES}")
    if hasattr(module, "draw_all"):
        drawn: Mapping[str, Any] = module.draw_all(result)
        return drawn
    return {kind: result.plot(kind) for kind in result.figure_kinds()}


Given = TypeVar("Given", bound=HasSummary | Mapping[str, Any])


def emit(
    result: Given,
    screen: Callable[[Given], object] | None = None,
    *,
    json: bool,
    more: Mapping[str, Any] | None = None,
    figures: FigurePage | None = None,
) -> None:
    """Give a result: its summary as one JSON object, or its ``screen``; then the page of figures.

    The one way out of every command. ``screen`` is called for people only, so that what it says on
    stderr is left out beside ``--json``; a command whose remarks say all has none. ``more`` are
    numbers that stand in the JSON object but aren't the result's own.
    """
    if json:
        numbers = result if isinstance(result, Mapping) else result.summary()
        print(dumps(json_safe({**numbers, **(more or {})}), ensure_ascii=False, indent=2))
    elif screen is not None:
        screen(result)
    if figures is not None:
        figures.write()


def say(*lines: str, style: str | None = None) -> None:
    """Print lines of a result as they are, broken where the terminal ends."""
    for line in lines:
        out().print(line, markup=False, style=style)


def emit_table(title: str, rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> None:
    """Print a table; columns after the first are aligned right."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for number, name in enumerate(columns):
        # Folded, never cut off: half an interval is worse than two lines.
        table.add_column(name, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(show(cell)) for cell in row))
    print_table(table)


UNBOUNDED = 10_000
"""Columns that no table needs."""


def print_table(table: Table) -> None:
    """Print a table; into a pipe or a file at its own width, whatever that is."""
    console = out()
    if not console.is_terminal:
        unbounded = console.options.update(max_width=UNBOUNDED)
        console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)


def show(value: Any) -> str:  # noqa: ANN401
    """Write one cell: six significant digits for floats, nothing for None."""
    if value is None:
        return "–"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isnan(value):
            return "–"
        return f"{value:,.0f}" if abs(value) >= 1e6 else f"{value:,.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


@contextmanager
def progress(description: str, total: float | None = None) -> Iterator[Any]:
    """Show a progress bar on a terminal, nothing in a pipe.

    Yields a function of the amount done so far.
    """
    if _quiet or not err().is_terminal:
        yield lambda done: None
        return
    from rich.progress import TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.percentage:>3.0f}%"), TimeRemainingColumn()
    with bar(description, *columns, total=total) as update:
        yield lambda done: update(completed=done)


@contextmanager
def bar(
    description: str,
    *columns: ProgressColumn,
    **fields: Any,  # noqa: ANN401
) -> Iterator[Callable[..., None]]:
    """Show a bar and, behind it, columns of Rich; yields what updates its task."""
    from rich.progress import BarColumn, Progress, TextColumn

    first = TextColumn("{task.description}"), BarColumn()
    with Progress(*first, *columns, console=err(), transient=True) as shown:
        yield partial(shown.update, shown.add_task(description, **fields))


@contextmanager
def warnings_as_remarks() -> Iterator[None]:
    """Say Onega's own warnings in one line on stderr, each once; leave others as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", OnegaWarning)
        as_usual = warnings.showwarning
        said: set[str] = set()

        def speak(message: Any, category: Any, *rest: Any, **more: Any) -> None:  # noqa: ANN401
            if not issubclass(category, OnegaWarning):
                as_usual(message, category, *rest, **more)
            elif str(message) not in said:
                said.add(str(message))
                remark(str(message))

        warnings.showwarning = speak
        yield
