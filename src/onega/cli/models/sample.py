"""``onega sample``: draw jobs from a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onega.cli.console import emit_json, remark
from onega.cli.options import JsonOption, ProcsOption, SeedOption
from onega.core.errors import ModelError

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="sample")(sample)


def sample(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="A file that onega fit wrote; or lublin, as it was published."
        ),
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
    from onega.traces.writing import write

    fitted = _model(model)
    drawn = fitted.sample(jobs, rng=seed, load=load, cluster=procs)
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


def _model(given: Path) -> WorkloadModel:
    """Return a model from its file, or the one that was published with its parameters."""
    from onega.models import MODELS
    from onega.models.base import load
    from onega.models.published.lublin import Lublin

    if given.exists() or str(given) not in MODELS:
        return load(given)
    if str(given) == Lublin.KIND:
        return Lublin()
    raise ModelError(
        f"the parameters of {given} come from a log: onega fit {given} LOG -o model.json"
    )
