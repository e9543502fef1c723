"""``onega reproduce rumyantsev-2014``: Rumyantsev's (2014) formulas by every method, and on a log.

The paper has no numbered tables or figures. What can be checked is that (4), (9) and (10) give one
C, that they give what its software hpcwld answers, that the recursion (1), (2) gives the delays of
a simulated first-come-first-served machine, and whether the criterion holds for every law of run
times, as the paper conjectures.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from onega.core.errors import QueueingError
from onega.core.workload.workload import Workload
from onega.experiment.stability.saturation import saturated_throughput
from onega.queueing.constant import stability_constant
from onega.queueing.saturated import law_constant
from onega.queueing.stability import stability
from onega.reproduce.printed_others import HPCWLD_C, HPCWLD_KTH, TITLES
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Reproduction, Value
from onega.reproduce.song.logs import song_name
from onega.simulation.pool.recursion import workload_recursion
from onega.simulation.simulate import simulate

NAME = "rumyantsev-2014"
SMALL = (("0.5,0.5", 2), ("uniform:4", 4), ("uniform:7", 7), ("1:0.5,2:0.3,8:0.2", 8))
DRAWS = 200_000
LAW_WIDTHS, LAW_SERVERS = "1:0.5,2:0.5", 2
LAWS = {
    "exponential": "exponential",
    "fixed": "constant",
    "hyperexponential(0.9:0.1, 0.1:9.1)": "hyperexponential",
}
"""Laws of run times by which the conjecture is tried."""


def reproduce_rumyantsev_2014(log: Workload | None = None, *, seed: int = 1) -> Reproduction:
    """Make C by every method beside each other and hpcwld; with a log its ρ and its delays."""
    items: list[PrintedTable | PrintedFigure] = [constants(seed), small_constants(seed), laws(seed)]
    chapters = [Chapter("The constant C", tuple(items))]
    absent = [Absent("tables and figures", "the paper has none; its equations are checked instead")]
    logs: tuple[str, ...] = ()
    if log is None:
        absent.append(Absent("(1)–(3) on a log", "no log was given; add one, e.g. KTH-SP2"))
    else:
        logs = (log.meta.source or "the log",)
        chapters.append(_on_log(log))
    return Reproduction(
        NAME,
        f"Reproduced: {TITLES[NAME]}",
        logs,
        tuple(chapters),
        tuple(absent),
        (f"Monte-Carlo: {DRAWS:,} draws, seed {seed}.",
         "“Printed” values are answers of the R package hpcwld, the paper's software."),
    )  # fmt: skip


def constants(seed: int) -> PrintedTable:
    """C exactly and by Monte-Carlo, beside hpcwld's StabC."""
    rows = []
    for widths, servers, theirs in HPCWLD_C:
        exact = stability_constant(widths, servers).value
        drawn = stability_constant(widths, servers, method="montecarlo", draws=DRAWS, rng=seed)
        error = (drawn.high - drawn.low) / 2 / 1.96
        values = (Value(exact, theirs, 9), Value(drawn.value, round(theirs, 3), 3, error))
        rows.append((f"{_law(widths)}, s = {servers}", values))
    columns = ("widths and servers", "C, exact", "C, Monte-Carlo (10)")
    return PrintedTable("Equations (9), (10)", "C beside hpcwld's StabC", columns, tuple(rows))


def small_constants(seed: int) -> PrintedTable:
    """C by the definition (4), by partitions (9), and exactly: small machines."""
    rows = []
    for widths, servers in SMALL:
        exact = stability_constant(widths, servers).value
        values = [
            Value(stability_constant(widths, servers, method=method, rng=seed).value, digits=12)
            for method in ("enumeration", "partitions")
        ]
        rows.append((f"{_law(widths)}, s = {servers}", (*values, Value(exact, digits=12))))
    notes = (
        "(9) is used as printed and agrees with (4). The misprint is in (8), from which it is "
        "deduced: its right side lacks the factor 1/Σn by which the left one is divided.",
    )
    columns = ("widths and servers", "by (4)", "by (9)", "exact")
    return PrintedTable("Equations (4), (9)", "the same C three ways", columns, tuple(rows), notes)


def laws(seed: int) -> PrintedTable:
    """C for three laws of run times, exactly and by a saturated simulation: not one, but three."""
    conjectured = stability_constant(LAW_WIDTHS, LAW_SERVERS).value
    rows = []
    for law, told in LAWS.items():
        measured = saturated_throughput(LAW_WIDTHS, LAW_SERVERS, law=law, precision=0.005, rng=seed)
        value, error = 1 / measured.rate, (1 / measured.low - 1 / measured.high) / 2 / 1.96
        exact = law_constant(LAW_WIDTHS, LAW_SERVERS, law)
        simulated = Value(value, digits=3, spread=error)
        rows.append((told, (Value(exact, digits=6), simulated, Value(conjectured, digits=6))))
    notes = (
        "The paper proves the criterion (3) for exponential run times and conjectures it for a "
        "general law. It doesn't hold: C depends on the law of run times, not only on its mean. "
        "The hyperexponential law has mean 0.1 with probability 0.9 and mean 9.1 with probability "
        "0.1, squared coefficient of variation 15.58.",
    )
    columns = (f"widths {LAW_WIDTHS}, s = {LAW_SERVERS}; run times", "C", "C, saturated simulation",
               "C, as conjectured")  # fmt: skip
    title = "the criterion depends on the law of run times"
    return PrintedTable("Conjecture on (3)", title, columns, tuple(rows), notes)


def _law(widths: str) -> str:
    return f"widths {widths}"


def _on_log(log: Workload) -> Chapter:
    if log.meta.procs is None:
        raise QueueingError("how many processors has the machine? give --procs")
    servers = log.meta.procs
    fits = (pl.col("runtime") > 0) & pl.col("procs").is_between(1, servers)
    jobs = log.select(fits.fill_null(value=False)).sorted()
    answer = stability(jobs, procs=servers)
    submit = jobs.column("submit")
    gaps = np.append(np.diff(submit), 0.0)
    found = workload_recursion(gaps, jobs.column("runtime"), jobs.column("procs"), servers=servers)
    wait = float(np.mean(simulate(jobs, servers, "fcfs").start - submit))
    theirs = HPCWLD_KTH if _is_kth(log, servers) else {}
    summary = found.summary()
    rows = (
        ("C", (Value(answer.C, theirs.get("C"), 9),)),
        ("ρ = λ·C·E[S] (3)", (Value(answer.rho, None, 4),)),
        ("mean delay by (1), (2), s", (Value(summary["mean_delay"], theirs.get("mean_delay"), 0),)),
        ("longest delay, s", (Value(summary["max_delay"], theirs.get("max_delay"), 0),)),
        (
            "mean wait of a simulated FCFS, s",
            (Value(wait, theirs.get("mean_delay"), 0),),
        ),
    )
    title = f"{song_name(log.meta.source)}: {len(jobs):,} jobs on {servers} servers"
    table = PrintedTable("Equations (1)–(3)", title, ("", "value"), rows)
    figure = PrintedFigure("Equation (3)", "ρ against the number of servers", answer.plot)
    return Chapter("On a log", (table, figure))


def _is_kth(log: Workload, servers: int) -> bool:
    return song_name(log.meta.source) == "KTH" and servers == 100
