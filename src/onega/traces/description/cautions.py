"""What misleads: a size that isn't the machine's, cut ends, one burst of jobs, a short log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from onega.core.schedule.window import Window, held_processors, log_window
from onega.core.types import Floats
from onega.core.units import count_of, humanise_seconds, percent
from onega.core.workload.clock import local_moment
from onega.core.workload.workload import Workload
from onega.traces.description.sections import Jobs, floats

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR

SHORT: Final = 14 * DAY
"""A log that spans less has no two weeks to compare."""

CUT: Final = 0.05
"""Share of the span of submissions from which on filling or emptying matters."""

BURST_SHARE: Final = 0.5
"""Share of a day's jobs that come within an hour from which on they are a burst."""

BURST_OF_LOG: Final = 0.2
"""Share of the log's jobs that come in bursts from which on they are worth a warning."""

FEWEST: Final = 20
"""Jobs of a day from which on an hour of it can be called a burst."""

OVERFULL: Final = 0.01
"""Share of all work that jobs did beyond the machine's size from which on that size is wrong.

Logs are stamped in whole seconds and have single wrong rows: what that makes is far less.
"""


def size_warning(log: Workload, procs: int | None = None) -> str | None:
    """Return a sentence if the log can't be of a machine of ``procs`` processors, else None.

    The proof is what jobs held at once by the log's own starts, or, where it has no waits, the
    widths of its jobs. ``procs`` is the log's machine by default.
    """
    procs = log.meta.procs if procs is None else procs
    held = held_processors(log, observed=True)
    if procs is None:
        return None
    wrong = f"{count_of(procs, 'processor')} can't be right, unless jobs shared processors: "
    if held is not None:
        time, level, length = held[0], held[1][:-1], np.diff(held[0])
        beyond = np.maximum(level - procs, 0.0)
        if length @ beyond <= OVERFULL * (length @ level):
            return None
        above = float(length[beyond > 0].sum()) / float(time[-1] - time[0])
        return (
            f"{wrong}the log's own jobs held up to {level.max():,.0f} at once, and more than "
            f"{procs:,} for {percent(above)} of the time."
        )
    width, runtime = (floats(log, name) for name in ("procs", "runtime"))
    work = np.nan_to_num(np.where(runtime > 0, width * runtime, 0.0))
    if work[width > procs].sum() <= OVERFULL * work.sum():
        return None
    return f"{wrong}the log's widest job has {np.nanmax(width):,.0f}."


def run_size_warning(log: Workload, procs: int) -> str | None:
    """Return `size_warning` for a run, unless the log's own size was changed on purpose."""
    return size_warning(log, procs) if log.meta.procs in (None, procs) else None


def log_cautions(log: Workload) -> tuple[str, ...]:
    """Warn of what makes a log's first numbers mislead; nothing for a log without jobs."""
    return tuple(cautions(Jobs.of(log), log_window(log))) if len(log) else ()


def cautions(jobs: Jobs, window: Window) -> Iterator[str]:
    """Warn of what makes a log's first numbers mislead, a sentence each."""
    first, last = float(jobs.submit[0]), float(jobs.submit[-1])
    span = last - first
    yield from _cut(jobs, window, span)
    yield from _burst(jobs)
    if span < SHORT:
        yield (
            f"The log is short: jobs were submitted over {humanise_seconds(span)}, less than two "
            "weeks. Hours and days of the week can't be told from chance, and no interval can be "
            "made from its weeks."
        )


def _cut(jobs: Jobs, window: Window, span: float) -> Iterator[str]:
    """Warn if jobs ran before the log begins, or run on after it ends."""
    first, last = float(jobs.submit[0]), float(jobs.submit[-1])
    if window.kind == "log" and window.since - first > CUT * span:
        before = int(np.count_nonzero(jobs.submit < window.since))
        yield (
            f"The log is cut at its start: its jobs fill the machine only after "
            f"{humanise_seconds(window.since - first)} ({count_of(before, 'job')} submitted by "
            "then), so what ran there before isn't in it."
        )
    if window.kind == "log" and last - window.until > CUT * span:
        early = humanise_seconds(last - window.until)
        yield (
            f"The log is cut at its end: the machine empties {early} before the last submission, "
            "so jobs that still ran then aren't in it."
        )
    finish = _finish(jobs)
    longest = float(finish.max()) - last
    if longest > CUT * span:
        started = finish - jobs.runtime <= last
        running, waiting = (int(((finish > last) & one).sum()) for one in (started, ~started))
        waited = f" and {waiting:,} waited" if waiting else ""
        if not jobs.workload.has("wait"):
            waited = " (if none had waited)"
        yield (
            f"{count_of(running, 'job')} of the log still ran at its last submission{waited}; the "
            f"last of them ended {humanise_seconds(longest)} later, and no new work comes from "
            "there on."
        )


def _finish(jobs: Jobs) -> Floats:
    """Return when jobs ended by the log's own waits (taken as 0 where they aren't known)."""
    wait = np.nan_to_num(np.maximum(floats(jobs.workload, "wait"), 0.0))
    return np.where(jobs.usable, jobs.submit + wait + jobs.runtime, -np.inf)


def _burst(jobs: Jobs) -> Iterator[str]:
    """Warn of days on which most jobs were submitted within one hour."""
    meta = jobs.workload.meta
    began = local_moment(meta, float(jobs.submit[0]))
    # Days of the calendar where there is one; else days after the first submission.
    offset = -float(jobs.submit[0])
    if began is not None:
        offset += began.hour * HOUR + began.minute * 60.0 + began.second
    day = np.floor((jobs.submit + offset) / DAY)
    days, starts, counts = np.unique(day, return_index=True, return_counts=True)
    most = np.array(
        [_busiest_hour(jobs.submit[at : at + n]) for at, n in zip(starts, counts, strict=True)]
    )
    bursty = (counts >= FEWEST) & (most > BURST_SHARE * counts)
    inside = int(most[bursty].sum())
    if inside <= BURST_OF_LOG * jobs.size:
        return
    largest = int(np.argmax(np.where(bursty, most, 0)))
    when = f"day {days[largest] + 1:.0f}"
    if (moment := local_moment(meta, float(jobs.submit[starts[largest]]))) is not None:
        when = f"{moment.day} {moment:%B %Y}"
    yield (
        f"{inside:,} of the log's {jobs.size:,} jobs ({percent(inside / jobs.size)}) came in "
        f"bursts: on {count_of(int(bursty.sum()), 'day')} of {days.size:,} most jobs were "
        f"submitted within one hour, {most[largest]:,} of them on {when}. Means over jobs are "
        "mostly about those."
    )


def _busiest_hour(submit: Floats) -> int:
    """Return the most submissions within an hour, wherever it begins; ``submit`` is sorted."""
    until = np.searchsorted(submit, submit + HOUR, side="left")
    return int((until - np.arange(submit.size)).max(initial=0))
