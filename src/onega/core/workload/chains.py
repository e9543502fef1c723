"""Temporal relations in a log: chains over powers of two, correlations, repeated submissions.

Everything here is a pure function of arrays in the order of submission, after chapter 3 of Song
(2006). Widths are processors, run times seconds; all values must be positive, because their
logarithm is taken.

Checked against the thesis's figures for KTH-SP2 (28467 jobs with a width and a run time): equal
neighbours 37.6 % (Table 3.1: 37.5 %), cor₀ = 0.04 and cor₁ = 0.14 (Table 3.4), ρ₁ = 0.29 for
widths and for run times (Table 3.7). The last two only come out on the values themselves: on the
states it would be 0.36 and 0.39, so ρ₁ is taken of the values here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onega.core.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A first-order Markov chain over the powers of two that occur in a series (§3.2.1).

    Attributes
    ----------
    levels
        l_j: the distinct powers of two, ascending (3.2).
    path
        u_i: the state of each value, counted from 0 (the thesis counts from 1).
    counts
        p_ij: how often state i was followed by state j (3.4).
    quality
        c_j: the share of state j's values that equal l_j exactly (3.5).
    """

    levels: Floats
    path: Ints
    counts: Ints
    quality: Floats

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Chain:
        """Build the chain of a series of positive numbers."""
        series = positive(values)
        powers = floor_power(series)
        levels, path = np.unique(powers, return_inverse=True)
        path = path.astype(np.int64)
        exact = np.bincount(path, weights=series == powers, minlength=levels.size)
        size = np.bincount(path, minlength=levels.size)
        return cls(levels, path, transition_counts(path, levels.size), exact / size)

    @property
    def dimension(self) -> int:
        """The number of states (Table 3.3)."""
        return int(self.levels.size)

    @property
    def transitions(self) -> Floats:
        """e_ij = p_ij / p_i (3.3, 3.4); see `transition_matrix` for states without successor."""
        return transition_matrix(self.counts)

    @property
    def frequencies(self) -> Floats:
        """The share of each state in the series."""
        return np.bincount(self.path, minlength=self.dimension) / self.path.size


def positive(values: npt.ArrayLike) -> Floats:
    """Return the values as floats, or say which one can't be on a logarithmic scale."""
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 1 or series.size == 0:
        raise ValueError(f"a series of at least one value is needed, got shape {series.shape}")
    wrong = np.flatnonzero(~(np.isfinite(series) & (series > 0)))
    if wrong.size:
        raise ValueError(
            f"values must be positive and finite; {wrong.size} are not, the first is "
            f"{series[wrong[0]]} at position {wrong[0]}: clean the log first"
        )
    return series


def floor_power(values: npt.ArrayLike) -> Floats:
    """2^⌊log₂ t⌋ (3.1), exactly: the binary exponent is read, no logarithm is rounded."""
    powers: Floats = np.ldexp(1.0, np.frexp(np.asarray(values, dtype=np.float64))[1] - 1)
    return powers


def state_of(values: npt.ArrayLike, levels: npt.ArrayLike) -> Ints:
    """State (from 0) of each value in a chain with the given levels: the largest l_j ≤ value.

    A value below the first level gets state 0.
    """
    places = np.searchsorted(np.asarray(levels), np.asarray(values), side="right") - 1
    return np.maximum(places, 0).astype(np.int64)


def transition_counts(path: npt.ArrayLike, states: int) -> Ints:
    """p_ij: how often state i is followed by state j (3.4)."""
    steps = np.asarray(path, dtype=np.int64)
    return pair_counts(steps[:-1], steps[1:], (states, states))


def pair_counts(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Ints:
    """Return a table of how often each pair (row, column) occurs."""
    cells = np.bincount(rows * shape[1] + columns, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.int64)


def transition_matrix(counts: npt.ArrayLike) -> Floats:
    """e_ij = p_ij / p_i (3.3, 3.4).

    A state that was only ever seen as the very last one has no successor (p_i = 0); it is
    followed by the successors of all states, so that every row is a distribution.
    """
    table = np.asarray(counts, dtype=np.float64)
    totals = table.sum(axis=1, keepdims=True)
    overall = table.sum(axis=0)
    if overall.sum() == 0:  # a single value: nothing is known of what follows it
        overall = np.ones(table.shape[1])
    fallback = overall / overall.sum()
    matrix: Floats = np.where(totals > 0, table / np.maximum(totals, 1), fallback)
    return matrix


def correlation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Pearson's coefficient (3.6); NaN for fewer than two pairs or where one side is constant."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.size != y.size:
        raise ValueError(f"two series of one length are needed, got {x.size} and {y.size} values")
    if x.size < 2:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    scale = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / scale) if scale > 0 else float("nan")


