"""``onega feedback``: do users react to the queue they see."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from onega.cli.console import FigurePage, emit, emit_table, out, progress, remark_report
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    figures_option,
    flag,
    option,
)
from onega.core.errors import ExperimentError
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.experiment.users.feedback import Feedback
    from onega.experiment.users.regulation import Regulation


def feedback(
    *,
    trace: TraceArgument,
    hours: Annotated[
        str | None, option("--hours", "A-B", "Only this time of the day: 13-16.")
    ] = None,
    permutations: Annotated[
        int, option("--permutations", "N", "How often chance is tried.", min=0)
    ] = 499,
    level: Annotated[float, option("--level", "P", "Error rate over all eight groups.")] = 0.05,
    regulation: Annotated[
        bool,
        flag(
            "--regulation",
            "Instead: waits with users moved against one another, over the log's own.",
        ),
    ] = False,
    draws: Annotated[
        int, option("--draws", "N", "With --regulation: of each surrogate.", min=2)
    ] = 8,
    policy: Annotated[str, option("--policy", "P", "With --regulation: fcfs, easy, …")] = "easy",
    figures: Annotated[Path | None, figures_option("feedback")] = None,
    procs: ProcsOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Find out from a log with waits how users react to the queue, and what is chance.

    With ``--regulation``, how much they regulate one another through the machine; no waits needed.
    """
    from onega.experiment.users import feedback as module

    frame = _frame(hours)
    log = reading.read(trace, procs=procs)
    if regulation:
        _regulation(log, policy, draws, seed, json=json)
        return
    with progress("feedback"):
        result = module.feedback(
            log, hours=frame, permutations=permutations, significance=level, rng=seed
        )
    remark_report(result.report)
    page = FigurePage(figures, "feedback", "Feedback", result)
    emit(result, _reactions, json=json, figures=page)


def _regulation(log: Workload, policy: str, draws: int, seed: int | None, *, json: bool) -> None:
    from onega.experiment.users.regulation import regulation
    from onega.traces.cleaning import simulable

    usable, left_out = simulable(log)
    remark_report(left_out)
    with progress("regulation"):
        result = regulation(usable, policy=policy, draws=draws, rng=seed)
    emit(result, partial(_surrogates, draws=draws), json=json)


def _surrogates(result: Regulation, draws: int) -> None:
    rows = [
        (row["surrogate"], f"{row['ratio']:.2f}", f"{row['low']:.2f}–{row['high']:.2f}",
         f"{row['least']:.2f}–{row['most']:.2f}", row["destroys"])
        for row in result.to_polars().to_dicts()
    ]  # fmt: skip
    title = f"Mean wait over the log's own ({humanise_seconds(result.wait)}), {draws} draws each"
    emit_table(title, rows, ("surrogate", "ratio", "95 % interval", "draws", "what it destroys"))
    if result.within is not None:
        out().print(
            "Users moved by any number of weeks wait as long as the log's if they wait for results "
            f"of the last {humanise_seconds(result.within)} before they go on."
        )


def _frame(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    begin, sign, end = text.partition("-")
    if not (sign and all(re.fullmatch("[0-9]{1,2}", one.strip()) for one in (begin, end))):
        raise ExperimentError(f"--hours takes two hours of the day, e.g. 13-16; got {text!r}")
    return int(begin), int(end)


def _reactions(result: Feedback) -> None:
    rows = [
        (
            row["group"],
            row["users"],
            f"{row['share']:.1%}",
            row["evidence"],
            f"{row['by_chance']:.1%}",
            row["p_permuted"],
            row["p_shifted"],
            row["survives"],
        )
        for row in result.to_polars().to_dicts()
    ]
    title = f"Reactions of {result.users.size} users with at least 50 jobs"
    heads = ("group", "users", "jobs", "evidence", "by chance", "p", "p shifted", "survives")
    emit_table(title, rows, heads)
    out().print(
        "W: jobs waiting, O: processors busy; R: run time, P: width. WR-: users who submit shorter "
        "jobs the more jobs wait. Evidence: more than 20 % of all submissions. p: adjusted for "
        "eight groups (Holm), what users saw exchanged within user and hour, or shifted there; if "
        f"no user reacted, any group would survive with probability {result.level:g} at most."
    )
