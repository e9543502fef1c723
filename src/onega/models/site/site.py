"""`site`: users' weeks, drawn one by one under the week's regulated total.

Users regulate one another through the machine: a full one is submitted to less. Users drawn
independently of one another, however well each is modelled, make a scheduler's waits several times
too long (docs/users.md). So the whole's work is the process that is drawn first, week by week, with
the small variation and the slow memory that the log's has; users fill it, each with one of their
own weeks or none, independent *given* the week's work and number of jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence

from onega.core.errors import ModelError
from onega.core.rng import child, describe_seed, generator
from onega.core.types import Floats, Ints
from onega.core.units import SECONDS
from onega.core.workload.clock import MONDAY
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.models.arrivals.arrivals import Arrivals
from onega.models.base import WorkloadModel
from onega.models.jobs.jobs import Jobs
from onega.models.site.campaigns import BURST, Campaigns, expanded
from onega.models.site.company import Chosen, Crowd

BLUR = 0.01
"""Run times are moved by up to this much in rank (in the middle; less towards both ends)."""

LOAD_TRIALS = 8
LOAD_ERROR = 0.01
"""So often the number of users is changed to reach a load; run times do the last per cent."""

YEAR = 365.25 * SECONDS["d"]


class _Rows(NamedTuple):
    """Jobs drawn: row in the campaigns, time, person, place here of the job that was waited for."""

    row: Ints
    submit: Floats
    person: Ints
    after: Ints


@dataclass(frozen=True, eq=False, kw_only=True)
class Site(WorkloadModel):
    """The whole-site generator.

    Week w of a sample stands where week w of the log does (a longer sample begins anew where the
    log began). Every user's weeks are put in another order at random, none farther than ``season``
    from its place; so are the weeks' totals of work and jobs, which keeps their variation and slow
    memory. Then users exchange weeks, each their own, until every week has its total: histories
    are independent *given* the totals (a surrogate under constraints, Schreiber and Schmitz 2000).
    What a user submits in a week, its order, sessions, hours and weekdays stay together; sessions
    move by minutes, run times by a hundredth in rank.

    Attributes
    ----------
    campaigns
        Users' weeks, as they came.
    season
        Rounds (weeks) either way. By default, as `fit` has it, how many weeks in a row a user
        submits something, on average, rounded: within a stay, weeks are taken for exchangeable.
    blur
        Run times move by up to this much in rank, 0 to 0.5; sessions by BURST/2 seconds times
        blur/0.01, at most BURST/2.
    population
        How many times the log's users there are in a week: work and jobs grow with them. Its
        fractional part is the share of weeks in which each user has one more copy.
    growth
        By which the population grows in a year: 0.1 is a tenth.
    regulated
        False: users are independent of one another; their queue has to regulate them then
        (``simulate(…, dependencies=True)``).
    """

    KIND: ClassVar[str] = "site"
    TITLE: ClassVar[str] = "users' weeks under a regulated total (Figure 2.7)"
    OWN_GAPS: ClassVar[bool] = True
    campaigns: Campaigns = field()
    season: int = field()
    blur: float = BLUR
    population: float = 1.0
    growth: float = 0.0
    regulated: bool = True

    def _check(self) -> None:
        if self.sizes is not None:
            raise ModelError("site: its users' jobs know the hour already; sizes= isn't taken")
        if self.season < 0:
            raise ModelError(f"site: season must be at least 0, got {self.season}")
        if not 0 <= self.blur <= 0.5:
            raise ModelError(f"site: blur must lie in [0, 0.5], got {self.blur}")
        if not (0 < self.population <= 1e4 and -1 < self.growth <= 10):
            raise ModelError("site: 0 < population <= 10000 and -1 < growth <= 10 are needed")

    @staticmethod
    def _fit(
        jobs: Jobs, rng: Generator, *, season: int | None = None, within: float = SECONDS["d"]
    ) -> dict[str, Any]:
        """Cut the log into users' weeks.

        ``season``: None takes the mean stay of the log's users. ``within``: a user who submits so
        many seconds after a result at most waited for it (closed loops).
        """
        campaigns = Campaigns.of(jobs, within)
        return {
            "campaigns": campaigns,
            "season": round(campaigns.stay) if season is None else season,
        }

    @classmethod
    def _fit_arrivals(
        cls, jobs: Jobs, arrivals: str | Arrivals | None, cycle: str | None
    ) -> Arrivals:
        when = super()._fit_arrivals(jobs, arrivals, cycle or "none")
        if when.gaps is not None or when.cycle is not None:
            raise ModelError("site: jobs come when its users do; it takes no arrivals and no cycle")
        return when

    def _sample(
        self, n: int, seed: SeedSequence, load: float | None, size: int, start: float
    ) -> Workload:
        """Draw jobs for a machine of ``size`` processors.

        A load is reached by the number of users; the last per cent, by run times.
        """
        notes = [f"sampled {n} jobs from {self.KIND} ({self.learnt}), rng={describe_seed(seed)}"]
        if load is None:
            drawn, sizes = self._jobs(n, seed, 1.0, size, start)
        else:
            factor, drawn, sizes = self._loaded(n, seed, load, size, start)
            ratio = load / _load(drawn.submit, sizes, size, load)
            sizes["runtime"] = np.maximum(np.rint(sizes["runtime"] * ratio), 1.0)
            notes.append(f"load {load:g}: {factor:.4g} times the users, run times × {ratio:.4g}")
        wide = int(np.sum(self.campaigns.procs[drawn.row] > size))
        if wide:
            notes.append(f"{wide} jobs wider than the machine were cut to {size} processors")
        columns = {"submit": drawn.submit, **sizes, **self._followed(drawn)}
        columns["user"] = np.unique(drawn.person, return_inverse=True)[1] + 1
        if self.estimates is not None:
            columns["estimate"] = self._estimates(drawn.row, sizes["runtime"], seed)
        meta = Meta(source=self.KIND, epoch=MONDAY, timezone="UTC", procs=size)
        return Workload(columns, meta.noting("; ".join(notes)))

    def _loaded(
        self, n: int, seed: SeedSequence, load: float, size: int, start: float
    ) -> tuple[float, _Rows, dict[str, Any]]:
        """Look for the number of users, times the log's, at which the load is reached."""
        factor = load * size / (self.campaigns.rate * self.population)
        best: tuple[float, tuple[float, _Rows, dict[str, Any]]] | None = None
        for _ in range(LOAD_TRIALS):
            drawn, sizes = self._jobs(n, seed, factor, size, start)
            ratio = load / _load(drawn.submit, sizes, size, load)
            error = abs(np.log(ratio))
            if best is None or error < best[0]:
                best = error, (factor, drawn, sizes)
            if best[0] < LOAD_ERROR:
                break
            factor *= np.clip(ratio, 0.5, 2.0)
        assert best is not None
        return best[1]

    def _jobs(
        self, n: int, seed: SeedSequence, factor: float, size: int, start: float
    ) -> tuple[_Rows, dict[str, Any]]:
        drawn = self._first(n, generator(child(seed, 0)), factor, start)
        procs = np.minimum(self.campaigns.procs[drawn.row], size)
        runtime = self._blurred(drawn.row, generator(child(seed, 1)))
        return drawn, {"runtime": runtime, "procs": procs, "requested_procs": procs}

    def _first(self, n: int, rng: Generator, factor: float, start: float) -> _Rows:
        """Draw until n jobs have come since ``start``; the first n of them."""
        some = self.campaigns
        begin = some.phase + np.ceil((start - some.phase) / some.period) * some.period

        def people(number: int) -> float:
            grown = (1 + self.growth) ** (number * some.period / YEAR)
            return float(self.population * factor * grown)

        parts: list[_Rows] = []
        missing = n
        for chosen in Crowd(some, self.season, self.regulated, people, rng).passes():
            part = self._laid_out(chosen, begin, rng)
            if not parts and not part.row.size:
                raise ModelError(
                    "site: no user is left to draw jobs from; the population is too small"
                )
            size = sum(one.row.size for one in parts)
            parts.append(part._replace(after=np.where(part.after >= 0, part.after + size, -1)))
            missing -= int(np.count_nonzero(part.submit >= start))
            if missing <= 0:
                break
        drawn = _Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        order = np.argsort(drawn.submit, kind="stable")
        order = order[drawn.submit[order] >= start][:n]
        place = np.full(drawn.row.size, -1)
        place[order] = np.arange(order.size)
        after = np.where(drawn.after >= 0, place[drawn.after], -1)
        return _Rows(drawn.row[order], drawn.submit[order], drawn.person[order], after[order])

    def _laid_out(self, chosen: Chosen, begin: float, rng: Generator) -> _Rows:
        """Put campaigns' jobs at their times; sessions move by minutes, each on its own."""
        some = self.campaigns
        size = some.size[chosen.campaign]
        row, nth = expanded(some.first[chosen.campaign], size)
        session = np.cumsum(some.fresh[row]) - 1
        most = BURST / 2 * min(1.0, self.blur / BLUR)
        count = int(session[-1]) + 1 if session.size else 0
        moved = rng.uniform(-most, most, count)[session]
        since = np.maximum(some.submit[row] + moved, 0.0)
        submit = np.floor(since + begin + np.repeat(chosen.round * some.period, size))
        after = np.where(some.after[row] >= 0, np.arange(row.size) - nth + some.after[row], -1)
        return _Rows(row, submit, np.repeat(chosen.person, size), after)

    def _blurred(self, row: Ints, rng: Generator) -> Floats:
        """Take the log's run times near a job's own in rank, between two of them."""
        own = self.campaigns.runtime
        ordered = np.sort(own)
        low, high = np.searchsorted(ordered, own, "left"), np.searchsorted(ordered, own, "right")
        rank = (low[row] + (high - low)[row] * rng.random(row.size)) / own.size
        rank += self.blur * 4 * rank * (1 - rank) * rng.uniform(-1, 1, row.size)
        moved = np.interp(rank * own.size - 0.5, np.arange(own.size), ordered)
        limit = self.campaigns.estimate[row]
        obeyed = (limit > 0) & (own[row] <= limit)
        return np.maximum(np.rint(np.where(obeyed, np.minimum(moved, limit), moved)), 1.0)

    def _estimates(self, row: Ints, runtime: Floats, seed: SeedSequence) -> Floats:
        """Give the users' own estimates, and where there are none the model's."""
        assert self.estimates is not None
        own = self.campaigns.estimate[row]
        drawn = self.estimates.draw(runtime, generator(child(seed, 2)))
        return np.maximum(np.where(own > 0, own, drawn), 1.0)

    def _followed(self, drawn: _Rows) -> dict[str, Any]:
        """Say which job was waited for, if the log knew."""
        import polars as pl

        if not np.any(drawn.after >= 0):
            return {}
        follows = pl.Series(drawn.after >= 0)
        after = pl.Series(drawn.after + 1).zip_with(follows, pl.Series([None], dtype=pl.Int64))
        nothing = pl.Series([None], dtype=pl.Float64)
        think = pl.Series(self.campaigns.think[drawn.row]).zip_with(follows, nothing)
        return {"after": after, "think": think}

    def summary(self) -> dict[str, Any]:
        """Return the model's name, origin and scalar parameters, users, weeks and campaigns."""
        some = self.campaigns
        return {
            **super().summary(),
            "users": int(some.user.max()) + 1,
            "rounds": some.rounds,
            "period": some.period,
            "campaigns": int(some.user.size),
            "stay": some.stay,
        }


def _load(submit: Floats, sizes: dict[str, Any], size: int, default: float) -> float:
    """Offered load; the one that was asked for where a single instant has none."""
    span = float(submit[-1] - submit[0])
    return float(sizes["procs"] @ sizes["runtime"]) / (size * span) if span > 0 else default
