"""Drawing states, and walks of Markov chains."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel


@kernel
def pick(cumulative: np.ndarray, u: float) -> int:
    """Smallest state whose cumulative probability exceeds u (the last one, if rounding fails)."""
    return min(int(np.searchsorted(cumulative, u, side="right")), cumulative.size - 1)


@kernel
def walk(first: int, matrix: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Walk a chain from its first state: cumulative rows, one uniform a step from the second on."""
    path = np.full(uniforms.size, first)
    for i in range(1, uniforms.size):
        path[i] = pick(matrix[path[i - 1]], uniforms[i])
    return path
