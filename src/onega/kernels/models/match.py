"""Giving estimates to jobs so that no job outlives its own."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel


@kernel
def match(runtimes: np.ndarray, estimates: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Give each run time a random free estimate that isn't shorter.

    Both arrays descend. The pool of estimates that can hold a job only grows from the longest job
    to the shortest, so every estimate enters it once and leaves it once. NaN where none is free.
    """
    n = runtimes.size
    taken = np.empty(n, np.float64)
    pool = np.empty(estimates.size, np.float64)
    size = 0
    following = 0
    for i in range(n):
        while following < estimates.size and estimates[following] >= runtimes[i]:
            pool[size] = estimates[following]
            size += 1
            following += 1
        if size == 0:
            taken[i] = np.nan
            continue
        place = min(int(uniforms[i] * size), size - 1)
        taken[i] = pool[place]
        size -= 1
        pool[place] = pool[size]
    return taken
