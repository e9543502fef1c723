"""Context trees: how far back the past matters depends on what it was (Song 2006, §7.2).

P. Bühlmann and A. J. Wyner, *Variable length Markov chains*, Annals of Statistics 27 (1999): grow
the tree of all contexts that occur often enough, then cut leaves that say too little beyond their
parent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.core.workload.chains import pair_counts
from onega.models.parts import Part, Shapes

LEAST = 20
"""A context must have occurred so often."""


@dataclass(frozen=True, eq=False)
class ContextTree(Part):
    """Nodes in an order in which parents come first; node 0 is the empty context.

    Attributes
    ----------
    parents, symbols
        The parent of each node, and the symbol of the past that leads from it (−1 for the root).
    counts
        One row per node: how often each symbol followed the context.
    """

    KIND: ClassVar[str] = "context-tree"
    SHAPES: ClassVar[Shapes] = {
        "counts": ("nodes", None),
        "parents": ("nodes",),
        "symbols": ("nodes",),
    }
    parents: Ints
    symbols: Ints
    counts: Ints

    def _check(self) -> None:
        size = self.parents.size
        if size == 0 or np.any(self.parents[1:] >= np.arange(1, size)):
            raise ModelError("context-tree: parents must come before their children")

    @classmethod
    def fit(
        cls, contexts: Ints, symbols: Ints, alphabet: int, *, alpha: float = 0.05
    ) -> ContextTree:
        """Grow and prune.

        Parameters
        ----------
        contexts
            One row per step: the past, what matters most first.
        symbols
            What followed, from 0.
        alphabet
            How many symbols there are.
        alpha
            A leaf stays if Σ N(x) log(P(x | leaf)/P(x | parent)) exceeds half the (1 − alpha)
            quantile of χ² with alphabet − 1 degrees of freedom.
        """
        parents, branch, counts = _grow(contexts, symbols, alphabet)
        keep = _prune(parents, counts, _cutoff(alphabet, alpha))
        number = np.cumsum(keep) - 1
        return cls(
            np.where(parents[keep] < 0, -1, number[parents[keep]]), branch[keep], counts[keep]
        )

    @property
    def depth(self) -> int:
        """Length of the longest context."""
        deep = np.zeros(self.parents.size, dtype=np.int64)
        for node in range(1, deep.size):
            deep[node] = deep[self.parents[node]] + 1
        return int(deep.max())

    def children(self, width: int) -> Ints:
        """Table node × symbol → child (−1: none); ``width`` symbols in the past."""
        table = np.full((self.parents.size, width), -1, dtype=np.int64)
        for node in range(1, self.parents.size):
            table[self.parents[node], self.symbols[node]] = node
        return table

    def probabilities(self) -> Floats:
        """Distribution of the next symbol at each node."""
        total = self.counts.sum(axis=1, keepdims=True)
        shares: Floats = self.counts / np.maximum(total, 1)
        return shares

    def locate(self, contexts: Ints) -> Ints:
        """Node of the longest known context of each row."""
        table = self.children(int(max(contexts.max(initial=0), self.symbols.max())) + 1)
        node = np.zeros(contexts.shape[0], dtype=np.int64)
        open_rows = np.ones(node.size, dtype=np.bool_)
        for place in range(contexts.shape[1]):
            child = table[node, contexts[:, place]]
            open_rows &= child >= 0
            node = np.where(open_rows, child, node)
        return node

    def predict(self, contexts: Ints) -> Ints:
        """Most probable next symbol of each row."""
        best = np.argmax(self.counts, axis=1)
        return np.asarray(best[self.locate(contexts)], dtype=np.int64)


def lagged(series: Ints, lags: int) -> Ints:
    """Rows of the last values, the most recent first; the first ``lags`` steps are left out."""
    return np.column_stack([series[lags - k : series.size - k] for k in range(1, lags + 1)])


def _grow(contexts: Ints, symbols: Ints, alphabet: int) -> tuple[Ints, Ints, Ints]:
    rows = np.arange(symbols.size)
    node = np.zeros(symbols.size, dtype=np.int64)
    parents, branch = [np.array([-1])], [np.array([-1])]
    counts = [np.bincount(symbols, minlength=alphabet)[None, :]]
    size = 1
    for place in range(contexts.shape[1]):
        wide = int(contexts[:, place].max(initial=0)) + 1
        key = node[rows] * wide + contexts[rows, place]
        keys, index, often = np.unique(key, return_inverse=True, return_counts=True)
        good = often >= LEAST
        if not good.any():
            break
        number = np.cumsum(good) - 1
        kept = good[index]
        rows, index = rows[kept], number[index[kept]]
        parents.append(keys[good] // wide)
        branch.append(keys[good] % wide)
        counts.append(pair_counts(index, symbols[rows], (int(good.sum()), alphabet)))
        node[rows] = size + index
        size += int(good.sum())
    return np.concatenate(parents), np.concatenate(branch), np.concatenate(counts)


def _prune(parents: Ints, counts: Ints, cutoff: float) -> npt.NDArray[np.bool_]:
    """Mark the nodes to keep: informative leaves and all their ancestors."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    above = shares[np.maximum(parents, 0)]
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(counts > 0, counts * np.log(shares / above), 0.0).sum(axis=1)
    keep: npt.NDArray[np.bool_] = gain >= cutoff
    keep[0] = True
    for node in range(parents.size - 1, 0, -1):
        if keep[node]:
            keep[parents[node]] = True
    return keep


def _cutoff(alphabet: int, alpha: float) -> float:
    from scipy.stats import chi2

    return float(chi2.ppf(1 - alpha, max(alphabet - 1, 1)) / 2)
