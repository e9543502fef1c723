"""How much users regulate one another through the machine: logs that keep all but one thing.

A full machine is submitted to less. Nothing in one user's history shows it, so it is measured by
taking it away: every user's jobs stay as they are, but which users are there at the same time
changes (users' whole histories are moved by weeks), and the log is simulated again. If users don't
depend on one another, waits stay as they are; if they regulate one another, waits grow. With the
loop closed (a job comes a think time after its user's latest result, if that was at most H ago),
the moved users see the queue again, and the H at which the waits are the log's own says how long
users wait for results before they go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from onega.core.errors import ExperimentError
from onega.core.machine.cluster import Cluster
from onega.core.policy import KeyFunction, Policy, Priority
from onega.core.rng import Rng, child, describe_seed, generator, seed_sequence
from onega.core.types import Floats, Ints
from onega.core.units import SECONDS, humanise_seconds
from onega.core.workload.report import Report
from onega.core.workload.schema import renumbered
from onega.core.workload.workload import Workload
from onega.experiment.replicates.resampling import FEWEST_WEEKS, resample
from onega.experiment.users.closed_loop import moved_users, weeks_of
from onega.experiment.users.reactive_users import ReactiveUsers
from onega.simulation.simulate import simulate

DRAWS = 8
WITHIN = (8 * SECONDS["h"], SECONDS["d"], SECONDS["w"])
WEEKS = (2, 8, None)
"""Users are moved by up to so many weeks either way; None: by any number."""


@dataclass(frozen=True)
class Surrogate:
    """A log that keeps everything but one thing.

    Attributes
    ----------
    name, destroys
        What was done, and what of the log it takes away.
    ratios
        Mean wait over the log's own, of each draw.
    """

    name: str
    destroys: str
    ratios: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Geometric mean of the ratios."""
        return float(np.exp(np.mean(np.log(self.ratios))))

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of `ratio` by Student's law on the logarithms."""
        logs = np.log(self.ratios)
        half = stats.t.ppf((1 + confidence) / 2, logs.size - 1) * logs.std(ddof=1)
        half /= math.sqrt(logs.size)
        return float(np.exp(logs.mean() - half)), float(np.exp(logs.mean() + half))


@dataclass(frozen=True)
class Regulation:
    """Waits of surrogates over the log's own.

    Attributes
    ----------
    wait
        The log's own mean wait on this machine, under this policy, in seconds.
    surrogates
        In the order in which they take more away; then the closed ones.
    within
        H at which users moved by any number of weeks wait as long as the log's (s), between the
        tried ones on logarithmic scales; None: beyond them.
    """

    wait: float
    surrogates: tuple[Surrogate, ...]
    within: float | None
    confidence: float
    report: Report = field(default_factory=Report)
    provenance: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """One row per surrogate: ratio, its interval, the least and the most of the draws."""
        rows = []
        for one in self.surrogates:
            low, high = one.interval(self.confidence)
            rows.append(
                {
                    "surrogate": one.name,
                    "ratio": one.ratio,
                    "low": low,
                    "high": high,
                    "least": min(one.ratios),
                    "most": max(one.ratios),
                    "destroys": one.destroys,
                }
            )
        return pl.DataFrame(rows)

    def summary(self) -> dict[str, Any]:
        """Return everything as one flat dictionary."""
        flat: dict[str, Any] = {
            "mean_wait": self.wait,
            "draws": len(self.surrogates[0].ratios),
            "confidence": self.confidence,
            "within": self.within,
        }
        for row in self.to_polars().to_dicts():
            name = row["surrogate"].replace(" ", "_")
            flat.update({f"{name}_{key}": row[key] for key in ("ratio", "low", "high")})
        return flat


