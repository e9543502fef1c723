"""``onega sample``: draw jobs from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onega.cli.console import emit_json, remark
from onega.cli.options import JsonOption, ProcsOption, SeedOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="sample")(sample)


def sample(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL.json", help="A model that onega fit wrote.")
    ],
    jobs: Annotated[
        int, typer.Option("-n", "--jobs", metavar="JOBS", min=1, help="How many jobs to draw.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="OUT.swf", help="Where to write them.")
    ],
    seed: SeedOption = None,
    load: Annotated[
        float | None,
        typer.Option(
            "--load", metavar="X", help="Offered load to reach: the rate changes, the days stay."
        ),
    ] = None,
    procs: ProcsOption = None,
    json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Draw jobs from a model and write them as a log, ready for `onega simulate`."""
    from onega.models.base import load as load_model
    from onega.traces.writing import write

    fitted = load_model(model)
    drawn = fitted.sample(jobs, rng=seed, load=load, machine=procs)
    write(drawn, out)
    for line in drawn.meta.provenance:
        remark(line)
    if json:
        area = float(drawn.column("procs").astype(float) @ drawn.column("runtime"))
        machine = drawn.meta.procs or 1
        span = drawn.span
        emit_json(
            {
                "model": fitted.KIND,
                "jobs": len(drawn),
                "procs": machine,
                "span": span,
                "load": area / (machine * span) if span > 0 else None,
                "out": str(out),
            }
        )
