"""``onega sample``: draw jobs from a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from onega.cli.console import emit, remark
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    argument,
    flag,
    option,
)
from onega.core.errors import ModelError, suggest
from onega.core.rng import child

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.models.base import WorkloadModel

UNIQUE = ("avoid", "keep")


def sample(
    *,
    model: Annotated[
        Path,
        argument("MODEL", "A file that onega fit wrote; or lublin, as it was published."),
    ],
    jobs: Annotated[int, option("-n --jobs", "JOBS", "How many jobs to draw.", min=1)],
    out: Annotated[Path, option("-o --out", "OUT.swf", "Where to write them.")],
    seed: SeedOption = None,
    load: Annotated[
        float | None,
        option("--load", "X", "Offered load to reach: the rate changes, the days stay."),
    ] = None,
    procs: ProcsOption = None,
    private: Annotated[
        bool,
        flag("--private", "MODEL is a log: fit it under differential privacy and draw from that."),
    ] = False,
    epsilon: Annotated[float, option("--epsilon", "E", "ε of --private, by job.")] = 1.0,
    unique: Annotated[
        str,
        option(
            "--unique",
            "WHAT",
            "Of --private LOG: avoid records that only one user has (by seconds; this looks "
            "at the log, so that ε holds for the model only), or keep chance hits.",
        ),
    ] = "avoid",
    json: JsonOption = False,
) -> None:
    """Draw jobs from a model and write them as a log, ready for `onega simulate`."""
    from onega.traces.writing import write

    if unique not in UNIQUE:
        raise ModelError(f"no --unique {unique!r}; {suggest(unique, UNIQUE)}")
    if private:
        fitted, log = _private(model, epsilon, procs, seed)
    else:
        fitted, log = _model(model), None
    drawn = fitted.sample(jobs, rng=seed, load=load, cluster=procs)
    if log is not None and unique == "avoid":
        from onega.models.private import avoid_single_users

        drawn = avoid_single_users(drawn, log, rng=child(seed, 9))
    write(drawn, out)
    for line in drawn.meta.provenance:
        remark(line)
    area = float(drawn.column("procs").astype(float) @ drawn.column("runtime"))
    machine = drawn.meta.procs or 1
    span = drawn.span
    numbers = {
        "model": fitted.KIND,
        "jobs": len(drawn),
        "procs": machine,
        "span": span,
        "load": area / (machine * span) if span > 0 else None,
        "out": str(out),
    }
    emit(numbers, json=json)


def _private(
    given: Path, epsilon: float, procs: int | None, seed: int | None
) -> tuple[WorkloadModel, Workload | None]:
    """Fit a log under differential privacy, and return both; a model of that kind as it is."""
    from onega.models.base import load
    from onega.models.private import Private

    if given.suffix == ".json":
        found = load(given)
        if isinstance(found, Private):
            return found, None
        raise ModelError(
            f"{given} is a {found.KIND} model, whose parameters hold values of its log; "
            "--private takes the log itself, or a model of onega fit private"
        )
    # The noise must not be the sample's own numbers, nor known: a seed is for trying things out.
    noise = None if seed is None else seed + 1
    log = ReadOptions().read(given, procs=procs)
    return Private.fit(log, rng=noise, epsilon=epsilon), log


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
