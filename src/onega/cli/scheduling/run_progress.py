"""How far a long series of runs is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from onega.cli.console import err, is_quiet, remark
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.experiment.sweep.sweep import Tally

EVERY: Final = 30.0
"""Seconds between two lines in a log."""


@contextmanager
def runs_progress(description: str, *, silent: bool = False) -> Iterator[Callable[[Tally], None]]:
    """Show runs done, their rate and the time left.

    On a terminal a bar; otherwise, unless ``silent`` (beside ``--json`` no one reads
    them), a plain line every half minute.
    """
    if is_quiet() or (silent and not err().is_terminal):
        yield lambda tally: None
    elif err().is_terminal:
        with _bar(description) as tell:
            yield tell
    else:
        yield _Lines(description).tell


@contextmanager
def _bar(description: str) -> Iterator[Callable[[Tally], None]]:
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        console=err(),
        transient=True,
    )
    with bar:
        task = bar.add_task(description, total=None, words="")

        def tell(tally: Tally) -> None:
            there = tally.before + tally.done
            bar.update(task, total=tally.total, completed=there, words=tally_sentence(tally))

        yield tell


class _Lines:
    """Plain lines: not too many, and none about what ends at once."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._said = time.monotonic()

    def tell(self, tally: Tally) -> None:
        now = time.monotonic()
        if now - self._said >= EVERY:
            self._said = now
            remark(f"{self._description}: {tally_sentence(tally)}")


def tally_sentence(tally: Tally) -> str:
    """Say how far it is: ``120 of 200 runs, 14.2 a second, 5.6 s left``."""
    parts = [f"{tally.before + tally.done:,} of {tally.total:,} runs"]
    if tally.done:
        parts.append(f"{tally.rate:.3g} a second")
    if tally.left is not None:
        parts.append(f"{humanise_seconds(tally.left)} left")
    if tally.failed:
        parts.append(f"{tally.failed:,} can't be made")
    if tally.lost:
        parts.append(f"{tally.lost:,} lost")
    return ", ".join(parts)
