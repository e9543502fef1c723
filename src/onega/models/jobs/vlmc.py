"""Variable length Markov chains for gaps, widths and run times (Song 2006, §7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.core.workload.chains import Chain
from onega.models.arrivals.arrivals import gap_classes
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.chainpart import ChainPart
from onega.models.jobs.contexts import ContextTree, lagged
from onega.models.jobs.jobs import Jobs, jobs_of
from onega.models.jobs.laws import Observed, draw_by_class
from onega.models.jobs.pairs import PairLaws

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload

# What each attribute looks back at, what matters most first: (attribute, lag), with attributes
# 0 = gap, 1 = width, 2 = run time; lag 0 is the same job (gap, then width, then run time).
CONTEXTS: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0, 1), (0, 2), (1, 1), (0, 3), (2, 1)),
    ((1, 1), (0, 0), (1, 2), (2, 1), (1, 3), (1, 4)),
    ((2, 1), (1, 0), (1, 1), (2, 2), (0, 0), (2, 3)),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Vlmc(WorkloadModel):
    """Three context trees, drawn in turn: the gap before a job, its width, its run time.

    Attributes
    ----------
    procs, runtime
        Classes (powers of two) and the values within.
    gap
        Observed gaps of each class: under a second, and powers of two.
    trees
        For gap, width and run time; each looks back at the classes named in ``CONTEXTS``.
    cells
        Observed widths and run times per pair of classes.
    """

    KIND: ClassVar[str] = "vlmc"
    TITLE: ClassVar[str] = "variable length Markov chains"
    OWN_GAPS: ClassVar[bool] = True
    HOURLY_SIZES: ClassVar[bool] = True
    procs: ChainPart
    runtime: ChainPart
    gap: tuple[Observed, ...]
    trees: tuple[ContextTree, ...]
    cells: PairLaws

    def _check(self) -> None:
        sizes = (len(self.gap), self.procs.dimension, self.runtime.dimension)
        if len(self.trees) != 3 or any(
            tree.counts.shape[1] != size for tree, size in zip(self.trees, sizes, strict=True)
        ):
            raise ModelError(f"vlmc: three trees over {sizes} classes are needed")

    @classmethod
    def _fit(cls, jobs: Jobs, rng: Generator, *, alpha: float = 0.05) -> dict[str, Any]:
        if not 0 < alpha < 1:
            raise ModelError(f"vlmc: alpha must lie in (0, 1), got {alpha}")
        widths, lengths = Chain.of(jobs.procs).path, Chain.of(jobs.runtime).path
        gaps = gap_classes(jobs.gaps)
        paths = (gaps, widths, lengths)
        runtime = ChainPart.fit(jobs.runtime, within="repeating", most=200)
        deepest = max(lag for one in CONTEXTS for _, lag in one)
        trees = tuple(
            ContextTree.fit(
                np.column_stack(
                    [paths[which][deepest - lag : len(jobs) - lag] for which, lag in one]
                ),
                path[deepest:],
                int(path.max()) + 1,
                alpha=alpha,
            )
            for one, path in zip(CONTEXTS, paths, strict=True)
        )
        return {
            "procs": ChainPart.fit(jobs.procs, within="repeating", most=None),
            "runtime": runtime,
            "gap": Observed.by_class(jobs.gaps, gaps, most=200),
            "trees": trees,
            "cells": PairLaws.fit(widths * runtime.dimension + lengths, jobs.procs, jobs.runtime),
        }

    def _draw(self, n: int, rng: Generator) -> Drawn:
        from onega.kernels.models.vlmc import Trees, walk

        wide = max(tree.counts.shape[1] for tree in self.trees)
        flat = Trees(
            np.concatenate([tree.children(wide) for tree in self.trees]),
            np.concatenate([_cumulative(tree, wide) for tree in self.trees]),
            np.cumsum([0] + [tree.parents.size for tree in self.trees[:-1]]),
        )
        spec = np.full((3, max(map(len, CONTEXTS)), 2), -1, dtype=np.int64)
        for place, one in enumerate(CONTEXTS):
            spec[place, : len(one)] = one
        gaps, widths, lengths = walk(flat, spec, rng.random((3, n)))
        uniforms = rng.random((5, n))
        pair = widths * self.runtime.dimension + lengths
        laws = (self.procs.within, self.runtime.within)
        procs, runtime = self.cells.draw(pair, (widths, lengths), laws, uniforms[:2])
        return Drawn(
            self.procs.repeat(widths, procs, uniforms[2]),
            self.runtime.repeat(lengths, runtime, uniforms[3]),
            draw_by_class(self.gap, gaps, uniforms[4]),
        )


def prediction_scores(
    workload: Workload, *, train: float = 0.5, lags: int = 6
) -> dict[str, dict[str, float]]:
    """How often the class of the next job is predicted rightly, learnt on the log's first part.

    Returns
    -------
    dict
        Attribute (``procs``, ``runtime``, ``gap``) → share of right predictions by ``vlmc``,
        ``first_order`` (the chain's most probable successor) and ``same_as_last``.
    """
    jobs = jobs_of(workload)
    series = {
        "procs": Chain.of(jobs.procs).path,
        "runtime": Chain.of(jobs.runtime).path,
        "gap": gap_classes(np.maximum(np.diff(jobs.clock, prepend=jobs.clock[0]), 0.5)),
    }
    scores: dict[str, dict[str, float]] = {}
    for name, path in series.items():
        past, following = lagged(path, lags), path[lags:]
        cut = int(following.size * train)
        alphabet = int(path.max()) + 1
        tree = ContextTree.fit(past[:cut], following[:cut], alphabet)
        first = ContextTree.fit(past[:cut, :1], following[:cut], alphabet, alpha=1 - 1e-12)
        truth = following[cut:]
        scores[name] = {
            "vlmc": float(np.mean(tree.predict(past[cut:]) == truth)),
            "first_order": float(np.mean(first.predict(past[cut:, :1]) == truth)),
            "same_as_last": float(np.mean(past[cut:, 0] == truth)),
        }
    return scores


def _cumulative(tree: ContextTree, wide: int) -> Floats:
    """Cumulative probabilities, filled with ones to a common width."""
    table = np.ones((tree.parents.size, wide))
    size = tree.counts.shape[1]
    table[:, :size] = np.cumsum(tree.probabilities(), axis=1)
    table[:, size - 1 :] = 1.0
    return table
