"""Textbook EASY and what Rumyantsev et al. (2018) print: python examples/printed_backfilling.py LOG

Their (13)–(15) differ from EASY in two ways: a backfilled job has to end before the shadow time, so
that none takes the extra processors, and the first candidate that doesn't fit ends the pass. This
is the whole rule in plain Python, with the two apart: first without extra processors, then as it
is printed. The first and the last row are also Onega's `easy` and `easy-2018`, job by job.
"""

from __future__ import annotations

import heapq
import math
import sys

import onega


def head_reservation(running: list[list[float]], free: int, need: int, now: float):
    """Return when the head is expected to fit, and the processors that are free beside it then."""
    ends = sorted((max(expected, now), procs) for _, _, expected, procs in running)
    shadow = now
    for expected, procs in ends:
        if free >= need and expected > shadow:
            break
        shadow, free = expected, free + procs
    return shadow, free - need


def waits(log: onega.Workload, procs: int, *, extra_counts: bool, prefix: bool) -> list[float]:
    """Simulate first come, first served with backfilling; return the wait of each row."""
    columns = (log.table[name].to_list() for name in ("submit", "runtime", "procs", "estimate"))
    jobs = [
        (submit, runtime, width, runtime if estimate is None else estimate)
        for submit, runtime, width, estimate in zip(*columns, strict=True)
    ]
    wait = [0.0] * len(jobs)
    queue: list[int] = []
    running: list[list[float]] = []  # heap of end, start's number, expected end, processors
    free, arrived, starts = procs, 0, 0

    def start(job: int, now: float) -> None:
        nonlocal free, starts
        submit, runtime, width, estimate = jobs[job]
        wait[job] = now - submit
        free, starts = free - width, starts + 1
        heapq.heappush(running, [now + runtime, starts, now + estimate, width])

    while arrived < len(jobs) or running:
        submit = jobs[arrived][0] if arrived < len(jobs) else math.inf
        now = min(submit, running[0][0] if running else math.inf)
        while running and running[0][0] == now:
            free += heapq.heappop(running)[3]
        while arrived < len(jobs) and jobs[arrived][0] == now:
            queue.append(arrived)
            arrived += 1
        while queue and jobs[queue[0]][2] <= free:
            start(queue.pop(0), now)
        if len(queue) < 2 or free == 0:
            continue
        shadow, extra = head_reservation(running, free, jobs[queue[0]][2], now)
        for job in queue[1:]:
            _, _, width, estimate = jobs[job]
            in_time = now + estimate <= shadow if extra_counts else now + estimate < shadow
            if in_time and width > free and prefix:
                break
            if width > free or not (in_time or (extra_counts and width <= extra)):
                continue
            if not in_time:
                extra -= width
            queue.remove(job)
            start(job, now)
    return wait


def main(path: str) -> None:
    log, _ = onega.clean(onega.read(path))
    log = log.sorted()
    if log.meta.procs is None:
        sys.exit(f"{path} doesn't say how large its machine is")
    rules = {
        "easy": {"extra_counts": True, "prefix": False},
        "without extra processors": {"extra_counts": False, "prefix": False},
        "easy-2018": {"extra_counts": False, "prefix": True},
    }
    print("| rule | mean wait, s | same waits in `onega simulate` |")
    print("|---|---|---|")
    for name, rule in rules.items():
        found = waits(log, log.meta.procs, **rule)
        same = "not offered"
        if name != "without extra processors":
            theirs = onega.simulate(log, log.meta.procs, name).jobs["wait"]
            same = f"{sum(a == b for a, b in zip(found, theirs, strict=True)):,} of {len(found):,}"
        print(f"| {name} | {sum(found) / len(found):,.0f} | {same} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
