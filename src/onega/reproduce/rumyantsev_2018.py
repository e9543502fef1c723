"""``onega reproduce rumyantsev-2018``: Rumyantsev et al.'s (2018) experiment on the log of hpcwld.

The log (dataset HPC_KRC2: 9389 jobs of the cluster of the Karelian Research Centre, 80 cores) is
cleaned as the paper asks, and first come, first served runs on 80 servers with rates 2.0 and 2.66
(GHz), switched by the remaining work. Work is in seconds at rate 1, so a job of one second in the
log takes half a second at rate 2.0, as in the paper.

The paper prints the power of a busy server as e(r_L) = 0.041 and e(r_H) = 0.034, more at the lower
clock. That looks like an exchange of the two: as printed, a higher threshold costs more work in the
system and more power, and there is nothing to trade; exchanged, Figure 3 is the trade-off that the
paper describes. Both are shown.

In seconds at rate 1 the machine is 2 to 2.66 times faster than the one that was logged, and the 500
jobs of Figure 2 don't wait. If a logged second is a second at 2.66 GHz, so that work is counted in
GHz·s, and customers are counted as the log does, they do (`gigahertz_seconds`): both are shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import polars as pl

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.schedule.schedule import Schedule
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.experiment.planning.targets import mean_workload
from onega.reproduce import printed_others as printed
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Reproduction, Value
from onega.simulation.simulate import simulate
from onega.traces.cleaning import clean

NAME = "rumyantsev-2018"
FIRST, COUNT = 7000, 500
"""Figure 2: so many customers from this number on, counted from one."""
CHOSEN = slice(FIRST - 1, FIRST - 1 + COUNT)
"""The rows of Figure 2's customers."""

NO_TIME = 1e-3
"""Seconds of work of rows without a run time, where rows are counted as the log does."""

THRESHOLDS = {
    "r_L always": None,
    "k_L = 10⁵, k_H = 3·10⁵": printed.KRC_K,
    "k_L = 10⁶, k_H = 3·10⁶": (1e6, 3e6),
}
"""With work in GHz·s: the slower clock alone, the printed thresholds, and ten times those."""

SHOWN_DAYS = 10
"""Figure 1 shows so many days before and after customer 7000."""


@dataclass(frozen=True)
class Experiment:
    """The cleaned log and what was done to it."""

    log: Workload
    given: int
    days: float
    report: Report

    @classmethod
    def of(cls, log: Workload, *, servers: int, seed: int) -> Experiment:
        """Clean a log as the paper asks: erroneous records out, equal submissions set apart."""
        cleaned, report = clean(log.with_machine(servers), jitter=True, rng=seed)
        if len(cleaned) < 2:
            raise SimulationError("fewer than two jobs are left of this log after cleaning")
        submit = cleaned.column("submit")
        return cls(cleaned, len(log), float(submit.max() - submit.min()) / 86400, report)

    def run(self, k_low: float, k_high: float, busy: tuple[float, float]) -> Schedule:
        """First come, first served with the workload-aware switching of section III-C."""
        control = RateControl("workload", rates=printed.KRC_RATES, k_low=k_low, k_high=k_high)
        procs = self.log.meta.procs
        assert procs is not None
        power = Power(busy, printed.KRC_IDLE)
        return simulate(self.log, Cluster(procs, control, power), "fcfs")

    def trade_off(
        self, busy: tuple[float, float], progress: Callable[[float], None] | None = None
    ) -> pl.DataFrame:
        """Mean power and mean remaining work for each threshold (Figure 3)."""
        thresholds = printed.KRC_THRESHOLDS
        rows = []
        for place, k in enumerate(thresholds, start=1):
            schedule = self.run(k, k, busy)
            summary = schedule.summary()
            rows.append((k, mean_workload(schedule), summary["mean_power"], summary["mean_wait"]))
            if progress is not None:
                progress(place / len(thresholds))
        names = ["threshold", "mean_workload", "mean_power", "mean_wait"]
        return pl.DataFrame(rows, schema=names, orient="row")


