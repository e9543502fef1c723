"""A machine without a queue, simulated job by job: a job starts at once, or is lost."""

from __future__ import annotations

import heapq

import numpy as np

from onega.core.rng import child, generator, seed_sequence
from onega.queueing.limits.simulation import Measured
from onega.queueing.loss import Loss


def run_loss(arrivals, widths, durations, servers, warm_up):
    """Return which jobs were accepted, and the time with n busy servers after the warm-up."""
    accepted = np.zeros(len(arrivals), bool)
    spent = np.zeros(servers + 1)
    running = []
    busy, now = 0, warm_up

    def pass_time(until):
        nonlocal now
        if until > now:
            spent[busy] += until - now
            now = until

    for i, arrival in enumerate(arrivals):
        while running and running[0][0] <= arrival:
            end, width = heapq.heappop(running)
            pass_time(end)
            busy -= width
        pass_time(arrival)
        if busy + widths[i] <= servers:
            accepted[i] = True
            busy += widths[i]
            heapq.heappush(running, (arrival + durations[i], widths[i]))
    return accepted, spent


def simulate_loss(model: Loss, *, jobs: int, replicates: int, rng: int) -> dict[str, Measured]:
    """Measure ``p_loss``, ``mean_busy``, ``all_busy`` and ``blocking_k`` for each width k.

    Run times are exponential. The first fifth of the jobs is the warm-up.
    """
    rate = float(model.offered.sum())  # arrivals per mean run time if all run times had mean 1
    values = model.widths.values
    mean = model.offered / (rate * model.widths.probs)
    rows = []
    for k in range(replicates):
        draw = generator(child(seed_sequence(rng), k))
        arrival = np.cumsum(draw.exponential(1 / rate, jobs))
        kind = draw.choice(values.size, jobs, p=model.widths.probs)
        length = draw.exponential(1.0, jobs) * mean[kind]
        warm = float(arrival[jobs // 5])
        columns = (arrival.tolist(), values[kind].tolist(), length.tolist())
        accepted, spent = run_loss(*columns, model.procs, warm)
        late = arrival > warm
        lost, kind = ~accepted[late], kind[late]
        share = spent / spent.sum()
        blocked = [float(lost[kind == c].mean()) for c in range(values.size)]
        busy = float(np.dot(share, np.arange(model.procs + 1)))
        rows.append([float(lost.mean()), busy, float(share[-1]), *blocked])
    names = ["p_loss", "mean_busy", "all_busy", *(f"blocking_{k}" for k in values)]
    return {name: Measured(column) for name, column in zip(names, np.array(rows).T, strict=True)}
