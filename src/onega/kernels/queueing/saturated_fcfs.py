"""First come, first served with several resources, all jobs waiting from the beginning."""

from __future__ import annotations

import heapq

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints


@kernel
def saturated_starts(needs: Ints, runtimes: Floats, capacity: Ints) -> Floats:
    """Start of every job; job i starts as soon as all before it have and its needs are free."""
    free = capacity.copy()
    starts = np.empty(runtimes.size)
    running = [(np.inf, 0)]
    now = 0.0
    for i in range(runtimes.size):
        while np.any(needs[i] > free):
            end, job = heapq.heappop(running)
            now = end
            free += needs[job]
        free -= needs[i]
        starts[i] = now
        heapq.heappush(running, (now + runtimes[i], i))
    return starts
