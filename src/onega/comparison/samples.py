"""Samples of models, each measured and set beside a log: the tasks behind tables of models.

A task is one sample: drawn at an rng path of its own, measured, compared. So tasks can be done in
any order, on threads, processes or other machines (`Run`), with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from numpy.random import SeedSequence

from onega.comparison.compare import Comparison, Side
from onega.comparison.privacy import privacy
from onega.core.errors import OnegaError
from onega.core.rng import Rng, child
from onega.core.workload.workload import Workload


class Sampler(Protocol):
    """Something that draws workloads: a fitted model, a bootstrap."""

    def sample(self, n: int, *, rng: Rng = None) -> Workload:
        """Draw about n jobs."""
        ...


class Family(Protocol):
    """Something that makes a `Sampler` of a log: a class of models."""

    def fit(self, workload: Workload, *, rng: Rng = None) -> Sampler:
        """Learn from a log."""
        ...


Samples = Sampler | Sequence[Workload]
"""Where samples come from: drawn, or given as they are (traces that others have published)."""


class Run(Protocol):
    """How tasks are done: `onega.experiment.workers.workers.run_all` is one way."""

    def __call__(
        self,
        function: Callable[..., Any],
        items: Iterable[Any],
        *,
        shared: Any,  # noqa: ANN401
        progress: Callable[[int], None] | None = None,
    ) -> list[Any]:
        """Return ``function(item, shared)`` of all items, in order."""
        ...


def in_turn(
    function: Callable[..., Any],
    items: Iterable[Any],
    *,
    shared: Any,  # noqa: ANN401
    progress: Callable[[int], None] | None = None,
) -> list[Any]:
    """Do one task after the other; ``progress`` is called with the number that is done."""
    values = []
    for item in items:
        values.append(function(item, shared))
        if progress is not None:
            progress(len(values))
    return values


class Task(NamedTuple):
    """Replicate k of a model, whose random numbers are those of path (stream, k)."""

    model: str
    stream: int
    k: int


@dataclass(frozen=True, eq=False)
class Bench:
    """What all tasks of one log share.

    Attributes
    ----------
    workload, real
        What samples are compared with, and its figures.
    samples
        Where each model's samples come from.
    size
        Jobs in a sample that is drawn.
    seed
        Root of the rng paths.
    waits, copies
        As `compare` takes them (``privacy``).
    examples
        Whether first replicates are kept whole, for figures.
    """

    workload: Workload
    real: Side
    samples: Mapping[str, Samples]
    size: int
    seed: SeedSequence
    waits: bool = False
    copies: bool = False
    examples: bool = True

    def tasks(self, replicates: int, streams: Mapping[str, int]) -> list[Task]:
        """Return all tasks; samples that are given are so many as there are."""
        return [
            Task(name, streams[name], k)
            for name, source in self.samples.items()
            for k in range(len(source) if isinstance(source, Sequence) else replicates)
        ]


@dataclass(frozen=True, eq=False)
class Measured:
    """What one task gave: figures, or why there are none."""

    task: Task
    figures: dict[str, float] = field(default_factory=dict)
    example: Comparison | None = None
    error: OnegaError | None = None


def measure(task: Task, bench: Bench) -> Measured:
    """Draw a sample and compare it with the log."""
    try:
        drawn = _drawn(task, bench)
        found = privacy(bench.workload, drawn) if bench.copies else None
        one = Comparison(bench.real, Side.of(drawn, waits=bench.waits), found)
        figures = {key: float(value) for key, value in one.summary().items()}
    except OnegaError as error:
        return Measured(task, error=error)
    return Measured(task, figures, one if bench.examples and task.k == 0 else None)


def _drawn(task: Task, bench: Bench) -> Workload:
    source = bench.samples[task.model]
    if isinstance(source, Sequence):
        given = source[task.k]
        size = bench.workload.meta.procs  # the log's machine, whatever the trace says of its own
        return given if size is None else given.with_machine(size)
    return source.sample(bench.size, rng=child(bench.seed, task.stream, task.k))
