"""The same questions asked to an open and to a closed loop: python examples/open_vs_closed.py LOG

EASY against FCFS, and a tenth more processors. An open loop says how much sooner the same jobs
would have started. In a closed loop people who are served sooner come back sooner and submit
other jobs, so part of the gain is eaten, or turned into work.
"""

from __future__ import annotations

import statistics
import sys

import onega

SEEDS = range(1, 6)


def main(path: str) -> None:
    log, _ = onega.clean(onega.read(path))
    procs = log.meta.procs or int(log.column("procs").max())
    survive = onega.feedback(log).to_polars().filter("survives")["group"].to_list()
    users = onega.ReactiveUsers.fit(log, groups=survive)
    print(f"{len(log)} jobs, {users.users.size} users; reactions that survive chance: {survive}")
    more = round(1.1 * procs)
    cases = {
        f"fcfs, {procs}": (procs, "fcfs"),
        f"easy, {procs}": (procs, "easy"),
        f"easy, {more}": (more, "easy"),
    }
    print(f"median (least–most) of {len(SEEDS)} runs")
    for name, (size, policy) in cases.items():
        for loop, reactions in (("open", ()), ("closed", ("sizes", "thinks"))):
            rows = []
            for seed in SEEDS:
                calm = onega.calibrate(users, procs, "easy", rng=seed)
                run = onega.closed_loop(calm, size, policy, rng=seed, reactions=reactions)
                area = float(run.workload.column("procs") @ run.work) / 86400
                wait = run.summary()["mean_wait"] / 3600
                jain = run.fairness().summary()["jain_mean_bounded_slowdown"]
                rows.append((len(run), area, wait, jain))
            jobs, area, wait, jain = (sorted(column) for column in zip(*rows, strict=True))
            print(f"{name:10} {loop:7} jobs {spread(jobs, 0)}, area {spread(area, 0)} proc·days, "
                  f"mean wait {spread(wait, 1)} h, Jain {spread(jain, 2)}")  # fmt: skip


def spread(values: list[float], digits: int) -> str:
    middle = statistics.median(values)
    return f"{middle:.{digits}f} ({values[0]:.{digits}f}–{values[-1]:.{digits}f})"


if __name__ == "__main__":
    main(sys.argv[1])
