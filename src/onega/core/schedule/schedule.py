"""What happened: a workload on a machine, with the start and end of every job."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import ScheduleError
from onega.core.intervals import Interval, batch_means
from onega.core.lazy import lazy
from onega.core.machine.cluster import Cluster
from onega.core.machine.state import MachineState, state_at
from onega.core.plotting import Plottable
from onega.core.policy import Policy
from onega.core.renamed import renamed
from onega.core.schedule import measures, system
from onega.core.schedule.chronicle import Chronicle
from onega.core.schedule.fairness import Fairness, fairness
from onega.core.schedule.history import Pieces, RateHistory
from onega.core.schedule.measures import job_means
from onega.core.schedule.window import Window, settled_summary, window_summary
from onega.core.types import Floats
from onega.core.units import humanise_power, humanise_seconds, percent
from onega.core.workload.report import Finding, Report
from onega.core.workload.workload import Workload


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(Plottable):
    """A workload, a machine, a policy, and when every job started and ended.

    Observed (from a log that has waits) or simulated: the same type, so that reality and model
    stand on one axis. Arrays are aligned with the rows of ``workload``.

    Attributes
    ----------
    workload, cluster, policy
        What ran where; the policy is None for an observed schedule.
    start, end
        Seconds after the workload's epoch: first start and completion of each job.
    work
        Work done for each job, in seconds at rate 1: its run time, or its estimate if it was
        ended there.
    limited
        Which jobs were ended at their estimates.
    rates
        How the service rate went.
    pieces
        All intervals of service if jobs could be displaced; None: one per job.
    chronicle
        What a detailed run tells: states, attempts, the event log; None for a plain one. ``start``
        and ``end`` of a job that never started are NaN, ``end`` of a cancelled one is when it left.
    provenance
        How it came about, a line each.
    report
        Jobs that were left out, and why.
    """

    FIGURES: ClassVar[str] = "schedule"

    workload: Workload
    cluster: Cluster
    policy: Policy | None
    start: Floats
    end: Floats
    work: Floats
    limited: npt.NDArray[np.bool_]
    rates: RateHistory
    pieces: Pieces | None = None
    provenance: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)
    chronicle: Chronicle | None = None

    def __post_init__(self) -> None:
        arrays = [self.start, self.end, self.work, self.limited, self.rates.since, self.rates.level]
        if self.pieces is not None:
            arrays += [self.pieces.row, self.pieces.start, self.pieces.end]
        for values in arrays:
            values.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the tables out: they are made again when asked for."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    @classmethod
    def observed(cls, workload: Workload, cluster: Cluster | int | None = None) -> Schedule:
        """Make the schedule that a log with waits records.

        Jobs without wait, run time or width are left out and reported. The machine is the log's
        own unless given; without either, the most processors that were ever busy at once.
        """
        known = (
            pl.col("wait").is_not_null() & (pl.col("runtime") >= 0) & (pl.col("procs") > 0)
        ).fill_null(value=False)
        kept = workload.select(known)
        if len(kept) == 0:
            raise ScheduleError(
                "the log has no job with a wait, a run time and a width; "
                "an observed schedule needs them (simulate it instead)"
            )
        left_out = workload.table.filter(~known)
        why = "no wait, run time or width: not part of the observed schedule"
        report = Report.of([Finding.of("unobserved", "dropped", why, left_out)])
        start = kept.column("submit") + kept.column("wait")
        end = start + kept.column("runtime")
        procs = kept.column("procs")
        if cluster is None:
            size = workload.meta.procs or system.peak(start, end, procs)
            cluster = Cluster(size)
        elif isinstance(cluster, int):
            cluster = Cluster(cluster)
        return cls(
            kept,
            cluster,
            None,
            start,
            end,
            np.array(kept.column("runtime")),
            np.zeros(len(kept), dtype=bool),
            RateHistory.constant(float(kept.column("submit").min())),
            provenance=("observed: start = submit + wait, end = start + run time",),
            report=report,
        )

    def __len__(self) -> int:
        return len(self.workload)

    def __repr__(self) -> str:
        origin = f"under {self.policy}" if self.policy else "observed"
        return f"<Schedule: {len(self)} jobs {origin} on {self.cluster.procs} processors>"

    def _repr_html_(self) -> str:
        """Show what a notebook's reader looks for first: waits, utilisation, the first jobs."""
        found = window_summary(self)
        since = float(self.workload.submissions[0])
        window = Window(found["since"], found["until"], found["window"])
        over = f"{window.words(self.workload.meta, since)}, {window.meaning}"
        waits = job_means(*measures.job_measures(self, started=True))
        facts = {
            "mean wait": humanise_seconds(waits["mean_wait"]),
            "95 % wait at most": humanise_seconds(waits["p95_wait"]),
            "busy": f"{percent(found['utilisation'])} ({over})",
        }
        if found["mean_power"] is not None:
            facts["mean power"] = humanise_power(found["mean_power"])
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>"
            for name, value in facts.items()
        )
        head = self.jobs.head(5)._repr_html_()
        return f"<p><b>{html.escape(repr(self)[1:-1])}</b></p><table>{rows}</table>{head}"

    @property
    def begin(self) -> float:
        """When the run began: at the first submission, or where a state was given."""
        return float(self.rates.since[0])

    @lazy
    def last(self) -> float:
        """When the last job came, left the system, or left its processors.

        The run's horizon. Jobs leave after they came, so that it is a job's leaving wherever all
        jobs leave. Where some stay for ever (their processors went down, say), they have waited
        up to here.
        """
        if self.chronicle is None:
            return float(self.end.max(initial=self.begin))
        came = self.workload.column("submit")[self.chronicle.submitted]
        left = self.end[np.isfinite(self.end)]
        times = np.concatenate([came, left, self.service_pieces()[2]])
        return float(times.max(initial=self.begin))

    def service_pieces(self) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
        """Return (row, start, end) of every interval on processors."""
        if self.pieces is not None:
            return self.pieces.row, self.pieces.start, self.pieces.end
        if self.chronicle is None:
            return np.arange(len(self), dtype=np.int64), self.start, self.end
        rows = np.flatnonzero(np.isfinite(self.start))
        return rows, self.start[rows], self.end[rows]

    @property
    def events(self) -> pl.DataFrame:
        """The event log of a detailed run: ``time, event, job, node``."""
        if self.chronicle is None:
            raise ScheduleError(
                "a plain run keeps no event log; simulate with events=, or on a cluster with "
                "failures, sleep, nodes, partitions or queues"
            )
        return self.chronicle.events

    @lazy
    def jobs(self) -> pl.DataFrame:
        """One row per job, in the workload's order (see docs/measures.md for each column)."""
        return measures.job_table(self)

    @lazy
    def system(self) -> pl.DataFrame:
        """One row per instant at which something happened: the state right after it.

        Columns ``time, rate, busy, running, waiting, workload, power`` and the loads of
        Rumyantsev et al. (2018):
        ``potential_load`` = R·(c if a job waits, else busy), ``effective_load`` = R·busy.
        """
        return system.system_table(self)

    @renamed(warm_up="warmup")
    def summary(
        self,
        window: str | tuple[float, float] | Window | None = None,
        *,
        warmup: str | float | None = None,
    ) -> dict[str, Any]:
        """Means, quantiles and totals in one flat dictionary.

        Parameters
        ----------
        window
            Only jobs submitted then, and what the machine did then: ``"log"`` (what the log
            supports: `onega.core.schedule.window.log_window`), ``"2d..9d"`` after the first
            submission, ``"2024-01-02..2024-01-09"``, or (from, until) in seconds. By default the
            whole run, from the first submission to the last completion.
        warmup
            What to leave out at the beginning: ``"mser5"`` (the rule finds out), or a time such
            as ``"2d"``. The keys ``warm_up``, ``warm_up_jobs`` and ``settled`` say what was.
        """
        if warmup is not None:
            if window is not None:
                raise ScheduleError("give a window or a warm-up, one of the two")
            return settled_summary(self, warmup)
        if window is not None:
            return window_summary(self, window)
        return measures.summary(self)

    def state_at(self, time: float) -> MachineState:
        """Return the jobs that run or wait right before ``time``, to start another run from."""
        return state_at(self, time)

    def to_polars(self) -> pl.DataFrame:
        """Return the table of jobs."""
        return self.jobs

    @renamed(level="confidence")
    def interval(
        self, measure: str = "wait", *, batches: int = 30, confidence: float = 0.95
    ) -> Interval:
        """Confidence interval of a measure's mean, by batch means in the order of submission.

        Jobs that don't have it (a wait, if they never started) don't count, as in the mean. No job
        measure is negative, and neither is an end of the interval.
        """
        order = np.argsort(self.workload.column("submit"), kind="stable")
        values = self._column(measure)[order]
        known = values[~np.isnan(values)]
        return batch_means(known, batches=batches, confidence=confidence).at_least(0.0)

    def quantiles(
        self, measure: str = "wait", at: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    ) -> dict[float, float]:
        """Quantiles of a job measure."""
        values = np.quantile(self._column(measure), at)
        return {q: float(value) for q, value in zip(at, values, strict=True)}

    def by(self, key: str | pl.Expr) -> pl.DataFrame:
        """Break measures down: by a column of the job table (``"user"``, ``"queue"``, …),
        by ``"width"`` or ``"runtime"`` class (powers of two), or by an expression on it. A column
        ``name`` has the log's own names of users, queues and the like, if it has any.
        """  # noqa: D205
        return measures.breakdown(self, key)

    def fairness(self, by: str = "user") -> Fairness:
        """Compare users, groups or queues: mean wait, slowdown, share of area, Jain's index."""
        return fairness(self, by)

    def window(self, t0: float, t1: float) -> pl.DataFrame:
        """Return the table of the jobs submitted in [t0, t1)."""
        return self.jobs.filter((pl.col("submit") >= t0) & (pl.col("submit") < t1))

    def _column(self, measure: str) -> Floats:
        if measure not in self.jobs.columns:
            raise ValueError(
                f"no job measure {measure!r}; accepted: {', '.join(self.jobs.columns)}"
            )
        return self.jobs[measure].to_numpy()


Measure = Callable[[Schedule], float]
