"""``onega reproduce limits``: Zayats et al.'s (2024) examples and figures.

The paper prints formulas, not numbers. Ours come from the general method (any widths, any law of
limits); what stands beside them is the paper's formula for the special case, evaluated.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from onega.core.workload.workload import Workload
from onega.queueing.limits.limits import Limits, limits
from onega.reproduce.printed_others import TITLES
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Reproduction, Value

NAME = "limits"
ARRIVALS, SERVICE, LIMIT = 5.0, 1.0, 0.25
"""λ, μ and ν of the examples; the paper leaves them open."""

ALPHA = 0.4
FIGURE_4 = (1, 3, 5)


def reproduce_limits(log: Workload | None = None) -> Reproduction:
    """Make Examples 1–5 and Figures 3 and 4; with a log, what its own limits do."""
    chapters = [
        Chapter("Busy servers", (poisson_states(), geometric_states(), mean_busy())),
        Chapter("Requests that are served whole", (served_table(), *served_figures())),
    ]
    logs: tuple[str, ...] = ()
    if log is not None:
        logs = (log.meta.source or "the log",)
        chapters.append(_on_log(log))
    return Reproduction(
        NAME,
        f"Reproduced: {TITLES[NAME]}",
        logs,
        tuple(chapters),
        (Absent("Figures 1, 2", "the queue and its state graph, drawn; no data in them"),),
        (f"λ = {ARRIVALS:g}, μ = {SERVICE:g}, ν = {LIMIT:g}: the paper leaves them open.",
         "Printed: the paper's formula for the special case, evaluated."),
    )  # fmt: skip


def _model(widths: str, limit_rate: float = LIMIT) -> Limits:
    return limits(widths, arrival_rate=ARRIVALS, service_rate=SERVICE, limit_rate=limit_rate)


def poisson_states() -> PrintedTable:
    """Make Example 1, (26): one server a request, Poisson with parameter λ/(μ+ν)."""
    model = _model("fixed:1")
    a = ARRIVALS / (SERVICE + LIMIT)
    rows = tuple(
        (f"p_{n}", (Value(float(model.probabilities[n]),
                          math.exp(-a) * a**n / math.factorial(n), 10),))
        for n in range(0, 13, 2)
    )  # fmt: skip
    return PrintedTable("Example 1, (26)", "one server a request", ("state", "probability"), rows)


def geometric_states() -> PrintedTable:
    """Make Example 2, (31): G(z) = ((1−α)/(1−αz))^(λ/((μ+ν)α)) with α of the law's tail.

    The scanned text prints the exponent illegibly; it follows from (30):
    ∫ ds/(1−αs) from z to 1 is log((1−αz)/(1−α))/α.
    """
    model = _model(f"geometric:{ALPHA}")
    power = ARRIVALS / ((SERVICE + LIMIT) * ALPHA)
    rows = tuple(
        (f"G({z:g})", (Value(model.pgf(z), ((1 - ALPHA) / (1 - ALPHA * z)) ** power, 10),))
        for z in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    title = f"geometric numbers of servers, α = {ALPHA:g}"
    return PrintedTable("Example 2, (31)", title, ("generating function", "value"), rows)


def mean_busy() -> PrintedTable:
    """Make Example 3, (34): n̄ = λθ̄/(μ+ν) for several laws of θ."""
    laws = ("fixed:1", "fixed:4", f"geometric:{ALPHA}", "uniform:16", "1:0.5,2:0.3,8:0.2")
    rows = []
    for widths in laws:
        model = _model(widths)
        states = np.arange(model.probabilities.size)
        ours = float(states @ model.probabilities)
        printed = ARRIVALS * model.widths.mean / (SERVICE + LIMIT)
        rows.append((widths, (Value(ours, printed, 9),)))
    title = "mean number of busy servers, Σ n·p_n beside the formula"
    return PrintedTable("Example 3, (34)", title, ("servers a request", "mean busy"), tuple(rows))


def served_table() -> PrintedTable:
    """Examples 4 and 5: P_serv (44), (48), and z_cr (45)."""
    rows = []
    for k in FIGURE_4:
        for z in (0.5, 1.0, 4.0, 9.0):
            model = _model(f"fixed:{k}", 1 / z)
            printed = (z / (z + 1 / SERVICE)) ** k
            rows.append((f"P_serv, k = {k}, z = {z:g}", (Value(model.p_serv, printed, 10),)))
    for target in (0.5, 0.9, 0.95):
        model = limits(
            "fixed:1", arrival_rate=ARRIVALS, service_rate=SERVICE, limit_rate=LIMIT, target=target
        )
        printed = target / (1 - target) / SERVICE
        rows.append((f"z_cr for P_cr = {target:g}", (Value(model.critical_limit, printed, 7),)))
    title = "requests served whole, and the critical limit"
    return PrintedTable("Examples 4, 5, (44), (45), (48)", title, ("", "value"), tuple(rows))


def served_figures() -> tuple[PrintedFigure, ...]:
    """Figures 3 and 4: P_serv against the mean limit for x̄ = 1, k = 1, 3, 5."""
    one = _model("fixed:1", 1.0)
    laws = [f"fixed:{k}" for k in FIGURE_4[1:]]
    return (
        PrintedFigure("Figure 3", "requests without subrequests", partial(one.plot, "p_serv")),
        PrintedFigure("Figure 4", "k = 1, 3, 5", partial(one.plot, "p_serv", widths=laws)),
    )


def _on_log(log: Workload) -> Chapter:
    found = limits(log)
    assert found.estimates is not None
    rows = (
        ("requests an hour", (Value(3600 * found.arrival_rate, None, 3),)),
        ("mean service time 1/μ, s", (Value(1 / found.service_rate, None, 1),)),
        ("mean limit z, s", (Value(found.limit.mean, None, 1),)),
        ("mean busy servers (34)", (Value(found.mean_busy, None, 2),)),
        ("P_serv (41)", (Value(found.p_serv, None, 4),)),
    )
    table = PrintedTable("On a log", "the model with the log's rates", ("", "value"), rows)
    return Chapter(
        "On a log", (table, PrintedFigure("On a log, states", "busy servers", found.plot))
    )
