"""What sleep saves and costs: a log at several timeouts, with and without waking ahead.

    python examples/sleep_kth.py LOG [--procs N] [--policy easy]

An idle processor falls asleep after the timeout, then draws 5 W instead of 50 W, and needs two
minutes at 100 W to wake up; a busy one draws 100 W. Prints a Markdown table: energy, what is saved
against never sleeping, mean and 95 % wait, how long a job then waits for its processors to wake up,
and the share of all processors' time that is spent asleep.
"""

from __future__ import annotations

import argparse

import onega

BUSY, IDLE, ASLEEP, WAKING = 100.0, 50.0, 5.0, 100.0
"""Watts per processor."""

DELAY = 120.0
"""Seconds to wake up."""

TIMEOUTS = {"1 min": 60.0, "10 min": 600.0, "1 h": 3600.0, "6 h": 6 * 3600.0}

JOULES_PER_MWH = 3.6e9


def machine(procs: int, timeout: float | None, *, wake_ahead: bool = False) -> onega.Cluster:
    """Make a machine whose processors sleep after a timeout (None: never)."""
    sleep = None
    if timeout is not None:
        state = onega.SleepState(timeout, ASLEEP, DELAY, WAKING)
        sleep = onega.Sleep(state, wake_ahead=wake_ahead)
    return onega.Cluster(procs, power=onega.Power(BUSY, IDLE), sleep=sleep)


def row(name: str, schedule: onega.Schedule, base: float) -> str:
    """Write one line of the table."""
    numbers = schedule.summary()
    cells = (
        name,
        f"{numbers['energy'] / JOULES_PER_MWH:.2f}",
        f"{100 * (1 - numbers['energy'] / base):.1f} %",
        f"{numbers['mean_wait']:,.0f}",
        f"{numbers['p95_wait']:,.0f}",
        "0" if schedule.chronicle is None else f"{schedule.chronicle.attempts.wake.mean():.0f}",
        f"{100 * numbers.get('sleep_share', 0.0):.1f} %",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run every timeout and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("--procs", type=int)
    parser.add_argument("--policy", default="easy")
    given = parser.parse_args()
    log, _ = onega.clean(onega.read(given.log))
    procs = given.procs or log.meta.procs
    if procs is None:
        parser.error("the log doesn't say how many processors the machine has; give --procs N")
    print("| timeout | MWh | saved | mean wait, s | 95 % wait, s | waking up, s | asleep |")
    print("|---|---|---|---|---|---|---|")
    awake = onega.simulate(log, machine(procs, None), given.policy)
    base = awake.summary()["energy"]
    print(row("never", awake, base))
    for name, timeout in TIMEOUTS.items():
        for ahead in (False, True):
            told = f"{name}, waking ahead" if ahead else name
            cluster = machine(procs, timeout, wake_ahead=ahead)
            print(row(told, onega.simulate(log, cluster, given.policy), base))


if __name__ == "__main__":
    main()