def regulation(
    workload: Workload,
    cluster: Cluster | int | None = None,
    policy: str | Policy | Priority | KeyFunction = "easy",
    *,
    draws: int = DRAWS,
    within: Sequence[float] = WITHIN,
    confidence: float = 0.95,
    rng: Rng = 0,
) -> Regulation:
    """Measure how much the users of a log regulate one another through the machine.

    Parameters
    ----------
    workload
        A log over at least two weeks that says who submitted its jobs; waits aren't needed.
    cluster, policy
        What waits are simulated on: the log's own machine, and EASY.
    draws
        Of each surrogate; at least 2.
    within
        Values of H in seconds, ascending, for the closed ones.
    confidence
        Of the intervals.
    rng
        Fixed by default, so that one log gives one answer.
    """
    if draws < 2:
        raise ExperimentError(f"draws must be at least 2, got {draws}")
    if not 0 < confidence < 1:
        raise ExperimentError(f"confidence must be between 0 and 1, got {confidence}")
    if workload.span < FEWEST_WEEKS * SECONDS["w"]:
        raise ExperimentError(
            f"the log spans {humanise_seconds(workload.span)}; users are moved by whole weeks, "
            f"at least {FEWEST_WEEKS} are needed"
        )
    users = ReactiveUsers.fit(workload, cluster, policy, within=0.0, groups=())
    wait = users.baseline.summary()["mean_wait"]
    if not wait > 0:
        raise ExperimentError("no job waits on this machine: there is nothing to regulate")
    seed = seed_sequence(rng)
    found = [
        Surrogate(name, destroys, tuple(_ratio(draw(one), wait) for one in seed.spawn(draws)))
        for name, destroys, draw in _surrogates(users, within)
    ]
    closed = found[len(found) - len(within) :]
    return Regulation(
        wait, tuple(found), _crossing(np.array(within), [one.ratio for one in closed]), confidence,
        users.report, (f"regulation of {users.baseline!r}", f"rng={describe_seed(seed)}"),
    )  # fmt: skip


def _ratio(mean_wait: float, wait: float) -> float:
    """Return the ratio; a draw in which no job waits counts as a thousandth of the wait."""
    return max(mean_wait / wait, 1e-3)


Draw = Callable[[Any], float]


def _surrogates(users: ReactiveUsers, within: Sequence[float]) -> Iterator[tuple[str, str, Draw]]:
    base = users.baseline
    log = base.workload

    def simulated(other: Workload) -> float:
        return float(simulate(other, base.cluster, base.policy or "easy").summary()["mean_wait"])

    def moved(crowd: ReactiveUsers, most: int | None, *, closed: bool) -> Draw:
        def draw(seed: Any) -> float:  # noqa: ANN401
            turn = _turns(crowd, most, generator(child(seed, 0)))
            return float(moved_users(crowd, turn, closed=closed).summary()["mean_wait"])

        return draw

    yield (
        "weeks drawn anew",
        "memory beyond a week",
        lambda seed: simulated(resample(log, "weeks", rng=seed)),
    )
    yield (
        "days of the same weekday",
        "memory beyond a day",
        lambda seed: simulated(days_anew(log, generator(seed))),
    )
    company = "which users are there at the same time"
    for most in WEEKS:
        far = "any number of" if most is None else f"up to {most}"
        yield f"users moved by {far} weeks", company, moved(users, most, closed=False)
    yield (
        "users drawn anew",
        f"{company}, and which users there are",
        lambda seed: simulated(resample(log, "users", rng=seed)),
    )
    for one in within:
        crowd = users.waiting_within(one)
        name = f"users moved and closed within {humanise_seconds(one)}"
        yield name, f"{company}; but they see the queue", moved(crowd, None, closed=True)


def _turns(users: ReactiveUsers, most: int | None, random: np.random.Generator) -> Ints:
    if most is None:
        return random.integers(0, weeks_of(users), users.users.size)
    return random.integers(-most, most + 1, users.users.size)


def days_anew(log: Workload, random: np.random.Generator) -> Workload:
    """Draw each day of a log anew from the days of the same weekday, whole days from its begin."""
    submit = log.column("submit")
    day = ((submit - submit.min()) // SECONDS["d"]).astype(np.int64)
    count = int(day.max()) + 1
    rows, moved = [], []
    begin = np.searchsorted(np.sort(day), np.arange(count + 1))
    order = np.argsort(day, kind="stable")
    for one in range(count):
        drawn = int(random.choice(np.arange(one % 7, count, 7)))
        mine = order[begin[drawn] : begin[drawn + 1]]
        rows.append(mine)
        moved.append(np.full(mine.size, float(one - drawn) * SECONDS["d"]))
    row = np.concatenate(rows)
    table = log.table[row].with_columns(pl.col("submit") + pl.Series(np.concatenate(moved)))
    table = renumbered(table.sort("submit", maintain_order=True))
    return Workload(table, log.meta.noting("days drawn anew from the same weekday"))


def _crossing(within: Floats, ratios: Sequence[float]) -> float | None:
    """Return where the ratio falls through 1, on logarithmic scales; None if it doesn't."""
    y = np.log(ratios)
    for k in range(y.size - 1):
        if y[k] >= 0 > y[k + 1] or y[k] > 0 >= y[k + 1]:
            share = y[k] / (y[k] - y[k + 1])
            return float(within[k] * (within[k + 1] / within[k]) ** share)
    return None
