"""What the log covers: jobs, period, machine, load."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from onega.core.schedule.window import Window, held_processors
from onega.core.workload.clock import local_moment, local_zone
from onega.traces.description.sections import Jobs, Summary, floats


@dataclass(frozen=True, slots=True)
class Load:
    """Counts, period, machine, offered load and utilisation (the head of Song's (2006) Table 2.1).

    Attributes
    ----------
    jobs
        Rows of the log.
    usable
        Jobs with a positive width and a positive run time: those that make load, and those over
        which all relations between jobs are measured.
    without_runtime, zero_runtime, without_width
        Jobs whose run time is unknown (or negative), zero, whose width is unknown or not positive.
    start, end
        First and last submission, in the machine's own time; None without an epoch.
    span
        Seconds from the first to the last submission.
    procs, nodes
        The machine's size, as the log says.
    widest
        The widest job.
    most_held
        The most processors that jobs held at once, by the log's own starts; None without waits.
    area
        Σ run time × width, in processor-seconds.
    offered_load
        area / (procs × span): what the users asked for, as a share of what the machine could do
        while they asked. None without a machine size, or with one instant of submission.
    utilisation
        area / (procs × (last completion − first submission)), from the observed waits. Above 1
        only if the log's own widths or times are wrong.
    window, window_words
        The stretch of time over which the machine is measured (`onega.core.schedule.window`), in
        seconds after the epoch and in words.
    window_offered_load, window_utilisation
        Area of the jobs submitted in the window, and processor-seconds that jobs held in it, over
        procs × its length. What `onega.describe` says first.
    wait_known
        Share of jobs with a known wait.
    users, groups, queues
        Distinct ids, None if the log has none.
    """

    jobs: int
    usable: int
    without_runtime: int
    zero_runtime: int
    without_width: int
    start: datetime | None
    end: datetime | None
    span: float
    procs: int | None
    nodes: int | None
    widest: int | None
    most_held: int | None
    area: float
    offered_load: float | None
    utilisation: float | None
    window: Window
    window_words: str
    window_offered_load: float | None
    window_utilisation: float | None
    wait_known: float
    users: int | None
    groups: int | None
    queues: int | None
    timezone: str
    timezone_from: str
    missing: dict[str, str]

    def summary(self) -> Summary:
        """Keys ``jobs``, ``procs``, ``span``, ``offered_load``, ``utilisation`` and more."""
        return {
            "jobs": self.jobs,
            "usable_jobs": self.usable,
            "jobs_without_runtime": self.without_runtime,
            "jobs_with_zero_runtime": self.zero_runtime,
            "jobs_without_width": self.without_width,
            "start": None if self.start is None else self.start.isoformat(),
            "end": None if self.end is None else self.end.isoformat(),
            "span": self.span,
            "timezone": self.timezone,
            "timezone_from": self.timezone_from,
            "procs": self.procs,
            "nodes": self.nodes,
            "widest_job": self.widest,
            "most_procs_held": self.most_held,
            "total_area": self.area,
            "offered_load": self.offered_load,
            "utilisation": self.utilisation,
            "window": self.window.kind,
            "window_start": self.window.since,
            "window_end": self.window.until,
            "window_words": self.window_words,
            "window_offered_load": self.window_offered_load,
            "window_utilisation": self.window_utilisation,
            "wait_known_share": self.wait_known,
            "users": self.users,
            "groups": self.groups,
            "queues": self.queues,
        }


def load(jobs: Jobs, window: Window) -> Load:
    """Measure what the log covers and how much work it holds, over all of it and in a window."""
    meta = jobs.workload.meta
    _, name, source = local_zone(meta)
    span = float(jobs.submit[-1] - jobs.submit[0])
    area = float(jobs.area[jobs.usable].sum())
    missing: dict[str, str] = {}
    offered, utilisation = _loads(jobs, area, span, missing)
    clipped = window.part_with_jobs(jobs.submit, float(jobs.submit[0]), _horizon(jobs))
    in_window = _loads_within(jobs, clipped) if offered is not None else (None, None)
    start = end = None
    if meta.epoch is None:
        missing["start"] = "the log doesn't say at what date it begins"
    else:
        start, end = (local_moment(meta, t) for t in (jobs.submit[0], jobs.submit[-1]))
    known = jobs.width[jobs.width > 0]
    held = held_processors(jobs.workload, observed=True)
    users, groups, queues = (_distinct(jobs, column) for column in ("user", "group", "queue"))
    return Load(
        jobs=jobs.size,
        usable=int(jobs.usable.sum()),
        without_runtime=int((~(jobs.runtime >= 0)).sum()),
        zero_runtime=int((jobs.runtime == 0).sum()),
        without_width=int((~(jobs.width > 0)).sum()),
        start=start,
        end=end,
        span=span,
        procs=meta.procs,
        nodes=meta.nodes,
        widest=int(known.max()) if known.size else None,
        most_held=None if held is None else int(held[1].max()),
        area=area,
        offered_load=offered,
        utilisation=utilisation,
        window=clipped,
        window_words=clipped.words(meta, float(jobs.submit[0])),
        window_offered_load=in_window[0],
        window_utilisation=in_window[1],
        wait_known=float(np.isfinite(floats(jobs.workload, "wait")).mean()),
        users=users,
        groups=groups,
        queues=queues,
        timezone=name,
        timezone_from=source,
        missing=missing,
    )


def _loads(
    jobs: Jobs, area: float, span: float, missing: dict[str, str]
) -> tuple[float | None, float | None]:
    """Return offered load and utilisation; note in ``missing`` why one is None."""
    procs = jobs.workload.meta.procs
    if procs is None:
        why = "the log doesn't say how large the machine is: say it (with_machine, or --procs)"
        missing.update(offered_load=why, utilisation=why)
        return None, None
    offered = utilisation = None
    if span > 0:
        offered = area / (procs * span)
    else:
        missing["offered_load"] = "all jobs were submitted at one instant"
    finish = jobs.submit + floats(jobs.workload, "wait") + jobs.runtime
    finish = finish[np.isfinite(finish)]
    if not finish.size:
        missing["utilisation"] = "the log has no waiting times"
    elif (period := float(finish.max() - jobs.submit[0])) > 0:
        utilisation = area / (procs * period)
    else:
        missing["utilisation"] = "no job took any time"
    return offered, utilisation


def _horizon(jobs: Jobs) -> float:
    """Return when the last job ended; where waits aren't known, when it was submitted."""
    finish = jobs.submit + floats(jobs.workload, "wait") + jobs.runtime
    return float(np.nanmax(np.append(finish, jobs.submit[-1])))


def _loads_within(jobs: Jobs, window: Window) -> tuple[float | None, float | None]:
    """Offered load and utilisation of a window; the latter only where waits are known."""
    procs = jobs.workload.meta.procs
    if procs is None or not window.length > 0:
        return None, None
    area = jobs.area[jobs.usable & window.holds(jobs.submit)].sum()
    start = jobs.submit + floats(jobs.workload, "wait")
    known = jobs.usable & np.isfinite(start)
    ends = np.clip((start[known], (start + jobs.runtime)[known]), window.since, window.until)
    held = float(jobs.width[known] @ (ends[1] - ends[0]))
    whole = procs * window.length
    return float(area) / whole, held / whole if known.any() else None


def _distinct(jobs: Jobs, column: str) -> int | None:
    if not jobs.workload.has(column):
        return None
    return jobs.workload.table[column].drop_nulls().n_unique()
