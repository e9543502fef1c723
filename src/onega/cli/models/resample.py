"""``onega resample``: another log like this one, from its own weeks or users."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from onega.cli.console import emit, remark
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    option,
)


def resample(
    *,
    trace: TraceArgument,
    out: Annotated[Path, option("-o --out", "OUT.swf", "Where to write the jobs.")],
    by: Annotated[str, option("--by", "WHAT", "What is drawn anew: weeks or users.")] = "weeks",
    load: Annotated[float | None, option("--load", "X", "Multiply the log's load by this.")] = None,
    seed: SeedOption = None,
    procs: ProcsOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Draw a log like this one, with replacement, from its own weeks or users (a bootstrap)."""
    from onega.experiment.replicates.resampling import resample as draw
    from onega.traces.writing import write

    drawn = draw(reading.read(trace, procs=procs), by, rng=seed, load=load)  # type: ignore[arg-type]
    write(drawn, out)
    remark(drawn.meta.provenance[-1])
    emit({"by": by, "jobs": len(drawn), "span": drawn.span, "out": str(out)}, json=json)
