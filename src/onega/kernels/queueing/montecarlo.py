"""The stability constant by drawing jobs until the machine is full (Rumyantsev 2014, (10))."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints


@kernel
def sample_reciprocals(
    widths: Ints, cumulative: Floats, servers: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Draw 1/ν: widths are drawn until the next doesn't fit; ν is how many did."""
    sample = np.empty(draws)
    for i in range(draws):
        used = 0
        fitting = 0
        while True:
            c = int(np.searchsorted(cumulative, rng.random(), side="right"))
            used += widths[min(c, widths.size - 1)]
            if used > servers:
                break
            fitting += 1
        sample[i] = 1.0 / fitting
    return sample
