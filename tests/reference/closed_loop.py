"""Users who wait for their jobs on a first-come-first-served machine, the obvious way."""

from __future__ import annotations

import heapq
import math

DAY = 86_400.0


def naive_closed_loop(lines, procs, period, until):
    """``lines``: per user a list of dicts submit, runtime, procs, begins, waits, delay.

    Returns (user, submit, start, end) of every job in the order of submission. Everybody begins at
    the beginning of his line.
    """
    calls, sequence, running, queue, done = [], 0, [], [], []
    at = [{"line": 0, "base": 0.0} for _ in lines]
    free, started = procs, 0

    def call(user, when):
        nonlocal sequence
        heapq.heappush(calls, (when, sequence, user))
        sequence += 1

    def next_session(user, now):
        me, mine = at[user], lines[user]
        me["line"] += 1
        if me["line"] == len(mine):
            me["line"], me["base"] = 0, me["base"] + period
        when = mine[me["line"]]["submit"] + me["base"]
        if when < now:
            days = math.ceil((now - when) / DAY)
            me["base"] += days * DAY
            when += days * DAY
        call(user, when)

    for when, user in sorted((mine[0]["submit"], user) for user, mine in enumerate(lines)):
        call(user, when)
    while True:
        coming = calls[0][0] if calls and calls[0][0] < until else math.inf
        now = min(coming, min((r[0] for r in running), default=math.inf))
        if now == math.inf:
            return done
        for entry in sorted((r for r in running if r[0] == now), key=lambda r: r[1]):
            running.remove(entry)
            job, line, last = entry[2]
            free += line["procs"]
            if line["waits"] and last:
                next_session(job["user"], now)
            elif line["waits"]:
                at[job["user"]]["line"] += 1
                call(job["user"], now + line["delay"])
        while calls and calls[0][0] <= now and calls[0][0] < until:
            user = heapq.heappop(calls)[2]
            mine, place = lines[user], at[user]["line"]
            line = mine[place]
            last = place + 1 == len(mine) or mine[place + 1]["begins"]
            job = {"user": user, "submit": now}
            done.append(job)
            queue.append((job, line, last))
            if not line["waits"]:
                if last:
                    next_session(user, now)
                else:
                    at[user]["line"] += 1
                    call(user, now + line["delay"])
        while queue and queue[0][1]["procs"] <= free:
            job, line, last = queue.pop(0)
            free -= line["procs"]
            job["start"], job["end"] = now, now + line["runtime"]
            running.append((job["end"], started, (job, line, last)))
            started += 1
