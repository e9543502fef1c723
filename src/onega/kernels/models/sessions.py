"""Jobs of one session resemble each other: a first-order autoregression that starts anew."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.types import Floats


@kernel
def remembered(noise: Floats, memory: Floats) -> Floats:
    """Return e_i = ρ_i e_{i−1} + √(1 − ρ_i²) ε_i; where ρ_i = 0, e_i = ε_i is fresh.

    With standard normal ε every e_i is standard normal, whatever the ρ: laws stay as they are,
    only neighbours become alike.
    """
    deviation = np.empty(noise.size)
    last = 0.0
    for index in range(noise.size):
        rho = memory[index]
        last = rho * last + np.sqrt(1.0 - rho * rho) * noise[index]
        deviation[index] = last
    return deviation
