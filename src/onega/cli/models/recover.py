"""``onega recover``: fill the estimates that a log lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from onega.cli.console import emit, remark
from onega.cli.options import JsonOption, ReadOptions, SeedOption, TraceArgument, option
from onega.core.errors import ModelError


def recover(
    *,
    trace: TraceArgument,
    out: Annotated[Path, option("-o --out", "OUT.swf", "Where to write the log.")],
    estimates: Annotated[
        str,
        option("--estimates", "LAW", "auto (the best fit), beta, gamma or tsafrir."),
    ] = "auto",
    learn: Annotated[
        Path | None,
        option("--learn-from", "LOG", "Another log to learn from; this one's by default."),
    ] = None,
    seed: SeedOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Fill the estimates that a log lacks, from those that it (or another log) has.

    Estimates that the log has stay as they are.
    """
    from onega.models.estimates.estimates import fit_estimates
    from onega.models.jobs.jobs import jobs_of
    from onega.traces.writing import write

    log = reading.read(trace)
    model = fit_estimates(jobs_of(log if learn is None else ReadOptions().read(learn)), estimates)
    if model is None:
        raise ModelError(
            f"{learn or trace} has fewer than 50 estimates to learn from; name a log that has some "
            "(--learn-from LOG)"
        )
    full = model.recover(log, rng=seed)
    write(full, out)
    remark(full.meta.provenance[-1])
    found = full.meta.report.count("recovered_estimate")
    numbers = {"estimates": model.KIND, "jobs": len(full), "recovered": found, "out": str(out)}
    emit(numbers, json=json)
