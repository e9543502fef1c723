"""``onega compose``: one model out of the parts of several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from onega.cli.console import emit, emit_table, remark
from onega.cli.options import JsonOption

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel


def _part(flag: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        flag, metavar="MODEL.json", help=f"Take {what} from this model."
    )
    return option


def compose(
    profiles: Annotated[
        Path, typer.Argument(metavar="MODEL.json", help="The model whose widths and run times.")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="MODEL.json", help="Where to write the model.")
    ],
    arrivals: Annotated[Path | None, _part("--arrivals", "when jobs come")] = None,
    estimates: Annotated[Path | None, _part("--estimates", "what users request")] = None,
    users: Annotated[Path | None, _part("--users", "who submits")] = None,
    json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Make one model of several: one log's jobs, another's arrivals, estimates or users."""
    from onega.models.base import load
    from onega.models.composition import compose as join

    parts = {"arrivals": arrivals, "estimates": estimates, "users": users}
    given = {name: load(path) for name, path in parts.items() if path is not None}
    made = join(profiles=load(profiles), **given)
    made.save(out)
    emit(made, _parameters, json=json)


def _parameters(made: WorkloadModel) -> None:
    emit_table(f"{made.KIND}: {made.TITLE}", made.summary().items(), ("parameter", "value"))
    remark(made.learnt)
