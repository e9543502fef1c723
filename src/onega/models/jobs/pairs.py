"""What was observed within pairs of states: widths and run times of jobs alike in both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from onega.core.errors import ModelError
from onega.core.types import Floats, Ints
from onega.models.jobs.laws import Observed, draw_by_class
from onega.models.parts import Part, Shapes


@dataclass(frozen=True, eq=False)
class PairLaws(Part):
    """Observed laws per pair (width state, run-time state).

    Within a width state the wider jobs aren't the longer ones, nor the other way round, but the
    two are not independent either: drawing both from their states alone would miss KTH's area by
    3.4 %, from the pair's laws it is 0.1 %.

    Attributes
    ----------
    pairs
        width state · (number of run-time states) + run-time state, ascending.
    procs, runtime
        The laws, one per pair.
    """

    KIND: ClassVar[str] = "pair-laws"
    SHAPES: ClassVar[Shapes] = {"pairs": (None,)}
    pairs: Ints
    procs: tuple[Observed, ...]
    runtime: tuple[Observed, ...]

    def _check(self) -> None:
        if not len(self.procs) == len(self.runtime) == self.pairs.size:
            raise ModelError("pair-laws: one law of width and one of run time per pair are needed")

    @classmethod
    def fit(cls, pair: Ints, procs: Floats, runtime: Floats) -> PairLaws:
        """Gather the values of each pair."""
        pairs, place = np.unique(pair, return_inverse=True)
        order = np.argsort(place, kind="stable")
        groups = np.split(order, np.cumsum(np.bincount(place))[:-1])
        return cls(
            pairs,
            tuple(Observed.of(procs[group], most=None) for group in groups),
            tuple(Observed.of(runtime[group], most=100) for group in groups),
        )

    def draw(
        self, pair: Ints, states: tuple[Ints, Ints], fallback: tuple[tuple[Observed, ...], ...],
        uniforms: Floats,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Draw widths and run times; pairs never seen take the laws of their two states."""
        place = np.searchsorted(self.pairs, pair)
        place = np.minimum(place, self.pairs.size - 1)
        known = self.pairs[place] == pair
        drawn = []
        for laws, state, other, row in zip(
            (self.procs, self.runtime), states, fallback, uniforms, strict=True
        ):
            classes = np.where(known, place, self.pairs.size + state)
            drawn.append(draw_by_class((*laws, *other), classes, row))
        return drawn[0], drawn[1]