def gigahertz_seconds(log: Workload, servers: int) -> Workload:
    """Return all rows with cores, in the log's order, a logged second being one at 2.66 GHz."""
    rows = log.select((pl.col("procs") > 0) & (pl.col("procs") <= servers)).with_machine(servers)
    work = pl.col("runtime").fill_null(0.0).clip(NO_TIME / printed.KRC_RATES[1], None)
    table = rows.table.with_columns(runtime=work * printed.KRC_RATES[1])
    return Workload(table, rows.meta.noting("run times × 2.66"))


def in_gigahertz_seconds(log: Workload, servers: int) -> dict[str, Schedule]:
    """Run the log with its work in GHz·s under each of `THRESHOLDS`."""
    rows = gigahertz_seconds(log, servers)
    slow = printed.KRC_RATES[0]
    runs = {}
    for name, thresholds in THRESHOLDS.items():
        control = RateControl("none", rates=(slow,))
        if thresholds is not None:
            k_low, k_high = thresholds
            control = RateControl("workload", rates=printed.KRC_RATES, k_low=k_low, k_high=k_high)
        runs[name] = simulate(rows, Cluster(servers, control), "fcfs")
    return runs


def reproduce_rumyantsev_2018(
    log: Workload, *, seed: int = 1, progress: Callable[[float], None] | None = None
) -> Reproduction:
    """Make the figures of Rumyantsev et al. (2018), IV from hpcwld's log, or from another one."""
    servers = log.meta.procs or printed.KRC_SERVERS
    known = len(log) == printed.KRC_JOBS
    made = Experiment.of(log, servers=servers, seed=seed)
    k_low, k_high = printed.KRC_K
    schedule = made.run(k_low, k_high, printed.KRC_BUSY)
    trades = {
        "as printed": made.trade_off(printed.KRC_BUSY, progress),
        "exchanged": made.trade_off(printed.KRC_BUSY[::-1]),
    }
    chapters = (
        Chapter("The log and one run", (_log_table(made, known=known), _run_table(schedule))),
        Chapter("Workload and schedule", _schedule_figures(made, schedule)),
        Chapter(
            "Work in GHz·s", _gigahertz_items(log, schedule, in_gigahertz_seconds(log, servers))
        ),
        Chapter("Energy against work in the system", _trade_items(trades)),
    )
    return Reproduction(
        NAME,
        f"Reproduced: {printed.TITLES[NAME]}",
        (log.meta.source or "the log",),
        chapters,
        (Absent("Table I", "the power of five systems of the TOP500 list, quoted there"),),
        (*(f"cleaning: {finding}" for finding in made.report), f"seed of the jitter: {seed}"),
    )


def _log_table(made: Experiment, *, known: bool) -> PrintedTable:
    servers = made.log.meta.procs
    rows = (
        ("jobs in the log", (Value(made.given, printed.KRC_JOBS if known else None, 0),)),
        ("jobs left by cleaning", (Value(len(made.log), None, 0),)),
        ("servers", (Value(servers, printed.KRC_SERVERS if known else None, 0),)),
        ("days from the first submission to the last",
         (Value(round(made.days), printed.KRC_DAYS if known else None, 0),)),
    )  # fmt: skip
    notes = (
        "The paper gives the dates 02.04.2011 and 16.04.2012, but the gaps that hpcwld's dataset "
        "holds add up to 445 days; the dataset is longer than the paper says, or its gaps are. "
        "What was cleaned stands at the end of the page.",
    )
    return PrintedTable("Section IV", "the log", ("", "value"), rows, notes if known else ())


def _run_table(schedule: Schedule) -> PrintedTable:
    summary = schedule.summary()
    names = {
        "mean_wait": "mean wait, s",
        "utilisation": "utilisation",
        "rate_changes": "changes of the rate",
        "mean_rate": "mean rate",
        "mean_power": "mean power, the paper's unit",
    }
    rows = tuple((words, (Value(float(summary[key]), None, 3),)) for key, words in names.items())
    title = "k_L = 10⁵, k_H = 3·10⁵, power as printed (the paper gives no numbers)"
    return PrintedTable("Section IV, the run", title, ("", "value"), rows)


