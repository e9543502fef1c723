"""``onega reproduce adequacy``: Baranov et al.'s (2019) Table I from two runs of one stream.

The runs are two logs with waits, or a folder that ``onega virtual --repeat`` has written. The
stream is also simulated under policies, so that the model's distance stands beside the real
system's distance from itself; with a folder without and with the overheads that were measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from onega.comparison.adequacy.adequacy import SAME, Adequacy, adequacy, prefix_rows, table_sizes
from onega.comparison.adequacy.experiment import (
    LAWS,
    REAL,
    REPORT,
    RUNS,
    STREAM,
    RealRuns,
    compare_with_models,
    run_files,
)
from onega.core.errors import SimulationError
from onega.core.machine.overheads import Overheads
from onega.core.policy import SLURM, Policy
from onega.core.rng import Rng
from onega.core.slurm.parameters import SlurmParameters
from onega.core.workload.workload import Workload
from onega.reproduce.printed_others import TABLE_I, TITLES
from onega.reproduce.result import Absent, Chapter, PrintedFigure, PrintedTable, Reproduction, Value
from onega.simulation.simulate import simulate

NAME = "adequacy"
POLICIES = ("fcfs", "easy", "conservative", "slurm")
DRAWS = 20
ITSELF = "the system against itself"


def runs_in(folder: Path) -> tuple[Path, ...]:
    """Return the runs that ``onega virtual --repeat`` left in a folder."""
    found = run_files(folder)
    if len(found) < 2:
        raise SimulationError(
            f"{folder} has {len(found)} files {RUNS}, two are needed: "
            "`onega virtual STREAM --procs N --repeat 2 -o DIR` writes them"
        )
    return tuple(found)


def real_runs_in(folder: Path, overheads: Overheads | None = None) -> RealRuns | None:
    """Return the runs with their stream, settings and overheads, if the folder has them.

    ``overheads`` are taken instead of the folder's. A report without the rest is refused.
    """
    if not (folder / REPORT).is_file():
        return None
    for name in (STREAM,) if overheads else (STREAM, LAWS):
        if not (folder / name).is_file():
            raise SimulationError(
                f"{folder} lacks {name}, which `onega virtual` wrote beside {REPORT}; give "
                "--overheads FILE|LAWS for other overheads, or name the runs one by one"
            )
    return RealRuns.read(folder, overheads)


def reproduce_adequacy(
    runs: Sequence[Workload],
    *,
    procs: int | None = None,
    policies: Sequence[str] = POLICIES,
    tolerance: float = 0.0,
    same_within: float = SAME,
    slurm: SlurmParameters | None = None,
    real: RealRuns | None = None,
    draws: int = DRAWS,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Make Table I from the runs of one stream, and set models beside it.

    Parameters
    ----------
    runs
        At least two logs with waits of one and the same stream; the first is "the real system".
    procs
        The machine, for the models; the first log's by default.
    policies
        What the stream is simulated under; none: no models.
    tolerance
        Seconds by which the submit times of two runs may differ.
    same_within
        Seconds by which two waits may differ and still count as the same.
    slurm
        Settings of the scheduler that made the runs, for the model ``slurm``; stock if None.
    real
        The same runs with their stream and overheads: then models are simulated on the stream,
        without and with overheads, and stand beside all runs.
    draws, rng
        Simulations with overheads of each model, and their seed.
    """
    if len(runs) < 2:
        raise SimulationError("the measure needs two runs of one stream (two logs with waits)")
    names = [run.meta.source or f"run {place}" for place, run in enumerate(runs, start=1)]
    pairs = {
        f"runs {a + 1} and {b + 1}": adequacy(
            runs[a], runs[b], tolerance=tolerance, same_within=same_within
        )
        for a, b in itertools.combinations(range(len(runs)), 2)
    }
    first = next(iter(pairs.values()))
    if not first.defined:
        raise SimulationError(f"the measure is undefined: {first.reason}")
    chapters = [_self_chapter(pairs)]
    size = procs or runs[0].meta.procs
    absent: tuple[Absent, ...] = ()
    if policies and size is None:
        absent = (
            Absent("models beside it", "the logs don't say how large the machine is: --procs"),
        )
    elif policies and real is not None:
        chapters.append(_overheads_chapter(real, policies, draws, rng))
    elif policies:
        rules = dict(_with_settings(name, slurm) for name in policies)
        chapters.append(_model_chapter(runs, pairs, size or 0, (rules, progress)))
    return Reproduction(
        NAME,
        f"Reproduced: {TITLES[NAME]}",
        tuple(names),
        tuple(chapters),
        absent,
        ("P = √(Σ(V_i − v_i)²/n) of residence times, seconds (Baranov et al. 2019, (2)).",),
    )


def _with_settings(name: str, slurm: SlurmParameters | None) -> tuple[str, Policy]:
    """Read a policy; ``slurm`` alone takes the settings that the runs had, and says so."""
    policy = Policy.parse(name)
    if policy.order != SLURM or ":" in name or slurm is None:
        return name, policy
    policy = replace(policy, slurm=slurm)
    return str(policy), policy


