"""How far a long series of runs is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from onega.cli.console import bar, err, is_quiet, remark
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
        from rich.progress import TextColumn

        words = TextColumn("{task.fields[words]}")
        with bar(description, words, total=None, words="") as update:
            yield lambda tally: update(
                total=tally.total,
                completed=tally.before + tally.done,
                words=tally_sentence(tally),
            )
    else:
        yield _lines(description)


def _lines(description: str) -> Callable[[Tally], None]:
    """Say plain lines: not too many, and none about what ends at once."""
    said = time.monotonic()

    def tell(tally: Tally) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            remark(f"{description}: {tally_sentence(tally)}")

    return tell


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