def path_correlations(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[float, float]:
    """cor₀ of two paths (3.6) and cor₁ of their changes where both change (3.7–3.10)."""
    p, r = np.asarray(first), np.asarray(second)
    change_p, change_r = np.diff(p), np.diff(r)
    both = (change_p != 0) & (change_r != 0)
    return correlation(p, r), correlation(change_p[both], change_r[both])


def autocorrelation(values: npt.ArrayLike, lag: int = 1) -> float:
    """ρ_lag = Σ(x_i − x̄)(x_{i+lag} − x̄) / Σ(x_i − x̄)², on the values; NaN for a constant."""
    return float(autocorrelations(values, (lag,))[0])


def autocorrelations(values: npt.ArrayLike, lags: Sequence[int]) -> Floats:
    """ρ at several lags, all at least 0."""
    series = np.asarray(values, dtype=np.float64)
    if any(lag < 0 for lag in lags):
        raise ValueError(f"lags must be at least 0, got {min(lags)}")
    if series.size < 2:
        return np.full(len(lags), np.nan)
    series = series - series.mean()
    power = series @ series
    if power == 0:
        return np.full(len(lags), np.nan)
    rho = np.full(len(lags), np.nan)
    for place, lag in enumerate(lags):
        if lag < series.size:
            rho[place] = series[lag:] @ series[: series.size - lag] / power
    return rho


def equal_neighbours(values: npt.ArrayLike) -> float:
    """Share of jobs whose successor has the same value (Table 3.1); NaN for fewer than two."""
    series = np.asarray(values)
    return float(np.mean(series[1:] == series[:-1])) if series.size > 1 else float("nan")


def mean_run_lengths(values: npt.ArrayLike) -> dict[int, tuple[float, float]]:
    """Mean length of runs of equal values, for each power of two that occurs (Fig. 3.1).

    Returns
    -------
    dict
        Power of two → (observed mean length, the multinomial law's 1 / (1 − p)), p being the
        value's share of all jobs.
    """
    series = np.asarray(values)
    if series.size == 0:
        return {}
    starts = np.flatnonzero(np.concatenate(([True], series[1:] != series[:-1])))
    heads = series[starts]
    lengths = np.diff(np.append(starts, series.size))
    result: dict[int, tuple[float, float]] = {}
    for power in np.unique(heads[heads > 0]):
        if floor_power(power) != power:
            continue
        share = float(np.mean(series == power))
        expected = 1 / (1 - share) if share < 1 else float("inf")
        result[int(power)] = (float(lengths[heads == power].mean()), expected)
    return result


def without_repeats(values: Floats) -> Floats:
    """1, 1, 1, 2, 2, 5 → 1, 2, 5 (§3.1)."""
    return values[np.concatenate(([True], values[1:] != values[:-1]))]


def successor_means(values: npt.ArrayLike) -> dict[float, float]:
    """Mean value of the successor, for each power-of-two class (Fig. 3.3; Fig. 3.2 for widths).

    The thesis lets runs of one width count once: give `without_repeats` of them.
    """
    series = positive(values)
    classes = floor_power(series)[:-1]
    return {float(c): float(series[1:][classes == c].mean()) for c in np.unique(classes)}


def temporal_summary(procs: npt.ArrayLike, runtime: npt.ArrayLike) -> dict[str, Any]:
    """All of the thesis's temporal figures of one log, as a flat dictionary.

    Parameters
    ----------
    procs, runtime
        Positive widths and run times, one per job, in the order of submission.
    """
    width, length = positive(procs), positive(runtime)
    widths, lengths = Chain.of(width), Chain.of(length)
    cor0, cor1 = path_correlations(widths.path, lengths.path)
    return {
        "same_procs": equal_neighbours(width),
        "rho1_procs": autocorrelation(width),
        "rho1_runtime": autocorrelation(length),
        "corr": correlation(width, length),
        "cor0": cor0,
        "cor1": cor1,
        "states_procs": widths.dimension,
        "states_runtime": lengths.dimension,
    }
