"""``onega compose``: one model out of the parts of several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import emit, emit_table, remark
from onega.cli.options import JsonOption, argument, option

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel


def _part(name: str, what: str) -> Any:  # noqa: ANN401
    return option(name, "MODEL.json", f"Take {what} from this model.")


def compose(
    *,
    profiles: Annotated[Path, argument("MODEL.json", "The model whose widths and run times.")],
    out: Annotated[Path, option("-o --out", "MODEL.json", "Where to write the model.")],
    arrivals: Annotated[Path | None, _part("--arrivals", "when jobs come")] = None,
    estimates: Annotated[Path | None, _part("--estimates", "what users request")] = None,
    users: Annotated[Path | None, _part("--users", "who submits")] = None,
    json: JsonOption = False,
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
