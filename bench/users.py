"""Users: grouping a large log, feedback, a closed loop of a million jobs, beside their budgets."""

from __future__ import annotations

import time
from pathlib import Path

import onega

BUDGET = {"groups of HPC2N": 10.0, "feedback of KTH": 5.0, "closed loop of 10^6 jobs": 3.3}
COPIES = 36
"""So many times KTH's 28 467 jobs, on so many machines, make a million."""


def traces() -> Path | None:
    here = Path(__file__).resolve().parent
    for parent in here.parents:
        if (parent / "shared" / "traces").is_dir():
            return parent / "shared" / "traces"
    return None


def main() -> None:
    folder = traces()
    if folder is None:
        print("users: no archive logs beside the repository")
        return
    large, _ = onega.clean(onega.read(folder / "HPC2N-2002-2.2-cln.swf.gz"))
    kth, _ = onega.clean(onega.read(folder / "KTH-SP2-1996-2.1-cln.swf.gz"))
    users = onega.ReactiveUsers.fit(kth)
    onega.closed_loop(users)  # compiles, or loads what was compiled
    tasks = {
        "groups of HPC2N": lambda: onega.models.UserGroups.fit(large),
        "feedback of KTH": lambda: onega.feedback(kth),
        "closed loop of 10^6 jobs": lambda: onega.closed_loop(
            users, 100 * COPIES, "easy", rng=0, population=COPIES
        ),
    }
    for name, task in tasks.items():
        began = time.process_time()
        task()
        took = time.process_time() - began
        print(f"{name}: {took:.2f} s of CPU, {BUDGET[name] / took:.1f} × within the budget")


if __name__ == "__main__":
    main()
