"""Slurm's scheduler with Python's sets and lists, as plainly as possible (twin of kernels.slurm).

No shortcut: every backfill cycle that comes up goes through the whole queue.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, inf


def best_fit(free, wanted):
    """select/linear: smallest run of consecutive nodes that suffices, else largest, and again."""
    left, chosen = set(free), set()
    while len(chosen) < wanted:
        runs = []
        for node in sorted(left):
            if runs and runs[-1][-1] == node - 1:
                runs[-1].append(node)
            else:
                runs.append([node])
        need = wanted - len(chosen)
        enough = [run for run in runs if len(run) >= need]
        run = min(enough, key=len) if enough else max(runs, key=len)
        chosen |= set(run[:need])
        left -= set(run)
    return chosen


def reserve(plan, start, until, nodes):
    """The plan is a list of (begin, end, free nodes).

    The first of the slots about the reservation that has what its successor has is joined to it;
    Slurm joins one at most.
    """
    start = max(start, plan[0][0])
    cut = []
    for begin, end, free in plan:
        marks = [begin, *(t for t in sorted({start, until}) if begin < t < end), end]
        for a, b in pairwise(marks):
            inside = a >= start and b <= until
            cut.append((a, b, free - nodes if inside else free))
    first = next((k for k, slot in enumerate(cut) if slot[1] > start), len(cut))
    for k in range(max(first - 2, 0), len(cut) - 1):
        if cut[k][0] >= until:
            break
        if cut[k][2] == cut[k + 1][2]:
            cut[k : k + 2] = [(cut[k][0], cut[k + 1][1], cut[k][2])]
            break
    return cut


def earliest(plan, job, now, idle, completing, running, resolution, grid):
    """(start or ∞, nodes allowed, nodes chosen, whether it waits for another job's plan)."""
    every = set().union(*(free for _, _, free in plan))
    later, window_end, defers = now, plan[-1][1], False
    for _ in range(10_000):
        begin_at, later, allowed = later, 0, None
        until = max(begin_at, now) + job["limit"]
        for place, (begin, end, free) in enumerate(plan):
            if end > begin_at and place + 1 < len(plan) and not later:
                here = free if allowed is None else allowed & free
                if not plan[place + 1][2] <= here:
                    later = end
            if end > begin_at and begin > until:
                break
            if end > begin_at:
                allowed = free if allowed is None else allowed & free
        allowed = every if allowed is None else allowed
        usable, start = (idle | completing) & allowed, inf
        if len(usable) >= job["procs"]:
            start = now
        else:
            for expected, nodes in sorted(running, key=lambda one: one[0]):
                usable = usable | (nodes & allowed)
                if len(usable) >= job["procs"]:
                    start = expected if expected > now else now + 1
                    break
        if start == inf:
            if later:
                continue
            return inf, allowed, set(), defers
        chosen = best_fit(usable, job["procs"])
        defers = defers or begin_at > start
        start = max(start, begin_at)
        if start <= now:
            if not chosen & completing:
                return now, allowed, chosen, defers
            start, later = now + 1, 0
        if later and start > later:
            continue
        if start > window_end:
            return inf, allowed, set(), defers
        a = grid + floor((start - grid) / resolution) * resolution
        b = grid + floor((start + job["limit"] - grid) / resolution) * resolution
        clash = any(e > a and s < b and not chosen <= free for s, e, free in plan)
        if start > now and clash:
            if start <= begin_at:
                return inf, allowed, set(), defers
            later = start
            continue
        plan[:] = reserve(plan, a, max(b, a + resolution), chosen)
        return start, allowed, chosen, defers
    return inf, set(), set(), defers


def seen_after(takes):
    """slurmctld looks after 5, 10, 20, … ms, and then every second, whether nodes have answered."""
    looks, step = 0.0, 0.005
    while looks < takes and step < 1:
        looks, step = looks + step, 2 * step
    return looks + max(0, ceil(takes - looks))


def simulate(jobs, procs, rules, beat=0.5, wake=0.25, full=0.5, past=0, turns=(1, 1, 0)):
    """Starts of ``jobs`` (dicts with submit, runtime, limit, procs, release, reports, overrun).

    Those with a ``submission`` are heard of once it is over; submissions wait for each other.
    ``past``: seconds from a time to which plans are rounded to the log's zero.
    """
    heard = -inf
    for job in jobs:
        if "submission" in job:
            heard = job["submit"] = max(heard, job["submit"]) + job["submission"]
    idle, completing = set(range(procs)), set()
    queue, active, arrived, over = [], [], 0, 0
    second = floor(jobs[0]["submit"])
    beat, wake = second - 1 + beat, second - 1 + wake
    last_full = last_pass = second - floor(full * max(rules.sched_interval, 1))
    last_cycle, asked, changed, marked = second - rules.bf_interval, False, 0, False
    every = 60 if rules.min_job_age >= 60 else max(10, rules.min_job_age)
    last_look, remembered = second - floor(full * every), []
    now = 0.0

    def start(job, nodes):
        nonlocal idle, changed
        job["start"], job["nodes"], job["state"] = now, nodes, "running"
        job["end"] = max(now, floor(now) + job["runtime"]) + job["overrun"]
        idle = idle - nodes
        queue.remove(job)
        active.append(job)
        changed = floor(now)

    def main_pass(depth):
        for job in queue[:depth]:
            if len(idle) < job["procs"]:
                return
            start(job, best_fit(idle, job["procs"]))

    def cycle():
        nonlocal changed, marked
        t = floor(now)
        planned, defers, was_marked = set(), False, marked
        plan = [(t, t + 60 * rules.bf_window, set(range(procs)))]
        for job in queue[: rules.bf_max_job_test]:
            running = [
                (floor(one["start"]) + one["limit"], one["nodes"])
                for one in active
                if one["state"] == "running"
            ]
            when, allowed, chosen, waits = earliest(
                plan, job, t, idle, completing, running, rules.bf_resolution, -past
            )
            defers = defers or waits
            if when <= t:
                start(job, best_fit(idle & allowed, job["procs"]))
            elif when < inf:
                planned |= chosen
        marked = bool(planned & (idle | completing))
        if was_marked or marked or defers:
            changed = t

    def due(job):
        return job[{"running": "end", "completing": "freed", "released": "noticed"}[job["state"]]]

    def notice(job):
        nonlocal over, asked
        active.remove(job)
        over, asked = over + 1, True

    while over < len(jobs):
        ending = min((due(job) for job in active), default=inf)
        arriving = jobs[arrived]["submit"] if arrived < len(jobs) else inf
        now = min(ending, arriving, beat, wake)
        if now == ending:
            job = next(one for one in active if due(one) == ending)
            if job["state"] == "released":
                notice(job)
                continue
            changed = floor(now)
            if job["state"] == "running":
                job["state"] = "completing"
                remembered.append(floor(now))
                takes = job["release"] + job["reports"]
                job["freed"] = now + takes
                job["noticed"] = max(job["freed"], now + seen_after(takes))
                completing |= job["nodes"]
            else:
                job["state"] = "released"
                completing, idle = completing - job["nodes"], idle | job["nodes"]
                if job["noticed"] == job["freed"]:
                    notice(job)
        elif now == arriving:
            queue.append(jobs[arrived])
            arrived, asked, changed = arrived + 1, True, floor(now)
        elif now == beat:
            beat += turns[0]
            if rules.min_job_age and floor(now) - last_look >= every:
                last_look = floor(now)
                young = [end for end in remembered if end > floor(now) - rules.min_job_age]
                if len(young) < len(remembered):
                    remembered, changed = young, floor(now)
            if floor(now) - last_full >= rules.sched_interval:
                last_full = last_pass = floor(now)
                asked = False
                if queue:
                    changed = floor(now)
                    main_pass(len(queue))
            elif asked and floor(now) - last_pass >= rules.batch_sched_delay:
                last_pass, asked = floor(now), False
                main_pass(rules.default_queue_depth)
        elif floor(now) - last_cycle < rules.bf_interval or changed < last_cycle:
            wake = now + turns[1]
        else:
            cycle()
            last_cycle, wake = floor(now), now + rules.bf_interval + turns[2]
    return [job["start"] for job in jobs]
