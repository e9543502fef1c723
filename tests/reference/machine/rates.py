"""The naive detailed machine: when the rate changes."""

from __future__ import annotations

from math import inf

from reference.machine.state import RUNNING, WAITING, Machine, Number
from reference.schedulers import work_until


def set_level(machine: Machine, level: int) -> None:
    machine.v_ref, machine.t_ref = machine.clock, machine.now
    machine.level = level
    machine.switches.append((machine.now, level))


def _in_system(machine: Machine) -> int:
    return len(machine.in_phase(WAITING)) + len(machine.in_phase(RUNNING))


def _workload(machine: Machine) -> Number:
    """What is known of the remaining work of all jobs in the system."""
    idle, served = _known_left(machine)
    return idle + sum(served)


def _known_left(machine: Machine) -> tuple[Number, list[Number]]:
    """Known work of jobs that wait or are in launch, and what is left of it for each at work."""
    idle = sum(machine.expect_left(j, machine.choices(j)[0]) for j in machine.in_phase(WAITING))
    served = []
    for attempt in machine.running:
        known = machine.expect_left(attempt.job, attempt.option)
        if attempt.begin is None:
            idle += known
        elif attempt.working:
            served.append(max(0, attempt.v_begin + known - machine.clock))
    return idle, served


def decide_on_arrival(machine: Machine, j: int) -> None:
    """Speed up: by chance, or while the number or work in the system exceeds the threshold."""
    rates, top = machine.problem.rates, len(machine.problem.rates.rates) - 1
    if rates.kind == "random":
        if machine.problem.draws[2 * j] < rates.p_high and machine.level < top:
            set_level(machine, machine.level + 1)
    elif rates.kind in ("queue", "workload"):
        load = _in_system(machine) if rates.kind == "queue" else _workload(machine)
        while machine.level < top and load > rates.k_high[machine.level]:
            set_level(machine, machine.level + 1)


def decide_on_departure(machine: Machine, j: int) -> None:
    """Slow down: by chance, or while the number or work in the system is within the threshold."""
    rates = machine.problem.rates
    if rates.kind == "random":
        if machine.problem.draws[2 * j + 1] < rates.p_low and machine.level > 0:
            set_level(machine, machine.level - 1)
    elif rates.kind in ("queue", "workload"):
        load = _in_system(machine) if rates.kind == "queue" else _workload(machine)
        while machine.level > 0 and load <= rates.k_low[machine.level - 1]:
            set_level(machine, machine.level - 1)


def slow_down_time(machine: Machine) -> Number:
    """The instant at which the workload sinks to the threshold (workload rule only)."""
    if machine.problem.rates.kind != "workload" or machine.level == 0:
        return inf
    threshold = machine.exact(machine.problem.rates.k_low[machine.level - 1])
    work = work_until(threshold, *_known_left(machine))
    return machine.now if work == 0 else machine.now + work / machine.rate
