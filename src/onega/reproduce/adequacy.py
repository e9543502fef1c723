"""``onega reproduce adequacy``: seed 004's Table I from two runs of one stream.

The runs are two logs with waits, or a folder that ``onega virtual --repeat`` has written. The
stream is also simulated under policies, so that the model's distance stands beside the real
system's distance from itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from onega.comparison.adequacy import Adequacy, adequacy, table_sizes
from onega.core.errors import SimulationError
from onega.core.workload import Workload
from onega.reproduce.printed_others import TABLE_I, TITLES
from onega.reproduce.result import Absent, Chapter, Reproduction, SeedFigure, SeedTable, Value

NAME = "adequacy"
POLICIES = ("fcfs", "easy", "conservative", "slurm")
RUNS = "run-*.swf"
ITSELF = "the system against itself"


def runs_in(folder: Path) -> tuple[Path, ...]:
    """Return the runs that ``onega virtual --repeat`` left in a folder."""
    found = sorted(folder.glob(RUNS), key=lambda path: (len(path.name), path.name))
    if len(found) < 2:
        raise SimulationError(
            f"{folder} has {len(found)} files {RUNS}, two are needed: "
            "`onega virtual STREAM --procs N --repeat 2 -o DIR` writes them"
        )
    return tuple(found)


def reproduce_adequacy(
    runs: Sequence[Workload],
    *,
    procs: int | None = None,
    policies: Sequence[str] = POLICIES,
    tolerance: float = 0.0,
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
    """
    if len(runs) < 2:
        raise SimulationError("the measure needs two runs of one stream (two logs with waits)")
    names = [run.meta.source or f"run {place}" for place, run in enumerate(runs, start=1)]
    pairs = {
        f"runs {a + 1} and {b + 1}": adequacy(runs[a], runs[b], tolerance=tolerance)
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
    elif policies:
        chapters.append(_model_chapter(runs, pairs, size or 0, (tuple(policies), progress)))
    return Reproduction(
        NAME,
        f"Reproduced: {TITLES[NAME]}",
        tuple(names),
        tuple(chapters),
        absent,
        ("P = √(Σ(V_i − v_i)²/n) of residence times, seconds (seed 004, (2)).",),
    )


def _self_chapter(pairs: dict[str, Adequacy]) -> Chapter:
    rows = []
    first = next(iter(pairs.values()))
    for size in table_sizes(first.jobs):
        printed = TABLE_I.get(size, (None, None))
        values: list[Value] = []
        for place, pair in enumerate(pairs.values()):
            found = pair.prefixes([size])[0]
            beside = printed if place == 0 else (None, None)
            values += [Value(found.P, beside[0], 1), Value(found.different, beside[1], 0)]
        rows.append((f"{size:,}", tuple(values)))
    columns = ["first jobs"]
    for name in pairs:
        more = f", {name}" if len(pairs) > 1 else ""
        columns += [f"P, s{more}", f"different waits{more}"]
    notes = (
        "The printed values are of another job manager (SUPPZ) and another stream: they are "
        "beside ours to be compared in kind. P depends on the load by two orders of magnitude, "
        "and grows along a stream where a queue builds up (docs/adequacy.md).",
    )
    table = SeedTable("Table I", "the system against itself", tuple(columns), tuple(rows), notes)
    along = SeedFigure("Table I, as a curve", "P along the stream", partial(first.plot, "along"))
    return Chapter("The reference value", (table, along))


def _model_chapter(
    runs: Sequence[Workload],
    pairs: dict[str, Adequacy],
    procs: int,
    asked: tuple[tuple[str, ...], Callable[[float], None] | None],
) -> Chapter:
    from onega.figures.seeds import measure_along
    from onega.simulation.simulate import simulate

    policies, progress = asked
    first = next(iter(pairs.values()))
    sizes = table_sizes(first.jobs)
    curves = {ITSELF: [p.P for p in first.prefixes(sizes)]}
    rows = [_row(ITSELF, curves[ITSELF], first)]
    for place, policy in enumerate(policies, start=1):
        model = simulate(runs[0], procs, policy)
        found = adequacy(runs[0], model)
        if not found.defined:
            raise SimulationError(f"{policy}: the measure is undefined: {found.reason}")
        curves[policy] = [p.P for p in found.prefixes(sizes)]
        rows.append(_row(policy, curves[policy], found))
        if progress is not None:
            progress(place / len(policies))
    columns = ("P in seconds, first jobs", *(f"{size:,}" for size in sizes), "mean wait, s")
    table = SeedTable("Models", "models beside the system's own repeatability", columns,
                      tuple(rows), (_verdict(pairs, curves),))  # fmt: skip
    figure = SeedFigure("Models, as curves", "P along the stream",
                        partial(measure_along, list(sizes), curves))  # fmt: skip
    return Chapter("Models beside it", (table, figure))


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
