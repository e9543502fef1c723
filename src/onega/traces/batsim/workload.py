"""Batsim's workloads: JSON with jobs and the profiles of what they do; delays only.

``{"nb_res": 4, "jobs": [{"id": "1", "subtime": 10, "walltime": 100, "res": 4, "profile": "d"}],
"profiles": {"d": {"type": "delay", "delay": 20.25}}}``, as Batsim's documentation of workloads
describes it. A delay is a run time; what other profiles take depends on a platform.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import polars as pl

from onega.core.documents import first_problem, parse_json
from onega.core.errors import TraceError
from onega.core.files import StrPath
from onega.core.units import LONGEST
from onega.core.workload.meta import Meta
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.traces.files import Limits, whole
from onega.traces.notes import Notes
from onega.traces.slurm.jobs import SACCT

if TYPE_CHECKING:
    from onega.traces.batsim.schema import WorkloadFile

DELAYS: Final = ("delay", "DelayProfile")
"""The type of a delay: up to Batsim 4, and after."""

SAID: Final = ("job", "submit", "runtime", "procs", "estimate")
"""Columns of the job table that a workload of Batsim has."""

BLOCK: Final = 10_000
"""Jobs that are written at a time."""

Refuse = Callable[[str], TraceError]


def looks_like_batsim(start: bytes) -> bool:
    """Recognise a JSON object with jobs or profiles."""
    return start.lstrip()[:1] == b"{" and re.search(rb'"(jobs|profiles)"\s*:', start) is not None


def read_batsim(path: StrPath, limits: Limits, **ignored: Any) -> Workload:  # noqa: ANN401
    """Read a workload of Batsim: delays are run times, walltimes estimates."""

    def refuse(message: str) -> TraceError:
        return TraceError(message, path=path)

    file = _checked(parse_json(whole(path, limits), refuse), refuse)
    if not file.jobs:
        raise refuse("holds no jobs")
    profiles = [str(job.profile) for job in file.jobs]
    delay = {name: _delay(name, file.profiles, refuse) for name in dict.fromkeys(profiles)}
    notes = Notes()
    table = pl.DataFrame(
        {
            "job": pl.Series(_ids([str(job.id) for job in file.jobs], notes), dtype=pl.Int64),
            "submit": pl.Series([job.subtime for job in file.jobs], dtype=pl.Float64),
            "runtime": pl.Series([delay[name] for name in profiles], dtype=pl.Float64),
            "procs": pl.Series([job.res for job in file.jobs], dtype=pl.Int64),
            "estimate": pl.Series([job.walltime for job in file.jobs], dtype=pl.Float64),
        }
    )
    # Batsim takes −1 for a job without a limit.
    limit = pl.when(pl.col("estimate") >= 0).then(pl.col("estimate"))
    name = Path(path).name
    meta = Meta(
        source=name,
        format="batsim",
        procs=file.nb_res,
        provenance=(f"read from {name} (batsim)",),
        report=notes.report(),
    )
    return Workload(table.with_columns(limit.alias("estimate")), meta)


def _checked(found: object, refuse: Refuse) -> WorkloadFile:
    from pydantic import ValidationError

    from onega.traces.batsim.schema import WorkloadFile

    if isinstance(found, dict) and "profiles" not in found and _of_slurm(found.get("jobs")):
        raise refuse(f"is JSON of Slurm's, which isn't read; print a table instead: {SACCT}")
    try:
        return WorkloadFile.model_validate(found)
    except ValidationError as error:
        raise refuse(f"is no workload of Batsim: {first_problem(error)}") from None


def _of_slurm(jobs: object) -> bool:
    """Recognise the jobs of ``sacct --json`` and ``squeue --json``."""
    return isinstance(jobs, list) and any(isinstance(job, dict) and "job_id" in job for job in jobs)


def _delay(name: str, profiles: Mapping[str, Mapping[str, Any]], refuse: Refuse) -> float:
    """Return the seconds of a profile; refuse one that isn't there, or is no delay."""
    if name not in profiles:
        raise refuse(f"a job has the profile {name!r}, which isn't among the profiles")
    kind, delay = profiles[name].get("type"), profiles[name].get("delay")
    if kind not in DELAYS:
        raise refuse(
            f"profile {name!r} is of type {kind!r}, and what it takes depends on a platform; only "
            "delays are read"
        )
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= LONGEST:
        raise refuse(f"profile {name!r}: a delay is from 0 to {LONGEST:g} seconds, got {delay!r}")
    return float(delay)


def _ids(given: list[str], notes: Notes) -> list[int]:
    """Keep ids that are whole numbers; else number the jobs in their order, and say so."""
    bare = [text.rpartition("!")[2] for text in given]  # w0!5 is job 5 of the workload w0
    if all(re.fullmatch("[0-9]{1,18}", text) for text in bare) and len(set(bare)) == len(bare):
        return [int(text) for text in bare]
    why = "ids aren't different whole numbers: jobs are numbered from 1 in the order of the file"
    rows = [{"job": number, "id": text} for number, text in enumerate(given[:5], start=1)]
    notes.add("ids_numbered", "changed", why, count=len(given), examples=rows)
    return list(range(1, len(given) + 1))


def write_batsim(workload: Workload, out: IO[bytes]) -> Report:
    """Write a workload of Batsim, a delay for each run time; return what it couldn't say."""
    notes = Notes()
    table = _writable(workload, notes)
    widest = 0 if table.is_empty() else int(table["procs"].max())  # type: ignore[arg-type]
    resources = workload.meta.procs or max(widest, 1)
    if workload.meta.procs is None:
        why = f"the machine's size isn't known; nb_res is that of the widest job, {resources}"
        notes.add("size_from_jobs", "noted", why, count=1)
    delays = table["runtime"].unique(maintain_order=True).to_list()
    profiles = {_profile(delay): {"type": DELAYS[0], "delay": delay} for delay in delays}
    out.write(f'{{"nb_res": {resources},\n"profiles": {json.dumps(profiles)},\n'.encode())
    out.write(b'"jobs": [')
    for number, block in enumerate(table.iter_slices(BLOCK)):
        rows = ",\n".join(json.dumps(_job(row)) for row in block.iter_rows(named=True))
        out.write((",\n" if number else "\n").encode() + rows.encode())
    out.write(b"\n]}\n")
    return notes.report()


def _writable(workload: Workload, notes: Notes) -> pl.DataFrame:
    """Leave out jobs that Batsim can't have, and note what of the others it has no place for."""
    table = workload.table
    usable = (pl.col("procs") > 0) & (pl.col("runtime") >= 0) & (pl.col("submit") >= 0)
    gone = table.filter(~usable.fill_null(value=False))
    why = "jobs without a width or a run time, or from before the log's epoch, were left out"
    notes.add_rows("not_for_batsim", "dropped", why, gone)
    lost = [name for name in table.columns if name not in SAID and workload.has(name)]
    why = f"a workload of Batsim has no place for {', '.join(lost)}"
    notes.add("columns_left_out", "noted", why, count=len(lost))
    if workload.meta.epoch is not None:
        why = "a workload of Batsim doesn't say when its time 0 is"
        notes.add("epoch_left_out", "noted", why, count=1)
    return table.filter(usable.fill_null(value=False)).select(SAID)


def _profile(delay: float) -> str:
    return f"delay{delay!r}"


def _job(row: Mapping[str, Any]) -> dict[str, Any]:
    job = {
        "id": str(row["job"]),
        "subtime": row["submit"],
        "res": row["procs"],
        "profile": _profile(row["runtime"]),
    }
    return job if row["estimate"] is None else job | {"walltime": row["estimate"]}
