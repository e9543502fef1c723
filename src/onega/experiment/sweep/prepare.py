"""Before a sweep begins: read what it reads, check what can be checked, and tell what it costs."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from onega.core.errors import ExperimentError, OnegaError, SimulationError
from onega.core.machine.overheads import Overheads
from onega.core.machine.settings.reading import read_settings
from onega.core.workload.report import Report
from onega.core.workload.workload import Workload
from onega.experiment.planning.targets import Measure
from onega.experiment.sweep.design import COLUMNS, Design, Run
from onega.experiment.sweep.policies import digests
from onega.experiment.sweep.run import GIVEN, Source, Sources, perform
from onega.experiment.sweep.spec import Spec, read_spec
from onega.models.base import WorkloadModel
from onega.models.base import load as load_model
from onega.traces.cleaning import simulable
from onega.traces.reading import read
from onega.traces.tables.named import read_events, read_table

CHECKED: Final = 1000
"""Runs whose machines are made beforehand, to find what can't be."""

PILOTS: Final = 6
"""Policies that a pilot run is made of."""

TRIES: Final = 10
"""Runs of a policy that are tried until one can be made."""

SHORT: Final = 5.0
"""Seconds below which a pilot run is made twice: the first one loads compiled code."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sweep that is ready to run.

    Attributes
    ----------
    design
        Its runs.
    sources
        What they read.
    reports
        Path → what was changed or left out while reading.
    impossible
        Of the first runs, those that can't be made, and why.
    """

    design: Design
    sources: Sources
    reports: Mapping[str, Report]
    impossible: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a sweep costs, from pilot runs.

    Attributes
    ----------
    runs
        How many there are.
    missing
        How many of them have to be made.
    seconds_per_run
        On one core: the mean over pilot runs, one for each of the first few policies.
    """

    runs: int
    missing: int
    seconds_per_run: float

    @property
    def core_seconds(self) -> float:
        """Seconds that one core would need."""
        return self.missing * self.seconds_per_run


def prepare(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    workload: Workload | WorkloadModel | None = None,
) -> Prepared:
    """Read a spec and everything that it names; refuse what can't become a run."""
    plan = read_spec(spec)
    jobs, reports, contents = _jobs(plan, workload)
    machines = {}
    for path in _paths(plan, "cluster"):
        machines[path] = read_settings(plan.folder / path)
        contents[path] = _digest(plan.folder / path)
    tables: dict[str, Any] = {}
    for key, reader in (("events", read_events), ("demands", read_table)):
        for path in _paths(plan, key):
            tables[path] = reader(plan.folder / path)
            contents[path] = _digest(plan.folder / path)
    for text in _paths(plan, "overheads"):
        tables[text] = _overheads(text, plan.folder)
        if os.path.isfile(plan.folder / text):
            contents[text] = _digest(plan.folder / text)
    design = Design(plan, contents | digests(plan.policies))
    measures = tuple(Measure.parse(one) for one in plan.measures)
    sources = Sources(jobs, machines, tables, measures, plan.policies)
    impossible = _impossible(design, sources)
    return Prepared(design, sources, reports, impossible)


def _overheads(text: str, folder: Path) -> Overheads | None:
    try:
        return Overheads.chosen(text, folder=folder)
    except SimulationError as error:
        raise ExperimentError(f"overheads: {error}") from None


def _paths(spec: Spec, key: str) -> Iterable[str]:
    return dict.fromkeys(spec.values(key))


def _jobs(
    spec: Spec, given: Workload | WorkloadModel | None
) -> tuple[dict[str, Source], dict[str, Report], dict[str, str]]:
    """Read logs and models; return them, what was left out of them, and digests."""
    jobs: dict[str, Source] = {}
    reports: dict[str, Report] = {}
    contents: dict[str, str] = {}
    columns = spec.read.get(COLUMNS)
    if isinstance(columns, str):
        contents[columns] = _digest(spec.folder / columns)
    for path in _paths(spec, "trace"):
        file = spec.folder / path
        log = read(file, **_options(spec))
        jobs[path], left_out = simulable(log)
        reports[path] = log.meta.report + left_out
        contents[path] = _digest(file)
    for path in _paths(spec, "model"):
        jobs[path] = load_model(spec.folder / path)
        contents[path] = _digest(spec.folder / path)
    if given is not None:
        if jobs:
            raise ExperimentError(
                f"the jobs are given twice: as workload= and as {next(iter(jobs))!r} in the spec"
            )
        contents[GIVEN] = _digest_of(given)
        jobs[GIVEN], reports[GIVEN] = (
            simulable(given) if isinstance(given, Workload) else (given, Report())
        )
    if not jobs:
        raise ExperimentError(
            'there are no jobs: write trace = "LOG.swf" or model = "MODEL.json" into [fixed]'
        )
    return jobs, reports, contents


def _options(spec: Spec) -> dict[str, Any]:
    """Return how logs are read; a column map in a file is beside the spec."""
    options = dict(spec.read)
    if isinstance(options.get(COLUMNS), str):
        options[COLUMNS] = spec.folder / options[COLUMNS]
    return options


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_of(given: Workload | WorkloadModel) -> str:
    if isinstance(given, WorkloadModel):
        return hashlib.sha256(given.to_json().encode()).hexdigest()
    buffer = io.BytesIO()
    given.table.rechunk().write_ipc(buffer, compression="uncompressed")
    digest = hashlib.sha256(buffer.getbuffer())
    digest.update(repr(given.meta.facts()).encode())
    return digest.hexdigest()


def _impossible(design: Design, sources: Sources) -> tuple[str, ...]:
    """Make the machines of the first runs; refuse the sweep if none can be made."""
    found = []
    looked = 0
    for run in islice(design, CHECKED):
        looked += 1
        try:
            sources.cluster(run.parameters)
        except (OnegaError, ValueError) as error:
            found.append(str(error))
    if found and len(found) == looked:
        raise ExperimentError(f"no run can be made: {found[0]}")
    return tuple(found)


def estimate(plan: Prepared, *, finished: Iterable[str] = ()) -> Estimate:
    """Tell how many runs there are, and how long one takes, by pilot runs."""
    there = set(finished)
    wanted = set(list(dict.fromkeys(plan.design.spec.values("policy")))[:PILOTS]) or {None}
    missing: set[str] = set()
    pilots: dict[Any, list[Run]] = {}
    for run in plan.design:
        policy = run.parameters.get("policy")
        if policy in wanted and len(pilots.setdefault(policy, [])) < TRIES:
            pilots[policy].append(run)
        if run.key not in there:
            missing.add(run.key)
    took = [_seconds(runs, plan.sources) for runs in pilots.values()]
    return Estimate(len(plan.design), len(missing), sum(took) / len(took))


def _seconds(runs: list[Run], sources: Sources) -> float:
    """Measure the first run that can be made; a short one again: the first loads compiled code."""
    seconds = 0.0
    for run in runs:
        found = perform(run, sources)
        seconds = found.seconds
        if found.error is None:
            return seconds if seconds > SHORT else perform(run, sources).seconds
    return seconds
