"""The same questions asked to an open and to a closed loop: python examples/open_vs_closed.py LOG

EASY against FCFS, and a tenth more processors. An open loop says how much sooner the same jobs
would have started. In a closed loop people who are served later come back later, so that a bad
policy shows as work put off rather than as an endless queue.
"""

from __future__ import annotations

import sys

import onega

HOUR = 3600.0


def main(path: str) -> None:
    log, _ = onega.clean(onega.read(path))
    procs = log.meta.procs or int(log.column("procs").max())
    more = round(1.1 * procs)
    loops = [("open", 0.0), ("closed", 8 * HOUR), ("closed", 24 * HOUR), ("closed", 168 * HOUR)]
    for size, policy in ((procs, "easy"), (procs, "fcfs"), (more, "easy")):
        for loop, within in loops:
            users = onega.ReactiveUsers.fit(log, procs, "easy", within=within)
            run = onega.closed_loop(users, size, policy)
            days = (run.workload.column("submit").max() - log.column("submit").max()) / (24 * HOUR)
            wait = run.summary()["mean_wait"] / HOUR
            print(f"{policy:5} {size:5} {loop:7} within {within / HOUR:4.0f} h: jobs {len(run)}, "
                  f"mean wait {wait:8.2f} h, the last comes {days:6.1f} days later")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
