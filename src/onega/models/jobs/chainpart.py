"""A chain over powers of two with a law of the values within each state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.core.workload.chains import Chain, transition_matrix
from onega.models.jobs.laws import Observed, draw_by_class
from onega.models.parts import Part, Shapes, frozen_array


@dataclass(frozen=True, eq=False)
class ChainPart(Part):
    """One attribute's chain (Song 2006, §3.2.1).

    Attributes
    ----------
    levels
        l_j, powers of two, ascending.
    counts
        p_ij, transitions observed.
    quality
        c_j, how often a state's value is l_j itself.
    top
        The largest value seen: the last state ends there.
    whole
        Whether all values are whole numbers.
    within
        The observed law in each state; empty: uniform between the powers, as in the thesis.
    repeats
        h_j: how often a state that stays keeps the very value, beyond chance; empty: never.
    """

    KIND: ClassVar[str] = "power-chain"
    SHAPES: ClassVar[Shapes] = {"levels": ("n",), "counts": ("n", "n"), "quality": ("n",)}
    levels: Floats
    counts: Ints
    quality: Floats
    top: float
    whole: bool = True
    within: tuple[Observed, ...] = ()
    repeats: Floats = field(default_factory=lambda: np.empty(0))

    def _check(self) -> None:
        size = self.levels.size
        repeats = frozen_array(self.repeats, np.float64, shape=(size if len(self.repeats) else 0,))
        object.__setattr__(self, "repeats", repeats)
        if np.any((self.quality < 0) | (self.quality > 1)) or np.any(self.counts < 0):
            raise ModelError("power-chain: counts must not be negative, quality lie in [0, 1]")
        if len(self.within) not in (0, size):
            raise ModelError(f"power-chain: {size} laws within states are needed")

    @classmethod
    def fit(cls, values: Floats, *, within: str, most: int | None) -> ChainPart:
        """Count; ``within`` is ``"uniform"``, ``"observed"`` or ``"repeating"``."""
        chain = Chain.of(values)
        laws: tuple[Observed, ...] = ()
        repeats = np.empty(0)
        if within != "uniform":
            laws = Observed.by_class(values, chain.path, most=most)
        if within == "repeating":
            repeats = _repeats(values, chain)
        return cls(
            levels=chain.levels,
            counts=chain.counts,
            quality=chain.quality,
            top=float(values.max()),
            whole=bool(np.all(values == np.rint(values))),
            within=laws,
            repeats=repeats,
        )

    @property
    def dimension(self) -> int:
        """The number of states."""
        return int(self.levels.size)

    @property
    def transitions(self) -> Floats:
        """e_ij."""
        return transition_matrix(self.counts)

    @property
    def frequencies(self) -> Floats:
        """How often each state was left or entered, as shares."""
        visits = self.counts.sum(axis=0) + self.counts.sum(axis=1).astype(np.float64)
        shares: Floats = visits / visits.sum() if visits.sum() else np.full(visits.size, 1.0)
        return shares

    def values(self, path: npt.ArrayLike, uniforms: Floats) -> Floats:
        """Turn states into values; ``uniforms`` has three rows.

        l_j with probability c_j, else uniform strictly between l_j and the next power, whole
        numbers if the log's are; the last state ends at the largest value.
        """
        states = np.asarray(path)
        if self.within:
            return self.repeat(states, draw_by_class(self.within, states, uniforms[0]), uniforms[2])
        low = self.levels[states]
        high = np.minimum(2 * low, self.top + 1 if self.whole else self.top)
        if self.whole:
            between = low + 1 + np.floor(uniforms[1] * np.maximum(high - low - 1, 0))
            empty = high - low - 1 < 1  # nothing lies between 1 and 2
        else:
            between = low + uniforms[1] * (high - low)
            empty = high <= low
        exact = (uniforms[0] < self.quality[states]) | empty
        drawn: Floats = np.where(exact, low, between)
        return drawn

    def repeat(self, states: Ints, drawn: Floats, uniforms: Floats) -> Floats:
        """Keep the value before, with probability h_j, where the state stays."""
        if self.repeats.size == 0 or states.size == 0:
            return drawn
        stays = np.concatenate(([False], states[1:] == states[:-1]))
        kept = stays & (uniforms < self.repeats[states])
        source = np.maximum.accumulate(np.where(kept, 0, np.arange(states.size)))
        repeated: Floats = drawn[source]
        return repeated


def _repeats(values: Floats, chain: Chain) -> Floats:
    """h_j = (e_j − s_j) / (1 − s_j): equal neighbours in state j beyond the chance s_j = Σ p²."""
    stays = chain.path[1:] == chain.path[:-1]
    state = chain.path[1:][stays]
    equal = (values[1:] == values[:-1])[stays]
    total = np.bincount(state, minlength=chain.dimension)
    share = np.bincount(state, weights=equal, minlength=chain.dimension) / np.maximum(total, 1)
    chance = np.empty(chain.dimension)
    for j in range(chain.dimension):
        _, counts = np.unique(values[chain.path == j], return_counts=True)
        chance[j] = np.sum((counts / counts.sum()) ** 2)
    beyond: Floats = np.where(chance < 1, (share - chance) / np.maximum(1 - chance, 1e-12), 0.0)
    return np.clip(beyond, 0, 1)
