"""Conservative backfilling with thousands waiting, against EASY on the same logs.

Long queues come from campaigns: a user submits hundreds of jobs that ask for the same and end at
different times, mostly long before their estimates, and each such end makes the plan anew. The
first log is made so: 300 000 jobs on 80 000 processors in nodes of 36, with some 1 900 waiting on
average. In the other two all jobs are different, which is the worst case for the planner: one on a
machine that keeps up just so, one that is asked for more than it has, so that the queue grows from
nothing to a thousand. CPU time of the kernels, least of two; the hash is that of all starts.

Budget: at most 30 µs a job, and at most 75 times EASY, on the first log.
"""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import numpy as np

import onega
from onega.core.policy import Policy
from onega.simulation.pool import setup
from onega.simulation.pool.run import Outcome, Task

sys.path.insert(0, str(Path(__file__).parent))
from simulator import made_log

PROCS, NODE = 80_000, 36


def campaigns(jobs: int, load: float, seed: int = 1) -> onega.Workload:
    """Trains of equal requests, heavy-tailed in length, with run times far below the estimates."""
    rng = np.random.default_rng(seed)
    sizes = np.ceil(np.exp(rng.normal(1.0, 1.7, jobs))).astype(int)
    trains = int(np.searchsorted(np.cumsum(sizes), jobs)) + 1
    train = np.repeat(np.arange(trains), sizes[:trains])[:jobs]
    width = NODE * 2 ** np.minimum(rng.geometric(0.45, trains) - 1, 7)
    hours = rng.choice([1, 4, 12, 24, 48], trains, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    estimate = 3600.0 * hours[train]
    runtime = np.maximum(1, np.round(estimate * rng.beta(0.7, 1.3, jobs)))
    gap = (width[train] * runtime).sum() / trains / (load * PROCS)
    submit = np.floor(np.cumsum(rng.exponential(gap, trains)))[train]
    columns = {"submit": submit, "runtime": runtime, "procs": width[train], "estimate": estimate}
    return onega.Workload(columns).with_machine(PROCS)


def measure(log: onega.Workload, policy: str) -> tuple[float, Outcome]:
    """Return the CPU seconds of a run in the kernels, and what came out."""
    rule = Policy.parse(policy).knowing("estimate")
    columns = setup.make_columns(log, np.array(log.column("runtime")), rule, None)
    task = Task(columns, onega.Cluster(PROCS), rule, "instant")
    began = time.process_time()
    outcome = task.run()
    return time.process_time() - began, outcome


def main() -> None:
    for policy in ("easy", "conservative"):
        measure(made_log(5_000, PROCS, 1.3), policy)  # compiles
    logs = {
        "campaigns": campaigns(300_000, 0.8),
        "all different": made_log(100_000, PROCS, 0.97),
        "overload": made_log(20_000, PROCS, 1.2),
    }
    for name, log in logs.items():
        cost = {}
        for policy in ("easy", "conservative"):
            readings = [measure(log, policy) for _ in range(2)]
            cost[policy] = min(seconds for seconds, _ in readings) / len(log) * 1e6
            outcome = readings[0][1]
            wait = outcome.start - log.column("submit")
            waiting = wait.sum() / (outcome.end.max() - log.column("submit").min())
            digest = hashlib.sha256(outcome.start.tobytes()).hexdigest()[:16]
            print(
                f"  {name:14} {policy:13} {cost[policy]:7.2f} µs/job, {waiting:5.0f} wait on "
                f"average, starts {digest}"
            )
        print(f"  {name:14} conservative / EASY: {cost['conservative'] / cost['easy']:.0f}")


if __name__ == "__main__":
    main()
