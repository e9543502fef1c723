"""A scheduling policy of your own, at the speed of the built-in ones.

    python examples/own_policy.py [LOG] [--procs N]

A policy's order is a Python function of (now, submit, estimate, procs); the smallest value goes
first. It is compiled once and then called by the simulator's loop as compiled code. Here: three
orders of one's own beside built-in ones, all with EASY backfilling, over a log, or over 20 000 jobs
of a model if none is given.
"""

from __future__ import annotations

import argparse
import math
import time

import onega
from onega.figures.export import write_html
from onega.figures.schedule import compare_schedules


def narrow_first(now: float, submit: float, estimate: float, procs: float) -> float:
    """Few processors first, short before long among equals; never depends on the time."""
    return procs + estimate / 1e7


def patient(now: float, submit: float, estimate: float, procs: float) -> float:
    """Short jobs first, but each hour of waiting counts as if the job were half as long."""
    return math.log2(estimate) - (now - submit) / 3600.0


def fair_to_wide(now: float, submit: float, estimate: float, procs: float) -> float:
    """Expansion factor, with wide jobs ageing faster: they have fewer chances to start."""
    return -(now - submit + estimate) / estimate * math.sqrt(procs)


POLICIES = {
    "fcfs": "easy",
    "shortest first": "spf+easy",
    "smallest area first": "saf+easy",
    "WFP3": "wfp3+easy",
    "narrow_first": onega.Policy(onega.Priority(narrow_first, static=True), "easy"),
    "patient": onega.Policy(patient, "easy"),
    "fair_to_wide": onega.Policy(fair_to_wide, "easy"),
}


def main() -> None:
    """Run every policy, print one table, draw the waits over each other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", nargs="?", help="a job log; a sample of a model by default")
    parser.add_argument("--procs", type=int, help="processors, if the log doesn't say")
    parser.add_argument("--out", default="own-policy", help="folder of the page (own-policy)")
    options = parser.parse_args()

    log = read(options.log, options.procs)
    procs = log.meta.procs
    print(f"{len(log)} jobs on {procs} processors, EASY backfilling\n")
    print(f"{'order':20} {'mean wait':>11} {'95 % wait':>11} {'slowdown':>9} {'jobs/s':>11}")
    schedules = {}
    for name, policy in POLICIES.items():
        onega.simulate(log.head(100), procs, policy)  # compiles, so that the next line is timed
        began = time.perf_counter()
        schedule = onega.simulate(log, procs, policy)
        speed = len(log) / (time.perf_counter() - began)
        found = schedule.summary()
        print(
            f"{name:20} {found['mean_wait']:9,.0f} s {found['p95_wait']:9,.0f} s "
            f"{found['mean_bounded_slowdown']:9.1f} {speed:11,.0f}"
        )
        schedules[name] = schedule
    figures = {
        "waits": compare_schedules(schedules),
        "slowdown": compare_schedules(schedules, measure="bounded_slowdown"),
    }
    print(f"\n{write_html(figures, f'{options.out}/policies.html', title='Own policies')}")


def read(path: str | None, procs: int | None) -> onega.Workload:
    """Read a log and take out what can't be simulated, or draw jobs from Lublin's model."""
    if path is None:
        return onega.models.Lublin().sample(20_000, rng=1, load=0.75, cluster=128)
    log, report = onega.clean(onega.read(path))
    print(report)
    if procs is not None:
        log = log.with_machine(procs)
    if log.meta.procs is None:
        raise SystemExit("the log doesn't say how many processors there are; give --procs N")
    return log


if __name__ == "__main__":
    main()
