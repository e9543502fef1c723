"""Linear models of all users at once, and how much of them is chance (Song 2006, §6.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onega.core.types import Floats, Ints

COLLINEAR = 1e-9
"""Two regressors whose determinant is below this part of their product are one."""

COEFFICIENTS = ("WR", "OR", "WP", "OP")
GROUPS = tuple(f"{name}{sign}" for name in COEFFICIENTS for sign in "+-")
"""B₊^WR, B₋^WR, …: users whose coefficient is positive, or negative."""


class Observations(NamedTuple):
    """Jobs of the users with enough of them, as levels from 0 to 1, ordered by cell and time.

    ``user``: 0 … J−1; ``cell``: user × hour of the day; ``waiting``, ``busy``, ``runtime`` and
    ``procs``: W, O, R and P.
    """

    user: Ints
    cell: Ints
    waiting: Floats
    busy: Floats
    runtime: Floats
    procs: Floats


class UserModels:
    """Linear models of all users, ready to be fitted again with W and O rearranged.

    Within a user, rearranging pairs (W, O) changes only their products with R and P.
    """

    def __init__(self, seen: Observations, users: int) -> None:
        self._user = seen.user
        self._first = np.searchsorted(seen.user, np.arange(users))
        self.jobs = np.bincount(seen.user, minlength=users)
        self._w, self._o = self._centred(seen.waiting), self._centred(seen.busy)
        self._y = (self._centred(seen.runtime), self._centred(seen.procs))
        w, o = self._w, self._o
        self._squares = (self._sums(w * w), self._sums(o * o), self._sums(w * o))
        self._yy = tuple(self._sums(y * y) for y in self._y)

    def _sums(self, values: Floats) -> Floats:
        # Jobs stand by user, and every user has some.
        return np.asarray(np.add.reduceat(values, self._first), dtype=np.float64)

    def _centred(self, values: Floats) -> Floats:
        return values - (self._sums(values) / np.maximum(self.jobs, 1))[self._user]

    def coefficients(self, order: Ints | None = None) -> Floats:
        """Coefficients of every user, columns W→R, O→R, W→P, O→P; 0 where AIC leaves one out.

        R = a + b^WR·W + b^OR·O + ε for each user, and the same for P. With two regressors a
        stepwise search is the choice among four subsets: all are looked at, exactly. ``order``
        says whose W and O each job gets; it must stay within users.
        """
        w, o = (self._w, self._o) if order is None else (self._w[order], self._o[order])
        columns: list[Floats] = []
        for y, yy in zip(self._y, self._yy, strict=True):
            products = (self._sums(y * w), self._sums(y * o), yy)
            columns.extend(_choose(self.jobs.astype(np.float64), self._squares, products))
        return np.column_stack(columns)


def _choose(
    jobs: Floats, squares: tuple[Floats, Floats, Floats], products: tuple[Floats, Floats, Floats]
) -> tuple[Floats, Floats]:
    """Take the subset of {W, O} with the least AIC = n log(RSS/n) + 2·parameters, by user."""
    ww, oo, wo = squares
    yw, yo, yy = products
    nothing = np.zeros(jobs.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        alone_w, alone_o = yw / ww, yo / oo
        determinant = ww * oo - wo * wo
        both_w = (yw * oo - yo * wo) / determinant
        both_o = (yo * ww - yw * wo) / determinant
    tiny = 1e-12 * jobs
    usable = (
        np.ones(jobs.size, dtype=bool),
        ww > tiny,
        oo > tiny,
        (ww > tiny) & (oo > tiny) & (determinant > COLLINEAR * ww * oo),
    )
    choices = ((nothing, nothing), (alone_w, nothing), (nothing, alone_o), (both_w, both_o))
    best = np.full(jobs.size, np.inf)
    chosen_w, chosen_o = np.zeros(jobs.size), np.zeros(jobs.size)
    for possible, (b_w, b_o), size in zip(usable, choices, (0, 1, 1, 2), strict=True):
        explained = np.where(possible, b_w * yw + b_o * yo, 0.0)
        # A perfect fit has no logarithm; what is below rounding counts as perfect.
        rest = np.maximum(yy - explained, 1e-12 * yy + 1e-300)
        aic = np.where(possible, jobs * np.log(rest / np.maximum(jobs, 1)) + 2 * size, np.inf)
        better = aic < best - 1e-9
        best = np.where(better, aic, best)
        chosen_w = np.where(better, b_w, chosen_w)
        chosen_o = np.where(better, b_o, chosen_o)
    return np.nan_to_num(chosen_w), np.nan_to_num(chosen_o)


def group_members(coefficients: Floats) -> npt.NDArray[np.bool_]:
    """Tell for each user (rows) and group (columns) whether the user is in it."""
    both = np.stack((coefficients > 0, coefficients < 0), axis=2)
    return both.reshape(coefficients.shape[0], len(GROUPS))


def group_jobs(coefficients: Floats, jobs: Ints) -> Ints:
    """Count the submissions of each group's users."""
    return np.asarray(jobs @ group_members(coefficients), dtype=np.int64)


def permuted(cell: Ints, rng: Generator) -> Ints:
    """Exchange jobs at random within each cell; cells stand together."""
    return np.argsort(cell + rng.random(cell.size), kind="stable")


def shifted(cell: Ints, rng: Generator) -> Ints:
    """Shift the jobs of each cell by a random number of places, in a circle: runs stay together."""
    begins = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
    sizes = np.diff(np.append(begins, cell.size))
    first, size = np.repeat(begins, sizes), np.repeat(sizes, sizes)
    moved = np.repeat((rng.random(sizes.size) * sizes).astype(np.int64), sizes)
    return np.asarray(first + (np.arange(cell.size) - first + moved) % size, dtype=np.int64)


Rearrangement = Callable[[Ints, Generator], Ints]


def jobs_by_chance(
    models: UserModels, cell: Ints, rearrange: Rearrangement, rng: Generator
) -> Iterator[Ints]:
    """Jobs of the groups when W and O are rearranged within user and hour, without end."""
    while True:
        yield group_jobs(models.coefficients(rearrange(cell, rng)), models.jobs)


def holm(p: npt.ArrayLike) -> Floats:
    """Adjust p-values for being several (Holm 1979): the chance of any false one is kept."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = np.arange(values.size, 0, -1)
    adjusted = np.empty(values.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return adjusted
