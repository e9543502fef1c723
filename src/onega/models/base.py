"""What every workload model is and does: parameters, `fit`, `sample`, `save`, `load`.

A family is a frozen dataclass of its parameters with two hooks: ``_fit`` (jobs → parameters) and
``_draw`` (n jobs' widths and run times). The base owns the rest: checking the log, arrivals, load,
estimates, the job table, JSON. "Not fitted" can't be expressed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator, SeedSequence

from onega.core.documents import parse_json
from onega.core.errors import ModelError, suggest
from onega.core.files import StrPath, write_text
from onega.core.machine.cluster import Cluster
from onega.core.plotting import Plottable
from onega.core.renamed import renamed
from onega.core.rng import Rng, child, describe_seed, generator, seed_sequence
from onega.core.threads import one_thread
from onega.core.types import Floats, Ints
from onega.core.workload.clock import MONDAY
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.models.arrivals.arrivals import Arrivals, Poisson
from onega.models.estimates.estimates import EstimateModel, fit_estimates
from onega.models.jobs.jobs import Jobs, jobs_of
from onega.models.jobs.size_cycle import SizeCycle
from onega.models.parts import BAD_PARAMETERS, Part, write_json
from onega.models.users.base import UserModel

MOST_JOBS = 200_000_000

SPAN_RANGE, SPAN_STEPS, SPAN_ERROR = 0.05, 40, 300.0
"""The span that a load asks for: how far it may lie from the first guess, how often that is halved
at most, and the seconds within which it need be known."""

SIZES = ("hourly", "none")
"""Accepted as ``sizes=``."""


class Drawn(NamedTuple):
    """What a family draws: widths and run times; gaps, users, estimates where it has its own."""

    procs: Floats
    runtime: Floats
    gaps: Floats | None = None
    user: Ints | None = None
    group: Ints | None = None
    estimate: Floats | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WorkloadModel(Plottable, Part):
    """A workload model: its parameters, and nothing else.

    Attributes
    ----------
    machine
        Processors of the machine it was learnt from; no job is wider.
    arrivals
        When jobs come; without gaps of its own in families that draw them (``OWN_GAPS``).
    estimates
        How long users think their jobs will run; None: sampled jobs have no estimate.
    users
        Who submits; None: sampled jobs have no user, unless the family has its own.
    sizes
        How widths and run times change with the hour and the weekday; None: they don't.
    learnt
        Where the parameters come from, in words.
    """

    FIGURES: ClassVar[str] = "models"
    TITLE: ClassVar[str]
    DEFAULT_GAPS: ClassVar[str] = "chain"
    OWN_GAPS: ClassVar[bool] = False
    HOURLY_SIZES: ClassVar[bool] = False
    machine: int = 128
    arrivals: Arrivals = field(default_factory=lambda: Arrivals(Poisson(600.0)))
    estimates: EstimateModel | None = None
    users: UserModel | None = None
    sizes: SizeCycle | None = None
    learnt: str = "given parameters"

    def __post_init__(self) -> None:
        if self.machine < 1:
            raise ModelError(f"{self.KIND}: machine must be at least 1, got {self.machine}")
        if self.arrivals.gaps is None and not self.OWN_GAPS:
            raise ModelError(f"{self.KIND}: gaps between jobs are needed, it draws none itself")
        super().__post_init__()

    _fit: ClassVar[Callable[..., dict[str, Any]]]
    """``_fit(jobs, rng, *, …)``: the family's parameters; its keywords are the options of `fit`."""

    def _draw(self, n: int, rng: Generator) -> Drawn:
        """Draw n jobs."""
        raise NotImplementedError

    @classmethod
    def fit(
        cls,
        workload: Workload,
        *,
        rng: Rng = None,
        arrivals: str | Arrivals | None = None,
        cycle: str | None = None,
        estimates: str | EstimateModel | None = "auto",
        sizes: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Self:
        """Learn the parameters from a log.

        Parameters
        ----------
        workload
            Jobs without width or run time are left out; at least fifty must remain.
        rng
            Only families that draw while they fit (``neural``, ``svr``) use it.
        arrivals
            A name of `models.arrivals.arrivals.GAPS`, an `Arrivals`, or None for the family's own
            way (a chain of gaps, if it has none).
        cycle
            A name of `models.arrivals.cycles.CYCLES`, ``"none"``, or None for the family's own
            (the polynomial, if it has none).
        estimates
            ``"beta"``, ``"gamma"``, ``"tsafrir"``, a model, ``"none"``, or ``"auto"``: if the log
            has estimates, whichever of the three fits it best (`models.estimates.misfit`).
        sizes
            ``"hourly"``: widths and run times that change with the hour and the weekday, learnt
            from logs of at least two weeks; ``"none"``; or None for the family's own way.
        options
            The family's own.
        """
        jobs = jobs_of(workload)
        _check_spread(cls.KIND, jobs)
        accepted = cls.options()
        for name in options:
            if name not in accepted:
                known = ["arrivals", "cycle", "estimates", "sizes", *accepted]
                raise ModelError(f"{cls.KIND}: no option {name!r}; {suggest(name, known)}")
        if sizes not in (None, *SIZES):
            raise ModelError(f"no sizes {sizes!r}; {suggest(str(sizes), SIZES)}")
        by_hour = sizes == "hourly" or (sizes is None and cls.HOURLY_SIZES and cycle != "none")
        with one_thread():
            when = cls._fit_arrivals(jobs, arrivals, cycle)
            jobs = replace(jobs, gaps=when.operational_gaps(jobs.clock))
            parameters = cls._fit(jobs, generator(child(seed_sequence(rng), 0)), **options)
            if isinstance(estimates, str):
                estimates = fit_estimates(jobs, estimates)
        return cls(
            machine=jobs.machine,
            arrivals=when,
            estimates=estimates,
            sizes=SizeCycle.fit(jobs.clock, jobs.procs, jobs.runtime) if by_hour else None,
            learnt=f"{len(jobs)} jobs of {workload.meta.source or 'a table'}",
            **parameters,
        )

    @classmethod
    def _fit_arrivals(
        cls, jobs: Jobs, arrivals: str | Arrivals | None, cycle: str | None
    ) -> Arrivals:
        """Learn when jobs come; a family with a way of its own overrides the defaults."""
        if isinstance(arrivals, Arrivals):
            return arrivals
        gaps = arrivals if arrivals or cls.OWN_GAPS else cls.DEFAULT_GAPS
        return Arrivals.fit(jobs.clock, gaps=gaps, cycle=cycle or "polynomial")

    @classmethod
    def options(cls) -> tuple[str, ...]:
        """Names of the family's own options of `fit`."""
        import inspect

        return tuple(
            name
            for name, parameter in inspect.signature(cls._fit).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        )

    @renamed(machine="cluster")
    def sample(
        self,
        n: int,
        *,
        rng: Rng = None,
        load: float | None = None,
        cluster: int | Cluster | None = None,
        start: float = 0.0,
    ) -> Workload:
        """Draw a workload of n jobs, ready for the simulator.

        Parameters
        ----------
        n
            How many jobs.
        load
            Offered load Σ procs·runtime / (machine · span) to reach, the span being the time from
            the first to the last submission: the arrival rate changes, the daily cycle stays
            (Song 2006, §2.2). None keeps the rate as learnt.
        cluster
            The machine that the jobs are for, or its processors; the model's own by default. On a
            smaller machine, jobs that don't fit are cut to it, and the provenance says how many.
        start
            When the sample begins, in seconds after a Monday's midnight.
        """
        size = self._checked_size(n, load, cluster)
        seed = seed_sequence(rng)
        try:
            with one_thread(), np.errstate(invalid="raise", over="raise", divide="raise"):
                return self._sample(int(n), seed, load, size, start)
        except ModelError:
            raise
        except BAD_PARAMETERS as error:
            raise ModelError(
                f"{self.KIND}: no jobs can be drawn from these parameters ({error}); "
                "if the file was edited by hand, fit the model again"
            ) from error

    def _sample(
        self, n: int, seed: SeedSequence, load: float | None, size: int, start: float
    ) -> Workload:
        """Draw jobs for a machine of ``size`` processors."""
        model = self.for_machine(size)
        drawn = model._draw(int(n), generator(child(seed, 0)))
        gaps = drawn.gaps
        if self.arrivals.gaps is not None:
            gaps = self.arrivals.gaps.draw(int(n), generator(child(seed, 1)))
        assert gaps is not None  # __post_init__ saw to it
        submit, procs, runtime = self._timed(drawn, gaps, seed, load, size, start)
        notes = [f"sampled {n} jobs from {self.KIND} ({self.learnt}), rng={describe_seed(seed)}"]
        wide = int(np.sum(procs > size))
        if wide:
            notes.append(f"{wide} jobs wider than the machine were cut to {size} processors")
        jobs = drawn._replace(procs=np.minimum(procs, size), runtime=runtime)
        columns = {"submit": np.floor(submit), **self._columns(jobs, seed)}
        if "user" in columns:  # the log's own numbers may be names: they stay behind
            columns["user"] = np.unique(columns["user"], return_inverse=True)[1] + 1
        meta = Meta(source=self.KIND, epoch=MONDAY, timezone="UTC", procs=size)
        return Workload(columns, replace(meta, provenance=tuple(notes)))

    def _timed(
        self, drawn: Drawn, gaps: Floats, seed: SeedSequence, load: float | None, size: int,
        start: float,
    ) -> tuple[Floats, Floats, Floats]:  # fmt: skip
        """Return submissions, widths and run times.

        With a load to reach the span follows from the work; with sizes that know the hour the work
        follows from the span, too. The span at which both agree is found by bisection.
        """
        plain = (drawn.procs, drawn.runtime)

        def at(span: float | None) -> tuple[Floats, Floats, Floats, float]:
            """Return what is submitted in a span, and the span that its work asks for."""
            when = self.arrivals.submissions(gaps, start=start, span=span)
            sizes = plain
            if self.sizes is not None:  # the same random numbers at every span
                sizes = self.sizes.clocked(when, *plain, generator(child(seed, 4)))
            procs, runtime = _whole(*sizes)
            work = float(np.minimum(procs, size) @ runtime)
            return when, procs, runtime, work / (size * (load or 1))

        found = at(None)
        if load is None:
            return found[:3]
        low, high = found[3] * (1 - SPAN_RANGE), found[3] * (1 + SPAN_RANGE)
        for _ in range(SPAN_STEPS if self.sizes is not None else 0):
            middle = (low + high) / 2
            found = at(middle)
            if abs(found[3] - middle) < SPAN_ERROR:
                break
            low, high = (middle, high) if found[3] > middle else (low, middle)
        when = self.arrivals.submissions(gaps, start=start, span=found[3])
        return when, found[1], found[2]

    def _columns(self, drawn: Drawn, seed: SeedSequence) -> dict[str, Any]:
        """Return everything of the jobs but when they come."""
        columns: dict[str, Any] = {
            "runtime": drawn.runtime,
            "procs": drawn.procs.astype(np.int64),
            "requested_procs": drawn.procs.astype(np.int64),
        }
        if self.estimates is not None and drawn.estimate is not None:
            columns["estimate"] = drawn.estimate
        elif self.estimates is not None:
            columns["estimate"] = self.estimates.draw(drawn.runtime, generator(child(seed, 2)))
        if self.users is not None:
            user = self.users.draw(drawn.procs, drawn.runtime, generator(child(seed, 3)))
            columns["user"] = user
            columns["group"] = self.users.group_of(user)
        else:
            columns["user"] = None if drawn.user is None else drawn.user.astype(np.int32)
            columns["group"] = drawn.group
        return {name: values for name, values in columns.items() if values is not None}

    def _checked_size(self, n: int, load: float | None, machine: int | Cluster | None) -> int:
        """Refuse what can't be sampled; return the machine's processors."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= MOST_JOBS:
            raise ModelError(f"n must be a number of jobs from 1 to {MOST_JOBS}, got {n!r}")
        if load is not None and not (np.isfinite(load) and load > 0):
            raise ModelError(f"load must be a positive number, got {load}")
        if machine is not None and not isinstance(machine, int | np.integer):
            machine = machine.procs
        size = self.machine if machine is None else int(machine)
        if size < 1:
            raise ModelError(f"machine must be at least 1 processor, got {machine}")
        return size

    def user_part(self) -> UserModel | None:
        """Return what `compose` takes as users; families with users of their own override."""
        return self.users

    def for_machine(self, machine: int) -> Self:
        """Return the model for a machine of another size; families that can scale, do."""
        return self

    def save(self, path: StrPath) -> None:
        """Write the parameters as JSON that a person can read and edit."""
        write_text(path, self.to_json())

    def to_json(self) -> str:
        """Return the parameters as JSON text."""
        data = self.to_dict()
        data.pop("kind")
        version = data.pop("version")
        return write_json({"onega_model": self.KIND, "version": version, **data})

    @classmethod
    def load(cls, path: StrPath) -> Self:
        """Read a model that `save` wrote; on a family, refuses another family's file."""
        model = load(path)
        if not isinstance(model, cls):
            raise ModelError(f"{path}: a {model.KIND} model, not a {cls.KIND} one")
        return model

    def summary(self) -> dict[str, Any]:
        """Return the model's name, origin and scalar parameters."""
        scalars = {
            name: value
            for name, value in self.to_dict().items()
            if isinstance(value, int | float | str) and name not in ("kind", "version")
        }
        parts = {
            "arrivals": self.arrivals.gaps.KIND if self.arrivals.gaps else "own",
            "cycle": self.arrivals.cycle.KIND if self.arrivals.cycle else None,
            "estimates": self.estimates.KIND if self.estimates else None,
            "sizes": self.sizes.KIND if self.sizes else None,
        }
        return {"model": self.KIND, **scalars, **parts}


def _whole(procs: Floats, runtime: Floats) -> tuple[Floats, Floats]:
    """Round as logs do, and SWF: whole seconds, no job shorter than one."""
    return np.maximum(np.rint(procs), 1), np.maximum(np.rint(runtime), 1.0)


def load(path: StrPath) -> WorkloadModel:
    """Read any model that `WorkloadModel.save` wrote."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise ModelError(f"{path}: not a model file (it isn't text)") from None
    try:
        return from_json(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def from_json(text: str) -> WorkloadModel:
    """Build the model that a JSON text describes."""
    from onega.models import MODELS

    data = parse_json(text, lambda message: ModelError(f"not a model file: {message}"))
    if not isinstance(data, dict) or "onega_model" not in data:
        raise ModelError("not a model file: the key 'onega_model' is missing")
    kind = data.pop("onega_model")
    if not isinstance(kind, str) or kind not in MODELS:
        raise ModelError(f"no model {kind!r}; {suggest(str(kind), MODELS)}")
    return MODELS[kind].from_dict(data)


def _check_spread(kind: str, jobs: Jobs) -> None:
    if np.ptp(jobs.runtime) == 0:
        raise ModelError(
            f"{kind}: all {len(jobs)} jobs run {jobs.runtime[0]:g} s; "
            "a model of run times needs at least two different ones"
        )
    if np.ptp(jobs.clock) == 0:
        raise ModelError(f"{kind}: all {len(jobs)} jobs were submitted at one instant")