def _schedule_figures(made: Experiment, schedule: Schedule) -> tuple[PrintedFigure, ...]:
    figures = []
    if len(made.log) >= CHOSEN.stop:
        middle = float(made.log.column("submit")[CHOSEN.start])
        room = SHOWN_DAYS * 86400
        window = (middle - room, middle + room)
        waited = int((schedule.jobs["wait"] > 0)[CHOSEN].sum())
        figures = [
            PrintedFigure("Figure 1", "twenty days",
                       partial(schedule.plot, "workload", window=window),
                       ("The rate goes up when the work passes k_H and down when it sinks to k_L, "
                        "and the slope changes with it, as the paper says.",)),
            PrintedFigure("Figure 2", "500 customers from number 7000",
                       partial(schedule.plot, "gantt", jobs=CHOSEN),
                       (f"{waited} of these 500 jobs wait, where the paper shows heavy waiting. "
                        "The next chapter has a reading in which they do.",)),
        ]  # fmt: skip
    whole = PrintedFigure("Figure 1, whole", "the whole log", partial(schedule.plot, "workload"))
    busiest = PrintedFigure(
        "Figure 2, busiest", "the jobs in a row that waited most", partial(schedule.plot, "gantt")
    )
    return (*figures, whole, busiest)


def _gigahertz_items(
    log: Workload, as_run: Schedule, runs: dict[str, Schedule]
) -> tuple[PrintedTable | PrintedFigure, ...]:
    """Compare the runs with the log and the run above: how many wait, how busy it is."""
    waiting = {name: int((run.jobs["wait"] > 0)[CHOSEN].sum()) for name, run in runs.items()}
    first = next(iter(runs.values()))
    enough = first.jobs.height >= CHOSEN.stop
    submit, procs = log.column("submit"), first.cluster.procs
    area = float((log.column("runtime") * log.column("procs")).sum())
    logged = area / (procs * float(submit.max() - submit.min()))
    busy = (
        ("the log itself", (Value(logged, None, 3),)),
        ("as run above", (Value(float(as_run.summary()["utilisation"]), None, 3),)),
        *(
            (f"GHz·s, {name}", (Value(float(run.summary()["utilisation"]), None, 3),))
            for name, run in runs.items()
        ),
    )
    notes = (
        "Work in seconds at rate 1 makes the machine above 2 to 2.66 times faster than the one "
        "that was logged: it is busy for less than half of the logged time. Here a logged second "
        "is one at 2.66 GHz, all rows with cores are kept (a millisecond where the log has no run "
        "time), and customers are counted as the log does.",
    )
    table = PrintedTable("Utilisation", "how busy the servers are", ("", "value"), busy, notes)
    if not enough:
        return (table,)
    rows = tuple((name, (Value(count, None, 0),)) for name, count in waiting.items())
    return (
        table,
        PrintedTable("Figure 2, GHz·s", f"of the {COUNT} customers from number {FIRST} on, wait",
                     ("", "jobs"), rows, ("The paper gives no number; it shows heavy waiting.",)),
        PrintedFigure("Figure 2, GHz·s, r_L always", f"{COUNT} customers from number {FIRST}",
                      partial(first.plot, "gantt", jobs=CHOSEN)),
    )  # fmt: skip


def _trade_items(trades: dict[str, pl.DataFrame]) -> tuple[PrintedTable | PrintedFigure, ...]:
    from onega.figures.papers import trade_off

    first = trades["as printed"]
    rows = tuple(
        (
            f"k = {first['threshold'][row]:.1e}",
            (
                Value(first["mean_workload"][row] / 3600, None, 1),
                *(Value(table["mean_power"][row], None, 3) for table in trades.values()),
            ),
        )
        for row in range(0, first.height, 5)
    )
    columns = ("threshold", "mean work, h", "power, as printed", "power, exchanged")
    note = (
        "As printed (0.041 busy at 2.0 GHz, 0.034 at 2.66) a higher threshold costs more work and "
        "more power; with the two exchanged power falls as work grows, the trade-off that the "
        "paper describes. They were very likely exchanged in print.",
    )
    return (
        PrintedTable("Figure 3, values", "one threshold k = k_L = k_H", columns, rows, note),
        *(
            PrintedFigure(f"Figure 3, {name}", "power against work", partial(trade_off, table))
            for name, table in trades.items()
        ),
    )