def _self_chapter(pairs: dict[str, Adequacy]) -> Chapter:
    """Make Table I: of two runs as printed; of more the mean over all pairs, least and most."""
    rows = []
    first = next(iter(pairs.values()))
    for row in prefix_rows(list(pairs.values())):
        distance, different = TABLE_I.get(int(row["jobs"]), (None, None))
        values = [Value(row["P"], distance, 1)]
        if len(pairs) > 1:
            values += [Value(row["P_min"], None, 1), Value(row["P_max"], None, 1)]
        values.append(Value(row["different"], different, 0))
        rows.append((f"{row['jobs']:,}", tuple(values)))
    spread = ("least", "most") if len(pairs) > 1 else ()
    columns = ("first jobs", "P, s", *spread, "different waits")
    notes = (
        "The printed values are of another job manager (SUPPZ) and another stream: they are "
        "beside ours to be compared in kind. P depends on the load by two orders of magnitude, "
        "and grows along a stream where a queue builds up (docs/adequacy.md).",
    )
    table = PrintedTable("Table I", "the system against itself", columns, tuple(rows), notes)
    along = PrintedFigure("Table I, as a curve", "P along the stream", partial(first.plot, "along"))
    return Chapter("The reference value", (table, along))


def _model_chapter(
    runs: Sequence[Workload],
    pairs: dict[str, Adequacy],
    procs: int,
    asked: tuple[dict[str, Policy], Callable[[float], None] | None],
) -> Chapter:
    from onega.figures.papers import measure_along

    policies, progress = asked
    first = next(iter(pairs.values()))
    sizes = table_sizes(first.jobs)
    curves = {ITSELF: [p.P for p in first.prefixes(sizes)]}
    rows = [_row(ITSELF, curves[ITSELF], first)]
    for place, (name, rule) in enumerate(policies.items(), start=1):
        model = simulate(runs[0], procs, rule)
        found = adequacy(runs[0], model)
        if not found.defined:
            raise SimulationError(f"{name}: the measure is undefined: {found.reason}")
        curves[name] = [p.P for p in found.prefixes(sizes)]
        rows.append(_row(name, curves[name], found))
        if progress is not None:
            progress(place / len(policies))
    columns = ("P in seconds, first jobs", *(f"{size:,}" for size in sizes), "mean wait, s")
    table = PrintedTable("Models", "models beside the system's own repeatability", columns,
                      tuple(rows), (_verdict(pairs, curves),))  # fmt: skip
    figure = PrintedFigure("Models, as curves", "P along the stream",
                        partial(measure_along, list(sizes), curves))  # fmt: skip
    return Chapter("Models beside it", (table, figure))


def _overheads_chapter(real: RealRuns, policies: Sequence[str], draws: int, rng: Rng) -> Chapter:
    """Set models on the stream, without and with overheads, beside all real runs."""
    table = compare_with_models(real, policies, draws=draws, rng=rng)
    ideal = float(np.mean(table.ideal))
    wait = float(np.mean([np.mean(log.column("wait")) for log in real.logs]))
    sizes = table_sizes(len(real.stream))
    rows = []
    for row in table.rows.iter_rows(named=True):
        itself = row["model"] == REAL
        mean_wait = wait if itself else row["mean_wait"]
        more = " with overheads" if row["overheads"] else ""
        values = (
            *(Value(row[f"P_{size}"]) for size in sizes),
            *(Value(row[name]) for name in ("P_median", "P_min", "P_max", "P_own")),
            Value(row["P"] / ideal if ideal else None),
            _between(row, "ratio", 1, 2),
            Value(mean_wait, None, 1),
            Value(100 * (mean_wait / wait - 1) if wait else None, None, 1),
            _between(row, "wait_error", 100, 1),
        )
        rows.append((ITSELF if itself else f"{row['model']}{more}", values))
    columns = (
        "P in seconds, first jobs", *(f"{size:,}" for size in sizes), "median", "least",
        "most", "among its draws", "ratio", "by chance", "mean wait, s", "off by, %",
        "by chance, %",
    )  # fmt: skip
    notes = (
        f"{len(real.logs)} real runs; P is the mean (of all jobs also the median) over them and, "
        f"where anything is random, over {draws} draws. The ratio is that to the system's own P; "
        "the error is that of the mean wait. By chance: where both are in nine cases of ten if so "
        "many draws stand for the real runs, which is if the model is exact.",
    )
    return Chapter(
        "Models beside it",
        (PrintedTable("Models", "models beside real runs", columns, tuple(rows), notes),),
    )


def _between(row: dict[str, Any], name: str, times: float, digits: int) -> Value:
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if low is None or high is None:
        return Value(None)
    return Value(f"{times * low:.{digits}f} … {times * high:.{digits}f}")


def _row(name: str, values: list[float], found: Adequacy) -> tuple[str, tuple[Value, ...]]:
    wait = found.summary()["mean_wait_model"]
    return name, (*(Value(value, None, 1) for value in values), Value(wait, None, 0))


def _verdict(pairs: dict[str, Adequacy], curves: dict[str, list[float]]) -> str:
    ideal = [pair.P for pair in pairs.values()]
    highest = max(ideal)
    models = {name: values[-1] for name, values in curves.items() if name != ITSELF}
    good = [name for name, value in models.items() if value <= highest]
    told = f"P_ideal is {min(ideal):.4g} s" if len(ideal) == 1 else (
        f"P_ideal is {min(ideal):.4g} to {highest:.4g} s over {len(ideal)} pairs")  # fmt: skip
    if good:
        return f"{told}; no further from the system than that: {', '.join(good)}."
    best = min(models, key=lambda name: models[name])
    return f"{told}; the nearest model is {best} with {models[best]:.4g} s."
