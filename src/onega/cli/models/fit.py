"""``onega fit``: learn a workload model from a log."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from onega.cli.console import emit, emit_table, progress, remark
from onega.cli.options import (
    JsonOption,
    ProcsOption,
    ReadOptions,
    SeedOption,
    TraceArgument,
    argument,
    option,
)
from onega.core.errors import ModelError, suggest
from onega.models import MODELS

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel


def fit(
    *,
    model: Annotated[str, argument("MODEL", f"One of {', '.join(MODELS)}.")],
    trace: TraceArgument,
    out: Annotated[Path, option("-o --out", "MODEL.json", "Where to write the model.")],
    option: Annotated[
        list[str] | None,
        option(
            "--option -O",
            "NAME=VALUE",
            "An option of the model: within=observed, arrivals=poisson, cycle=none, "
            "estimates=tsafrir.",
        ),
    ] = None,
    seed: SeedOption = None,
    procs: ProcsOption = None,
    json: JsonOption = False,
    reading: ReadOptions,
) -> None:
    """Learn a workload model from a log and write its parameters as JSON."""
    import polars as pl

    if model not in MODELS:
        raise ModelError(f"no model {model!r}; {suggest(model, MODELS)}")
    options = parse_options(option or [])
    log = reading.read(trace, procs=procs)
    usable = log.select((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    if len(usable) < len(log):
        left_out = f"{len(log) - len(usable)} of {len(log)} jobs"
        remark(f"left out {left_out} without a positive width or run time")
    with progress(f"fitting {model}"):
        fitted = MODELS[model].fit(log, rng=seed, **options)
    fitted.save(out)
    emit(fitted, partial(_parameters, out=out), json=json)


def _parameters(fitted: WorkloadModel, out: Path) -> None:
    emit_table(f"{fitted.KIND}: {fitted.TITLE}", fitted.summary().items(), ("parameter", "value"))
    remark(f"written to {out}; draw jobs with: onega sample {out} -n 10000 -o jobs.swf")


def parse_options(words: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs; values are numbers where they look like one."""
    options: dict[str, Any] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise ModelError(f"--option takes NAME=VALUE, e.g. within=observed; got {word!r}")
        options[name.replace("-", "_")] = _value(value)
    return options


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
