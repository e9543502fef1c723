"""The same questions asked to an open and to a closed loop: python examples/open_vs_closed.py LOG

EASY against FCFS, and a tenth more processors. An open loop says how much sooner the same jobs
would have started. In a closed loop people who are served sooner come back sooner and submit
other jobs, so part of the gain is eaten, or turned into work.
"""

from __future__ import annotations

import sys

import onega


def main(path: str) -> None:
    log, _ = onega.clean(onega.read(path))
    procs = log.meta.procs or int(log.column("procs").max())
    survive = onega.feedback(log).to_polars().filter("survives")["group"].to_list()
    users = onega.ReactiveUsers.fit(log, groups=survive)
    users = onega.calibrate(users, procs, "easy", rng=1)
    print(f"{len(log)} jobs, {users.users.size} users; reactions that survive chance: {survive}")
    more = round(1.1 * procs)
    cases = {
        f"fcfs, {procs}": (procs, "fcfs"),
        f"easy, {procs}": (procs, "easy"),
        f"easy, {more}": (more, "easy"),
    }
    print(f"{'':12}{'':8}{'jobs':>8}{'area, proc·days':>17}{'mean wait, h':>14}"
          f"{'slowdown':>10}{'used':>7}{'Jain':>7}")  # fmt: skip
    for name, (size, policy) in cases.items():
        for loop, reactions in (("open", ()), ("closed", ("sizes", "thinks"))):
            run = onega.closed_loop(users, size, policy, rng=1, reactions=reactions)
            flat = run.summary()
            area = float(run.workload.column("procs") @ run.work) / 86400
            fair = run.fairness().summary()["jain_mean_bounded_slowdown"]
            print(f"{name:12}{loop:8}{len(run):8}{area:17.0f}{flat['mean_wait'] / 3600:14.1f}"
                  f"{flat['mean_bounded_slowdown']:10.1f}{flat['utilisation']:7.1%}"
                  f"{fair:7.2f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
