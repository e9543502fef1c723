"""Users who wait for their results on a first-come-first-served machine, the obvious way."""

from __future__ import annotations

import math


def naive_last_finished(user, submit, end, within):
    """For each job the row of the user's latest result at its submission, or −1."""
    result = []
    for job in range(len(submit)):
        best = -1
        for other in range(len(submit)):
            ended = user[other] == user[job] >= 0 and end[other] <= submit[job]
            if ended and submit[job] - end[other] <= within:
                later = best < 0 or end[other] >= end[best]
                best = other if later else best
        result.append(best)
    return result


def naive_closed_loop(jobs, procs):
    """``jobs``: dicts submit, runtime, procs, after (row or −1), think. Starts, submissions.

    Second by second where something happens: who ends, who comes, who starts.
    """
    submit = [one["submit"] if one["after"] < 0 else None for one in jobs]
    start, end = [None] * len(jobs), [None] * len(jobs)
    queue, free, here = [], procs, set()
    while True:
        times = [t for j, t in enumerate(submit) if t is not None and j not in here]
        times += [t for j, t in enumerate(end) if t is not None and not jobs[j].get("gone")]
        if not times:
            return start, submit
        now = min(times, default=math.inf)
        for j, one in enumerate(jobs):
            if end[j] == now and not one.get("gone"):
                one["gone"] = True
                free += one["procs"]
                for k, other in enumerate(jobs):
                    if other["after"] == j:
                        submit[k] = now + other["think"]
        for j in range(len(jobs)):
            if submit[j] == now and j not in here:
                here.add(j)
                queue.append(j)
        while queue and jobs[queue[0]]["procs"] <= free:
            j = queue.pop(0)
            free -= jobs[j]["procs"]
            start[j], end[j] = now, now + jobs[j]["runtime"]
