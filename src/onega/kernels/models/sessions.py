"""Jobs of one session resemble each other: a first-order autoregression that starts anew."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import kernel
from onega.kernels.types import Floats


@kernel
def remembered(
    noise: Floats, fresh: npt.NDArray[np.bool_], memory: Floats, deviation: Floats
) -> None:
    """Fill ``deviation``: e_i = ρ_i e_{i−1} + √(1 − ρ_i²) ε_i; e_i = ε_i where i is fresh.

    With standard normal ε every e_i is standard normal, whatever the ρ: laws stay as they are,
    only neighbours become alike.
    """
    last = 0.0
    for index in range(noise.size):
        if fresh[index]:
            last = noise[index]
        else:
            rho = memory[index]
            last = rho * last + np.sqrt(1.0 - rho * rho) * noise[index]
        deviation[index] = last
