"""Digests of whole schedules of the pool, for comparison before and after a change.

One line for each log, policy, rule of ties, knowledge and rate control: a digest of starts, ends,
last starts, changes of rate and pieces of interrupted service. ``python bench/pool_hashes.py >
before.txt``, change the kernels, run it again, and compare the files. Archive logs are taken from
``../shared/traces`` where there are any; the made ones have crowded ties, long queues and one
processor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from conservative import campaigns
from simulator import LOGS, archive_log, made_log

import onega
from onega.core.policy import ORDERS, Policy
from onega.simulation.pool import setup
from onega.simulation.pool.run import Outcome, Task

BACKFILLING = ("", "+easy", "+conservative", "+easy-2018")
CONTROLS = {
    "": onega.RateControl(),
    " random": onega.RateControl("random", rates=(0.7, 1.0), p_low=0.3, p_high=0.4),
    " queue": onega.RateControl("queue", rates=(0.7, 1.0), k_low=5, k_high=20),
    " workload": onega.RateControl("workload", rates=(0.7, 1.0), k_low=2e5, k_high=1e6),
}


def digest(outcome: Outcome) -> str:
    """Return a digest of all that happened."""
    hasher = hashlib.sha256()
    for column in (outcome.start, outcome.end, outcome.last_start):
        hasher.update(np.ascontiguousarray(column).tobytes())
    for portions in (outcome.switches, outcome.pieces):
        log = np.concatenate(portions) if portions else np.empty(0, [("none", float)])
        for name in log.dtype.names or ():
            hasher.update(np.ascontiguousarray(log[name]).tobytes())
    return hasher.hexdigest()[:16]


def crowded_log(jobs: int, procs: int, seed: int = 1) -> onega.Workload:
    """Whole minutes, so that many jobs come and end at once; estimates below, at and above."""
    rng = np.random.default_rng(seed)
    runtime = 60.0 * rng.integers(1, 30, jobs)
    columns = {
        "submit": 60.0 * np.sort(rng.integers(0, 2 * jobs, jobs)),
        "runtime": runtime,
        "procs": np.minimum(procs, rng.geometric(2 / (procs + 1), jobs)),
        "estimate": np.maximum(60.0, runtime + 60.0 * rng.integers(-5, 30, jobs)),
    }
    return onega.Workload(columns).with_machine(procs)


def policies(log: onega.Workload) -> Iterator[str]:
    """Name all policies of the pool; where keys depend on the time only on short logs."""
    for order in ORDERS:
        if order == "multifactor" or (order in ("xf", "wfp3", "unicef") and len(log) > 5000):
            continue
        for rule in BACKFILLING if not order.endswith("-pr") else ("",):
            if rule != "+easy-2018" or order == "fcfs":
                yield order + rule


def main() -> None:
    """Print a line for each case."""
    logs = {
        "crowded": crowded_log(3000, 24),
        "one processor": crowded_log(800, 1),
        "made": made_log(4000, 256, 0.95),
        "long queue": made_log(3000, 4096, 1.5),
    }
    logs |= {name: log.head(8000) for name in LOGS if (log := archive_log(name)) is not None}
    logs |= {"campaigns": campaigns(20_000, 0.9)}
    for name, log in logs.items():
        for policy in policies(log):
            short = len(log) < 10_000
            for ties in ("instant", "event") if short else ("instant",):
                for knowledge in ("estimate", "runtime") if short else ("estimate",):
                    for label, control in CONTROLS.items() if short else [("", CONTROLS[""])]:
                        rule = Policy.parse(policy).knowing(knowledge)
                        work = np.array(log.column("runtime"))
                        columns = setup.make_columns(log, work, rule, None)
                        cluster = onega.Cluster(log.meta.procs or 1, rates=control)
                        outcome = Task(columns, cluster, rule, ties, 1).run()
                        print(f"{name} {policy} {ties} {knowledge}{label}: {digest(outcome)}")


if __name__ == "__main__":
    main()
