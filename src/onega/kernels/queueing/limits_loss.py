"""A machine without a queue: a job starts at once on its servers, or is lost."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints


@kernel
def run_loss(
    arrivals: Floats, widths: Ints, durations: Floats, servers: int, warm_up: float
) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Return who was accepted, and the time spent at each number of busy servers after warm-up."""
    accepted = np.zeros(arrivals.size, np.bool_)
    spent = np.zeros(servers + 1)
    running = [(np.inf, 0)]
    busy = 0
    now = warm_up
    for i in range(arrivals.size):
        while running[0][0] <= arrivals[i]:
            end, width = heapq.heappop(running)
            if end > now:
                spent[busy] += end - now
                now = end
            busy -= width
        if arrivals[i] > now:
            spent[busy] += arrivals[i] - now
            now = arrivals[i]
        if busy + widths[i] <= servers:
            accepted[i] = True
            busy += widths[i]
            heapq.heappush(running, (arrivals[i] + durations[i], widths[i]))
    return accepted, spent
