"""Measures on axes: the unit that people read, its name, and marks where values are far apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from onega.figures.theme import TIME_TICKS

if TYPE_CHECKING:
    from onega.experiment.planning.targets import Measure

WIDE: Final = 30.0
"""Values that far apart are drawn on a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How values of a measure are drawn: divided by ``size``, on an axis named ``label``."""

    measure: Measure
    size: float
    label: str
    logarithmic: bool

    def of(self, values: Any) -> Any:  # noqa: ANN401
        """Return values in the axis's unit."""
        return np.asarray(values, dtype=np.float64) / self.size

    def place(self, value: float) -> float:
        """Return where a value stands for an annotation: Plotly wants its logarithm there."""
        drawn = float(self.of(value))
        return math.log10(drawn) if self.logarithmic else drawn

    def words(self, values: Iterable[float]) -> list[str]:
        """Write values for hover texts."""
        return [self.measure.show(float(value)) for value in values]

    def axis(self) -> dict[str, Any]:
        """Return the axis: linear, or logarithmic with marks that people read."""
        axis: dict[str, Any] = {"title": {"text": self.label}}
        if not self.logarithmic:
            return axis
        axis["type"] = "log"
        if self.measure.unit == "s":
            return axis | {
                "tickvals": list(TIME_TICKS),
                "ticktext": list(TIME_TICKS.values()),
            }
        powers = [10.0**power for power in range(-6, 13)]
        return axis | {"tickvals": powers, "ticktext": [f"{value:,g}" for value in powers]}


def scale(measure: Measure, values: Iterable[float], *, wide: bool = True) -> Scale:
    """Choose how these values of a measure are easy to read; ``wide`` allows logarithms."""
    listed = [abs(float(value)) for value in values if math.isfinite(value)]
    largest = max(listed, default=0.0)
    logarithmic = wide and bool(listed) and min(listed) > 0 and largest > WIDE * min(listed)
    if logarithmic and measure.unit == "s":  # its marks say their units themselves
        return Scale(measure, 1.0, measure.words, logarithmic=True)
    size, unit = measure.readable([largest])
    name = f"{measure.words} ({unit})" if unit else measure.words
    return Scale(measure, size, name, logarithmic=logarithmic)
