"""Round numbers: most users say "one hour", not "57 minutes" (Song 2006, §4.2.2 and Table 4.6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from onega.core.errors import ModelError
from onega.core.types import Floats
from onega.models.parts import Part, Shapes

MINUTE = 60.0
HOUR = 3600.0

_CANDIDATES = np.array([60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 14400, 21600.0])


@dataclass(frozen=True, eq=False)
class Alignment(Part):
    """Estimates are moved, with a probability, to the nearest multiple of a unit.

    Attributes
    ----------
    probability
        How often; the thesis takes 0.8 (in its logs 70 to 95 % of the estimates are round).
    begins
        Seconds where each range begins, ascending; below the first nothing is moved.
    units
        Seconds: the unit of each range. The defaults are Table 4.6.
    """

    KIND: ClassVar[str] = "alignment"
    SHAPES: ClassVar[Shapes] = {"begins": ("ranges",), "units": ("ranges",)}
    probability: float = 0.8
    begins: Floats = field(default_factory=lambda: np.array([MINUTE, 5 * MINUTE, HOUR, 4 * HOUR]))
    units: Floats = field(default_factory=lambda: MINUTE * np.array([1, 5, 20, 60]))

    def _check(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ModelError(f"alignment: probability must lie in [0, 1], got {self.probability}")
        if np.any(np.diff(self.begins) <= 0) or np.any(self.units <= 0):
            raise ModelError("alignment: ranges must begin in ascending order, units be positive")

    @classmethod
    def fit(cls, estimates: Floats) -> Alignment:
        """Learn the unit of each range of Table 4.6, and the probability, from a log.

        In a range, a share s of estimates falls on the M/u multiples of u seconds and the rest
        anywhere among its M seconds; the unit with the largest likelihood is taken.
        """
        table = cls()
        edges = np.append(table.begins, np.inf)
        units = []
        for low, high, default in zip(edges[:-1], edges[1:], table.units, strict=True):
            inside = estimates[(estimates >= low) & (estimates < high)]
            units.append(_best_unit(inside, low) if inside.size >= 100 else float(default))
        learnt = cls(1.0, table.begins, np.array(units))
        considered = estimates[estimates >= table.begins[0]]
        if considered.size == 0:
            return table
        aligned = np.mean(considered % learnt._unit_of(considered) == 0)
        return cls(float(aligned), table.begins, np.array(units))

    def apply(self, estimates: Floats, uniforms: Floats) -> Floats:
        """Move the estimates whose uniform number is below the probability."""
        unit = self._unit_of(estimates)
        nearest = np.maximum(np.rint(estimates / unit), 1) * unit
        moves = (uniforms < self.probability) & (estimates >= self.begins[0])
        moved: Floats = np.where(moves, nearest, estimates)
        return moved

    def _unit_of(self, estimates: Floats) -> Floats:
        place = np.searchsorted(self.begins, estimates, side="right") - 1
        found: Floats = self.units[np.maximum(place, 0)]
        return found


def _best_unit(estimates: Floats, low: float) -> float:
    seconds = max(float(estimates.max()) - low, 1.0) + 1
    best, best_score = MINUTE, -np.inf
    for unit in _CANDIDATES[max(low, MINUTE) * 2 >= _CANDIDATES]:
        hits = int(np.sum(estimates % unit == 0))
        share = min(max(hits / estimates.size, 1e-9), 1 - 1e-9)
        multiples = max(seconds / unit, 1.0)
        on = np.log(share / multiples + (1 - share) / seconds)
        score = hits * on + (estimates.size - hits) * np.log((1 - share) / seconds)
        if score > best_score:
            best, best_score = float(unit), float(score)
    return best
