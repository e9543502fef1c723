"""Correlated Markov chains (Song 2006, chapter 3), and a variant that does better."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError, suggest
from onega.core.types import Floats, Ints
from onega.core.workload.chains import Chain, path_correlations, transition_matrix
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.chainpart import ChainPart
from onega.models.jobs.coupling import adjusted_path, adjusted_states, inferred_transitions
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import categorical
from onega.models.jobs.pairs import PairLaws
from onega.models.parts import Shapes

COUPLINGS = ("width-from-runtime", "runtime-from-width", "joint", "none")
WITHIN = ("uniform", "observed", "repeating")
MATRICES = ("inferred", "counted")


@dataclass(frozen=True, eq=False, kw_only=True)
class Markov(WorkloadModel):
    """Two first-order chains over powers of two, one for widths and one for run times.

    Attributes
    ----------
    procs, runtime
        The two chains.
    cor0, cor1
        Correlation of the paths, and of their changes where both change (3.6–3.10).
    coupling
        ``"width-from-runtime"`` as in the thesis: the width's new state is adjusted by the three
        rules of §3.2.2; ``"runtime-from-width"``: the other way round; ``"none"``: independent
        chains; ``"joint"``: transitions of both together, see `joint`.
    matrix
        Of the chain that the rules adjust: ``"inferred"`` from the counted one, so that the
        adjusted path shows the log's transitions (see `inferred_transitions`); ``"counted"``: the
        counted one itself, as in the thesis.
    joint
        Rows (width state, run-time state, next width state, next run-time state, count), from 0;
        used by ``coupling="joint"``. Pairs that were rarely seen back off to the run-time chain
        times the width given its last state and the new run time (Witten–Bell weights).
    cells
        Observed laws per pair of states, with ``coupling="joint"`` and observed values.
    """

    KIND: ClassVar[str] = "markov"
    TITLE: ClassVar[str] = "correlated Markov chains (Song)"
    SHAPES: ClassVar[Shapes] = {"joint": (None, 5)}
    procs: ChainPart
    runtime: ChainPart
    cor0: float
    cor1: float
    coupling: str = "width-from-runtime"
    matrix: str = "inferred"
    joint: Ints = field(default_factory=lambda: np.empty((0, 5), np.int64))
    cells: PairLaws | None = None

    def _check(self) -> None:
        _among("coupling", self.coupling, COUPLINGS)
        _among("matrix", self.matrix, MATRICES)
        if not (abs(self.cor0) <= 1 and abs(self.cor1) <= 1):
            raise ModelError(f"{self.KIND}: correlations must lie in [−1, 1]")
        if self.coupling == "joint":
            a, b = self.procs.dimension, self.runtime.dimension
            if not len(self.joint) or np.any(self.joint[:, :4] >= [a, b, a, b]):
                raise ModelError(f"{self.KIND}: coupling 'joint' needs rows of states below {a, b}")

    @classmethod
    def _fit(
        cls,
        jobs: Jobs,
        rng: Generator,
        *,
        within: str = "uniform",
        coupling: str = "width-from-runtime",
        matrix: str = "inferred",
    ) -> dict[str, Any]:
        _among("within", within, WITHIN)
        _among("coupling", coupling, COUPLINGS)
        _among("matrix", matrix, MATRICES)
        procs = ChainPart.fit(jobs.procs, within=within, most=None)
        runtime = ChainPart.fit(jobs.runtime, within=within, most=200)
        paths = Chain.of(jobs.procs).path, Chain.of(jobs.runtime).path
        cor0, cor1 = path_correlations(*paths)
        cells = None
        if coupling == "joint" and within != "uniform":
            pair = paths[0] * runtime.dimension + paths[1]
            cells = PairLaws.fit(pair, jobs.procs, jobs.runtime)
        return {
            "procs": procs,
            "runtime": runtime,
            "cor0": float(np.nan_to_num(cor0)),
            "cor1": float(np.nan_to_num(cor1)),
            "coupling": coupling,
            "matrix": matrix,
            "joint": _joint_counts(*paths) if coupling == "joint" else np.empty((0, 5)),
            "cells": cells,
        }

    def _draw(self, n: int, rng: Generator) -> Drawn:
        widths, lengths = self._paths(n, rng.random((3, n)))
        uniforms = rng.random((6, n))
        if self.cells is None:
            procs = self.procs.values(widths, uniforms[:3])
            return Drawn(procs, self.runtime.values(lengths, uniforms[3:]))
        pair = widths * self.runtime.dimension + lengths
        laws = (self.procs.within, self.runtime.within)
        procs, runtime = self.cells.draw(pair, (widths, lengths), laws, uniforms[[0, 3]])
        return Drawn(
            self.procs.repeat(widths, procs, uniforms[2]),
            self.runtime.repeat(lengths, runtime, uniforms[5]),
        )

    def _paths(self, n: int, uniforms: Floats) -> tuple[Ints, Ints]:
        """Walk the chains: states of width and run time, from 0."""
        from onega.kernels.models.chain import pick, walk

        if self.coupling == "joint":
            b = self.runtime.dimension
            start, matrix = joint_transitions(self.joint, self.procs.dimension, b)
            first = pick(np.cumsum(start), uniforms[0, 0])
            pair = walk(first, np.cumsum(matrix, axis=1), uniforms[0])
            return pair // b, pair % b
        leader, follower = self.runtime, self.procs
        if self.coupling == "runtime-from-width":
            leader, follower = follower, leader
        a, b = follower.dimension, leader.dimension
        cor0, cor1 = (0.0, 0.0) if self.coupling == "none" else (self.cor0, self.cor1)
        own = follower.transitions
        if self.matrix == "inferred":
            own = inferred_transitions(leader.counts, follower.counts, cor0, cor1)
        leads = _walk(leader, leader.transitions, uniforms[0])
        follows = _walk(follower, own, uniforms[1])
        adjusted, chances = adjusted_states(a, b, cor0, cor1), (abs(cor0), abs(cor1))
        shown = adjusted_path(leads, follows, adjusted, chances, uniforms[2])
        return (leads, shown) if self.coupling == "runtime-from-width" else (shown, leads)


def _walk(chain: ChainPart, transitions: Floats, uniforms: Floats) -> Ints:
    """Walk a chain from a state of its own frequencies."""
    from onega.kernels.models.chain import walk

    first = categorical(chain.frequencies, uniforms[:1])[0]
    path: Ints = walk(first, np.cumsum(transitions, axis=1), uniforms)
    return path


@dataclass(frozen=True, eq=False, kw_only=True)
class PairMarkov(Markov):
    """The chains with joint transitions, observed values within states and exact repeats."""

    KIND: ClassVar[str] = "markov-pair"
    TITLE: ClassVar[str] = "joint Markov chain, observed values"
    HOURLY_SIZES: ClassVar[bool] = True

    @classmethod
    def _fit(
        cls,
        jobs: Jobs,
        rng: Generator,
        *,
        within: str = "repeating",
        coupling: str = "joint",
        matrix: str = "inferred",
    ) -> dict[str, Any]:
        return super()._fit(jobs, rng, within=within, coupling=coupling, matrix=matrix)


def joint_transitions(rows: Ints, a: int, b: int) -> tuple[Floats, Floats]:
    """Start distribution and matrix over pairs (width state · b + run-time state).

    P(k, n | j, m) = (C(j,m→k,n) + T·P(n|m)·P(k|j,n)) / (C(j,m) + T), T being the number of
    different successors of (j, m): Witten and Bell's weight. P(k|j,n) backs off to P(k|j) alike.
    """
    counts = np.zeros((a, b, a, b))
    np.add.at(counts, tuple(rows[:, :4].T), rows[:, 4])
    runtime = transition_matrix(counts.sum(axis=(0, 2)))  # [m, n]
    width = transition_matrix(counts.sum(axis=(1, 3)))  # [j, k]
    given = counts.sum(axis=1)  # [j, k, n]
    kinds = (given > 0).sum(axis=1, keepdims=True)
    total = given.sum(axis=1, keepdims=True) + kinds
    given = np.where(total > 0, (given + kinds * width[:, :, None]) / np.maximum(total, 1),
                     width[:, :, None])  # fmt: skip
    backoff = runtime[None, :, None, :] * given[:, None, :, :]
    backoff = backoff / backoff.sum(axis=(2, 3), keepdims=True)
    seen = counts.sum(axis=(2, 3), keepdims=True)
    kinds = (counts > 0).sum(axis=(2, 3), keepdims=True)
    mixed = (counts + kinds * backoff) / np.maximum(seen + kinds, 1)
    matrix = np.where(seen > 0, mixed, backoff).reshape(a * b, a * b)
    start = seen.ravel() / max(seen.sum(), 1)
    return start, matrix / matrix.sum(axis=1, keepdims=True)


def _joint_counts(widths: Ints, lengths: Ints) -> Ints:
    rows = np.column_stack((widths[:-1], lengths[:-1], widths[1:], lengths[1:]))
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return np.column_stack((distinct, counts))


def _among(name: str, value: str, accepted: tuple[str, ...]) -> None:
    if value not in accepted:
        raise ModelError(f"markov: no {name} {value!r}; {suggest(str(value), accepted)}")
