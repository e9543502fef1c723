"""The naive detailed machine: placement, the profile and the scheduling pass."""

from __future__ import annotations

from math import exp2, inf

import numpy as np

from onega.kernels.machine import codes
from reference.machine.state import WAITING, Machine, Number

Matrix = list[list[Number]]
Placement = dict[int, list[Number]]  # node: how much of each of its resources
SERIAL_LOG = 1e-9  # log₂ 1 = 0 would divide by zero

# -- placement


def _room(machine: Machine, amounts: list[Number], option: int) -> int:
    """How many chunks of an option fit into these amounts."""
    chunk = machine.chunk(option)
    fitting = [int(max(f, 0) // d) for f, d in zip(amounts, chunk) if d > 0]
    return min(fitting)


def _chunks(machine: Machine, free: Matrix, j: int, option: int) -> dict[int, int] | None:
    """Chunks by node, or None if there is no room for all."""
    problem = machine.problem
    partition = problem.jobs["partition"][j]
    nodes = [
        n for n in range(len(free)) if problem.nodes.partition[n] == partition and machine.usable(n)
    ]
    whole = problem.partitions["whole"][partition]
    if whole:
        nodes = [n for n in nodes if free[n] == machine.capacity[n]]
    room = {n: _room(machine, free[n], option) for n in nodes}
    nodes = sorted((n for n in nodes if room[n] > 0), key=lambda n: (machine.node_depth(n), n))
    left = int(problem.options["chunks"][option])
    taken: dict[int, int] = {}
    rule = problem.partitions["placement"][partition]
    if rule == codes.SPREAD and not whole:
        for _ in range(left):
            most = max((room[n] for n in nodes), default=0)
            if most == 0:
                return None
            n = next(n for n in nodes if room[n] == most)
            room[n] -= 1
            taken[n] = taken.get(n, 0) + 1
        return taken
    if rule == codes.BEST_FIT and not whole:
        nodes = sorted(nodes, key=lambda n: room[n])  # stable: ties by depth of sleep, number
    for n in nodes:
        if left > 0:
            taken[n] = min(room[n], left)
            left -= taken[n]
    return taken if left == 0 else None


def place(machine: Machine, free: Matrix, j: int, option: int) -> Placement | None:
    """What the job would hold of which node, or None."""
    chunks = _chunks(machine, free, j, option)
    if chunks is None:
        return None
    if machine.problem.partitions["whole"][machine.problem.jobs["partition"][j]]:
        return {n: machine.capacity[n] for n in chunks}
    chunk = machine.chunk(option)
    return {n: [many * d for d in chunk] for n, many in sorted(chunks.items())}


# -- the profile


class Profile:
    """What is free from now on, as far as one can expect, on the work clock.

    claims: (from, until, what of which node, what of the machine-wide resources); steps: (from,
    resource, its new capacity).
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.v = machine.clock
        self.claims: list[tuple[Number, Number, Placement, list[Number]]] = []
        self.steps: list[tuple[Number, int, Number]] = []
        nothing = [machine.exact(0.0)] * len(machine.shared)
        for attempt in machine.running:
            self.claim(self.v, attempt.v_expected, attempt.held, machine.demand(attempt.option))
        for begin, end, n, amount in machine.reservations:
            self.claim(self.clock_at(begin), self.clock_at(end), {n: amount}, nothing)
        for time, resource, capacity in machine.steps:
            if time > machine.now:
                self.steps.append((self.clock_at(time), resource, capacity))

    def clock_at(self, time: Number) -> Number:
        """The work clock at a time, were the rate to stay."""
        return self.v + (time - self.machine.now) * self.machine.rate

    def claim(self, begin: Number, until: Number, held: Placement, demand: list[Number]) -> None:
        self.claims.append((begin, until, held, demand))

    def instants(self) -> list[Number]:
        """Where it changes, from now on."""
        changes = {w for begin, until, _, _ in self.claims for w in (begin, until)}
        changes |= {w for w, _, _ in self.steps} | {self.v}
        return sorted(w for w in changes if self.v <= w < inf)

    def at(self, w: Number) -> tuple[Matrix, list[Number]]:
        """What is free of nodes and of machine-wide resources at w."""
        free = [list(row) for row in self.machine.capacity]
        shared = list(self.machine.shared)
        for since, resource, capacity in self.steps:
            if since <= w:
                shared[resource] = capacity
        for begin, until, held, demand in self.claims:
            if begin <= w < until:
                for n, amounts in held.items():
                    free[n] = [f - a for f, a in zip(free[n], amounts)]
                shared = [f - d for f, d in zip(shared, demand)]
        return free, shared

    def window(self, w: Number, length: Number) -> tuple[Matrix, list[Number]]:
        """The least over [w, w + length); the instant w itself always counts."""
        free, shared = self.at(w)
        for inside in self.instants():
            if w < inside < w + length:
                then, shared_then = self.at(inside)
                free = _least(free, then)
                shared = [min(a, b) for a, b in zip(shared, shared_then)]
        return free, shared

    def startable(self, j: int, option: int) -> Placement | None:
        """Where the job can start now; None if it can't."""
        machine = self.machine
        free, shared = self.window(self.v, machine.expect_left(j, option))
        free = _least(free, machine.free())
        shared = [min(a, b) for a, b in zip(shared, machine.free_shared())]
        if any(d > f for d, f in zip(machine.demand(option), shared)):
            return None
        return place(machine, free, j, option)

    def earliest(self, j: int, option: int) -> tuple[Number, Placement] | None:
        """When and where the job could start, as far as one can expect; None: never."""
        machine = self.machine
        for w in self.instants():
            free, shared = self.window(w, machine.expect_left(j, option))
            if all(d <= f for d, f in zip(machine.demand(option), shared)):
                held = place(machine, free, j, option)
                if held is not None:
                    return w, held
        return None

    def reserve(self, j: int, option: int, w: Number, held: Placement) -> None:
        until = w + self.machine.expect_left(j, option)
        self.claim(w, until, held, self.machine.demand(option))


def _least(one: Matrix, other: Matrix) -> Matrix:
    return [[min(a, b) for a, b in zip(*rows)] for rows in zip(one, other)]


# -- orders


def priority_key(machine: Machine, j: int) -> float:
    """−(multifactor priority) at this moment."""
    problem, factors = machine.problem, machine.problem.multifactor
    user = int(problem.jobs["user"][j])
    everybody = machine.usage_now(None)
    fair = 1.0
    if everybody > 0:
        fair = exp2(-(machine.usage_now(user) / everybody) / problem.shares[user])
    total = float(problem.nodes.capacity[:, 0].sum())
    return -(
        factors.age * min(1.0, float(machine.now - machine.submit[j]) / factors.max_age)
        + factors.size * machine.procs(machine.options[j][0]) / total
        + factors.fair_share * fair
        + factors.queue * problem.jobs["queue_factor"][j]
    )


def _key(machine: Machine, j: int, order: int) -> float:
    """The smallest goes first."""
    if order == codes.MULTIFACTOR:
        return machine.priority_key[j]
    now, submit = float(machine.now), float(machine.submit[j])
    expect = float(machine.problem.options["expect"][machine.options[j][0]])
    procs = float(machine.procs(machine.options[j][0]))
    if order == codes.OWN:
        return machine.problem.own(now, submit, expect, procs)
    wait = now - submit
    if order == codes.EXPANSION:
        return -(wait + expect) / expect
    if order == codes.WFP3:
        return -((wait / expect) * (wait / expect) * (wait / expect)) * procs
    assert order == codes.UNICEF
    return -wait / (max(float(np.log2(procs)), SERIAL_LOG) * expect)


def _queue(machine: Machine, partition: int) -> list[int]:
    """The partition's waiting jobs in its order."""
    jobs = machine.problem.jobs
    order = machine.problem.partitions["order"][partition]
    waiting = [j for j in machine.in_phase(WAITING) if jobs["partition"][j] == partition]
    if order == codes.STATIC:
        return sorted(waiting, key=lambda j: jobs["rank"][j])
    return sorted(waiting, key=lambda j: (jobs["rank"][j], _key(machine, j, order), j))


# -- the pass


def _start(machine: Machine, profile: Profile, j: int, option: int, held: Placement) -> None:
    profile.reserve(j, option, profile.v, held)
    machine.take(j, option, held)
    machine.tell(codes.STARTED, job=j)


def _start_now(machine: Machine, profile: Profile, j: int, options: list[int]) -> bool:
    """Start with the shortest option that can start; False if none can."""
    found = {option: profile.startable(j, option) for option in options}
    able = [option for option in options if found[option] is not None]
    if not able:
        return False
    best = min(able, key=lambda o: (machine.expect_left(j, o), machine.procs(o), o))
    _start(machine, profile, j, best, found[best])
    return True


def _start_or_reserve(machine: Machine, profile: Profile, j: int, options: list[int]):
    """Start, or reserve, the option that ends first; the reservation if one was made."""
    found = {option: profile.earliest(j, option) for option in options}
    able = [option for option in options if found[option] is not None]
    if not able:
        return None

    def expected_end(o: int) -> Number:
        return found[o][0] + machine.expect_left(j, o)

    best = min(able, key=lambda o: (expected_end(o), machine.procs(o), o))
    held = profile.startable(j, best)
    if held is not None:
        _start(machine, profile, j, best, held)
        return None
    w, held = found[best]
    profile.reserve(j, best, w, held)
    return w, machine.procs(best), sorted(held)


def _partition_pass(machine: Machine, profile: Profile, partition: int) -> list:
    """Start and reserve; the reservations (w, processors, nodes) in the order they were made."""
    most = machine.problem.partitions["reservations"][partition]
    reservations: list[tuple[Number, int, list[int]]] = []
    for j in _queue(machine, partition):
        options = [o for o in machine.choices(j) if machine.account_allows(j, o)]
        if not options:
            continue
        if len(reservations) < most:
            made = _start_or_reserve(machine, profile, j, options)
            if made is not None:
                reservations.append(made)
        elif not _start_now(machine, profile, j, options) and most == codes.NO_BACKFILL:
            break
    return reservations


def schedule(machine: Machine) -> None:
    """One pass over all partitions; then the wake-ahead timers are set anew."""
    partitions = machine.problem.partitions
    if machine.problem.multifactor is not None and machine.now >= machine.priorities_due:
        for j in machine.in_phase(WAITING):
            machine.priority_key[j] = priority_key(machine, j)
        period = machine.exact(machine.problem.multifactor.period)
        machine.priorities_due = machine.now + period
    profile = Profile(machine)
    firsts = {}
    for partition in range(len(partitions)):
        firsts[partition] = _partition_pass(machine, profile, partition)[:1]
    machine.timers = {}
    if not machine.problem.wake_ahead:
        return
    for partition, reservations in firsts.items():
        for w, procs, nodes in reservations:
            ahead = wake_delay(machine, procs, nodes)
            if w > profile.v and ahead > 0:
                begin = machine.now + (w - profile.v) / machine.rate
                machine.timers[partition] = (max(machine.now, begin - ahead), procs, nodes)
    fire_timers(machine)


# -- waking ahead


def wake_delay(machine: Machine, procs: int, nodes: list[int]) -> Number:
    """The longest wake-up of what a reservation would take, were it to begin now."""
    delays = [machine.exact(0.0)]
    for n in nodes:
        if machine.problem.nodes.pooled:
            before = list(machine.stack[n])
            delays += [machine.delay(since) for since, _ in machine.pop(n, procs)]
            machine.stack[n] = before
        elif machine.up[n] and not machine.on_node(n):
            delays.append(machine.delay(machine.since[n]))
    return max(delays)


def fire_timers(machine: Machine) -> None:
    """Wake what the reservations whose timers are due would take."""
    for partition in sorted(machine.timers):
        time, procs, nodes = machine.timers[partition]
        if time > machine.now:
            continue
        del machine.timers[partition]
        for n in nodes:
            woken = 0
            if machine.problem.nodes.pooled:
                for since, count in reversed(machine.pop(n, procs)):
                    asleep = machine.depth(since) >= 0
                    woken += count if asleep else 0
                    since = machine.waken(n, since, count) if asleep else since
                    machine.stack[n].append((since, count))
            elif machine.up[n] and not machine.on_node(n) and machine.depth(machine.since[n]) >= 0:
                woken = int(machine.capacity[n][0])
                machine.since[n] = machine.waken(n, machine.since[n], woken)
            if woken > 0:
                machine.tell(codes.WOKEN, job=woken, node=n)
