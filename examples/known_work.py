"""Rate control by true work and by estimates: python examples/known_work.py LOG LOG…

EASY at the logged machine's speed, slowed down to 2.0/2.66 of it while little work is in the system
(Rumyantsev et al. 2018: the rates, powers and thresholds of section IV, the powers exchanged).
The scheduler and its rate control know the run times, the users' estimates, or five times these. A
log without estimates gets them from a model of the first log's (Tsafrir et al. 2005).
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import onega

SLOW = 2.0 / 2.66
K_LOW, K_HIGH = 1e5, 3e5
POWER = onega.Power((0.034, 0.041), (0.014, 0.018))
PROCS = 80
"""Of a log that doesn't say."""


def read(path: str, estimates: onega.models.TsafrirEstimates | None) -> onega.Workload:
    log, _ = onega.clean(onega.read(path))
    if log.has("estimate"):
        return log
    if estimates is None:
        sys.exit(f"{path} has no estimates: name a log before it that has")
    return estimates.recover(log, rng=1)


def main(paths: list[str]) -> None:
    control = onega.RateControl("workload", rates=(SLOW, 1.0), k_low=K_LOW, k_high=K_HIGH)
    estimates = None
    print("| log | known are | fast: wait, s | power | by W: wait, s | power | slow | changes |")
    print("|---|---|---|---|---|---|---|---|")
    for path in paths:
        log = read(path, estimates)
        estimates = estimates or onega.models.TsafrirEstimates.fit(log)
        procs = log.meta.procs or PROCS
        slowed = onega.Cluster(procs, control, POWER)
        fast = onega.Cluster(procs, power=onega.Power(POWER.busy[1], POWER.idle[1]))
        padded = log.with_columns(pl.col("estimate") * 5, note="estimates × 5")
        for known, jobs, knowledge in (
            ("run times", log, "runtime"),
            ("estimates", log, "estimate"),
            ("estimates × 5", padded, "estimate"),
        ):
            cells = [Path(path).name.split(".")[0], known]
            for machine in (fast, slowed):
                found = onega.simulate(jobs, machine, "easy", knowledge=knowledge).summary()
                cells += [f"{found['mean_wait']:,.0f}", f"{found['mean_power']:.3f}"]
            cells += [f"{100 * (1 - found['mean_rate']) / (1 - SLOW):.0f} %"]
            print(f"| {' | '.join(cells)} | {found['rate_changes']} |")


if __name__ == "__main__":
    main(sys.argv[1:])
