"""Small random problems of the detailed machine, full of ties, for each mechanism and for mixtures.

One recipe serves two cooks: `Dice` rolls a seeded generator, `problems` lets hypothesis choose (and
shrink). Times are small whole numbers or halves of them and rates are powers of two, so that floats
don't round; under the workload rule, which divides by the number of jobs at work, everything is
stretched by 60³.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

from onega.core.machine.cluster import RateControl
from onega.core.machine.queues import Multifactor
from onega.kernels.machine import codes
from onega.simulation.machine.problem import Problem
from reference.machine.build import (
    BACKFILL,
    KEYS_OF_TIME,
    STATIC_KEYS,
    Draft,
    Sleep,
    build,
    stretched,
)
from reference.machine.passes import place
from reference.machine.state import Machine

MECHANISMS: dict[str, frozenset[str]] = {
    "plain": frozenset(),
    "sleep in a pool": frozenset({"sleep"}),
    "sleep on nodes": frozenset({"nodes", "sleep"}),
    "wake ahead in a pool": frozenset({"sleep", "ahead"}),
    "wake ahead on nodes": frozenset({"nodes", "sleep", "ahead"}),
    "machine-wide resources": frozenset({"shared"}),
    "nodes": frozenset({"nodes"}),
    "node resources": frozenset({"nodes", "resources"}),
    "resources of a pool": frozenset({"resources"}),
    "partitions": frozenset({"partitions", "shared"}),
    "queues and accounts": frozenset({"queues"}),
    "multifactor": frozenset({"multifactor"}),
    "failures": frozenset({"nodes", "failures"}),
    "people who cancel": frozenset({"cancellations"}),
    "reservations": frozenset({"reservations"}),
    "reservations of nodes": frozenset({"nodes", "reservations"}),
    "overheads": frozenset({"overheads"}),
    "dependencies": frozenset({"dependencies"}),
    "non-empty start": frozenset({"initial"}),
    "moldable": frozenset({"moldable"}),
    "rates": frozenset({"rates"}),
}
FEATURES = sorted(frozenset().union(*MECHANISMS.values()))
NEEDS = {"ahead": {"sleep"}, "failures": {"nodes"}}


class Choices(Protocol):
    """Where a recipe gets its numbers from."""

    def integer(self, low: int, high: int) -> int: ...
    def pick(self, values: Sequence[Any]) -> Any: ...
    def chance(self, probability: float) -> bool: ...


class Dice:
    """Choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def pick(self, values: Sequence[Any]) -> Any:
        return values[self.integer(0, len(values) - 1)]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)


class Drawn:
    """Choices of hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self, values: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(values)))

    def chance(self, probability: float) -> bool:
        return self.draw(st.booleans())


def changing_key(now, submit, estimate, procs):
    """A user's order that changes its mind as time goes by."""
    wait = now - submit
    if wait > 4.0:
        return -wait * procs
    return estimate - 2.0 * wait


# -- the machine


def _machine(dice: Choices, features: frozenset[str]) -> Draft:
    parts = 2 if "partitions" in features else 1
    kinds = dice.integer(2, 3) if "resources" in features else 1
    pooled = "nodes" not in features
    most = 8 if pooled else dice.pick([1, 3])
    capacity, owner = [], []
    for partition in range(parts):
        for _ in range(1 if pooled else dice.integer(1, 4)):
            procs = dice.integer(1, most)
            capacity.append([procs, *(dice.integer(0, 4) for _ in range(kinds - 1))])
            owner.append(partition)
    orders = [*STATIC_KEYS, "xf", "wfp3", "unicef", "own"]
    backfills = [rule for rule in BACKFILL if rule or "ahead" not in features]
    policies = [(dice.pick(orders), dice.pick(backfills)) for _ in range(parts)]
    if "multifactor" in features:
        policies[0] = ("multifactor", policies[0][1])
    shared = [dice.integer(2, 10)] if "shared" in features else []
    if shared and dice.chance(0.4):
        shared.append(dice.integer(1, 2))
    return Draft(
        jobs=[],
        capacity=capacity,
        node_partition=owner,
        pooled=pooled,
        shared=shared,
        policies=policies,
        placement=[dice.pick([codes.FIRST_FIT, codes.BEST_FIT, codes.SPREAD]) for _ in policies],
        whole=[not pooled and dice.chance(0.25) for _ in policies],
        own=changing_key,
    )


# -- jobs


def _shape(dice: Choices, draft: Draft, partition: int) -> dict[str, Any]:
    """An option that fits its empty partition, with what it needs of everything."""
    nodes = [row for row, owner in zip(draft.capacity, draft.node_partition) if owner == partition]
    if draft.pooled:
        procs = dice.integer(1, nodes[0][0])
        chunk = [procs, *(dice.integer(0, amount) for amount in nodes[0][1:])]
        chunks = 1
    else:
        like = dice.pick(nodes)
        chunk = [dice.integer(1, like[0]), *(dice.integer(0, amount) for amount in like[1:])]
        room = [min(have // want for have, want in zip(row, chunk) if want) for row in nodes]
        chunks = dice.integer(1, sum(room))
        procs = chunks * chunk[0]
    work = dice.integer(1, 8) if dice.chance(0.95) else 0
    more = dice.integer(1, 5)
    expect = dice.pick([work, work, work + more, max(work - more, 0)])
    if draft.policies[partition][0] in KEYS_OF_TIME:
        expect = max(expect, 1)  # keys divide by it
    return {
        "procs": procs,
        "chunks": chunks,
        "chunk": chunk,
        "work": work,
        "expect": expect,
        "demand": [dice.pick([0, 1, dice.integer(0, amount)]) for amount in draft.shared],
    }


def _jobs(dice: Choices, draft: Draft, features: frozenset[str], most: int) -> None:
    submit = 0
    gaps = dice.pick([[0, 0, 1, 2, 4], [0, 0, 0, 1]])
    for _ in range(dice.integer(2, most)):
        submit += dice.pick(gaps)
        partition = dice.integer(0, len(draft.policies) - 1)
        job = {
            "submit": submit,
            "partition": partition,
            "user": dice.integer(0, 2),
            "limited": dice.chance(0.2),
            **_shape(dice, draft, partition),
        }
        if "moldable" in features and dice.chance(0.6):
            others = dice.integer(1, 2)
            shapes = [_shape(dice, draft, partition) for _ in range(others)]
            job["options"] = [{}, *shapes]
        draft.jobs.append(job)


def _horizon(draft: Draft) -> int:
    """A time by which much has happened."""
    return draft.jobs[-1]["submit"] + 12


def _several(dice: Choices, draft: Draft, most: int) -> range:
    """A few; more where there are many jobs."""
    return range(dice.integer(1, max(most, len(draft.jobs) // 2)))


# -- mechanisms, each added to a draft that has machine and jobs


def _sleep(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    states = dice.integer(1, 2)
    timeout = [float(dice.pick([0, 0, 1] if "ahead" in features else [0, 1, 2, 3]))]
    delay = [float(dice.integer(0, 3))]
    for _ in range(states - 1):
        timeout.append(timeout[-1] + dice.integer(1, 3))
        delay.append(delay[-1] + dice.integer(0, 3))
    draft.sleep = Sleep(timeout, delay, wake_ahead="ahead" in features)


def _steps(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    for _ in _several(dice, draft, 3):
        resource = dice.integer(0, len(draft.shared) - 1)
        capacity = dice.integer(0, draft.shared[resource] + 3)
        draft.steps = [*draft.steps, (dice.integer(0, _horizon(draft)), resource, capacity)]


def _queues(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    draft.limits = [(dice.integer(1, 3), dice.integer(1, 8)) for _ in range(dice.integer(1, 4))]
    for job in draft.jobs:
        job["queue_rank"] = dice.integer(0, 2)
        job["accounts"] = [account for account in range(len(draft.limits)) if dice.chance(0.5)][:3]


def _multifactor(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    weight = [0.0, 1.0, 2.0, 0.5]
    draft.multifactor = Multifactor(
        age=dice.pick(weight),
        max_age=float(dice.integer(1, 16)),
        size=dice.pick(weight),
        fair_share=dice.pick(weight),
        queue=dice.pick(weight),
        half_life=dice.pick([1.0, 4.0, 16.0]),
        period=float(dice.pick([0, 0, 2, 5])),
    )
    draft.shares = [0.5, 0.25, 0.25]
    for job in draft.jobs:
        job["queue_factor"] = dice.pick([0.0, 0.25, 1.0])


def _interruptions(dice: Choices, draft: Draft) -> None:
    draft.on_interrupt = dice.pick([codes.LOSE, codes.REQUEUE, codes.CHECKPOINT])
    draft.checkpoint = dice.integer(1, 3)


def _cancellations(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    _interruptions(dice, draft)
    for _ in _several(dice, draft, 12):
        code = dice.pick([codes.CANCEL, codes.INTERRUPT, codes.INTERRUPT, codes.KILL, codes.LEAVE])
        who = dice.integer(0, len(draft.jobs) - 1)
        draft.events = [*draft.events, (dice.integer(0, _horizon(draft)), code, who)]


def _failures(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    _interruptions(dice, draft)
    for _ in _several(dice, draft, 8):
        code = dice.pick([codes.FAIL, codes.FAIL, codes.RETURN, codes.RETURN, codes.DRAIN])
        node = dice.integer(0, len(draft.capacity) - 1)
        draft.events = [*draft.events, (dice.integer(0, _horizon(draft)), code, node)]
    if dice.chance(0.7):
        late = _horizon(draft) + dice.integer(0, 4)
        draft.events += [(late, codes.RETURN, node) for node in range(len(draft.capacity))]


def _reservations(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    _interruptions(dice, draft)
    for _ in _several(dice, draft, 3):
        begin = dice.integer(0, _horizon(draft))
        node = dice.integer(0, len(draft.capacity) - 1)
        procs, *others = draft.capacity[node]
        amount = [dice.integer(1, procs), *(dice.integer(0, most) for most in others)]
        row = (begin, begin + dice.integer(1, 6), node, amount)
        draft.reservations = [*draft.reservations, row]


def _overheads(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    for job in draft.jobs:
        job["launch"], job["completion"] = dice.pick([0, 0, 1, 2]), dice.pick([0, 0, 1, 2])


def _ancestors(draft: Draft, row: int) -> list[int]:
    found = []
    while row >= 0:
        found.append(row)
        row = draft.jobs[row].get("after", -1)
    return found


def _dependencies(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    rows = range(len(draft.jobs))
    for row, job in enumerate(draft.jobs):
        others = [other for other in rows if row not in _ancestors(draft, other)]
        if others and dice.chance(0.4):
            job["after"], job["think"] = dice.pick(others), dice.integer(0, 3)


def _fits_at_start(draft: Draft) -> bool:
    problem = build(draft)
    machine = Machine(problem, float)
    running = [j for j, job in enumerate(draft.jobs) if "start" in job]
    for j in sorted(running, key=lambda j: (draft.jobs[j]["start"], j)):
        held = place(machine, machine.free(), j, machine.options[j][0])
        if held is None:
            return False
        machine.take(j, machine.options[j][0], held)
    return min(machine.free_shared(), default=0) >= 0


def _initial(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    draft.t0 = dice.integer(1, 8)
    for job in draft.jobs:
        if job["submit"] > draft.t0 or job.get("after", -1) >= 0 or not dice.chance(0.6):
            continue
        start = dice.integer(job["submit"], draft.t0)
        done = dice.integer(0, min(draft.t0 - start, job["work"]))
        job.update(start=start, saved=done)
        if not _fits_at_start(draft):
            del job["start"], job["saved"]


def _rates(dice: Choices, draft: Draft, features: frozenset[str]) -> None:
    kind = dice.pick(["none", "random", "queue", "workload"])
    if kind == "none":
        draft.rates = RateControl(kind, rates=dice.pick([0.5, 1.0, 2.0]))
        return
    rates = dice.pick([(0.5, 1.0), (1.0, 2.0), (0.5, 2.0), (0.5, 1.0, 2.0), (1.0, 2.0, 8.0)])
    chances = [0.0, 0.25, 0.5, 1.0]
    k_low: list[int] = []
    k_high: list[int] = []
    if kind != "random":
        most = 6 if kind == "queue" else 20
        for _ in rates[1:]:
            low = dice.integer(0, most)
            k_low.append(max([low, *k_low]))
            k_high.append(max([k_low[-1] + dice.integer(0, most // 2), *k_high]))
    draft.rates = RateControl(
        kind,
        rates=rates,
        k_low=k_low,
        k_high=k_high,
        p_low=dice.pick(chances),
        p_high=dice.pick(chances),
    )
    draft.draws = [dice.integer(0, 7) / 8 for _ in range(2 * len(draft.jobs))]


ADDED: dict[str, Callable[[Choices, Draft, frozenset[str]], None]] = {
    "sleep": _sleep,
    "shared": _steps,
    "queues": _queues,
    "multifactor": _multifactor,
    "cancellations": _cancellations,
    "failures": _failures,
    "reservations": _reservations,
    "overheads": _overheads,
    "dependencies": _dependencies,
    "initial": _initial,
    "rates": _rates,
}


# -- putting it together


def draft(dice: Choices, features: frozenset[str], most: int) -> Draft:
    """A problem with these features, in words."""
    drafted = _machine(dice, features)
    _jobs(dice, drafted, features, most)
    for name, add in ADDED.items():
        if name in features:
            add(dice, drafted, features)
    return drafted


def make(dice: Choices, features: frozenset[str], most: int = 12) -> Problem:
    """A problem with these features and at most so many jobs."""
    features = features.union(*(NEEDS.get(name, set()) for name in features))
    problem = build(draft(dice, features, most))
    return stretched(problem, 60**3 if problem.rates.kind == "workload" else dice.pick([1, 0.5]))


def random_problem(seed: int, features: frozenset[str]) -> Problem:
    """Everything follows from the seed."""
    return make(Dice(seed), features)


def random_mixture(seed: int, most: int = 12) -> Problem:
    """Any features together."""
    dice = Dice(seed)
    share = dice.pick([0.2, 0.4, 0.7])
    return make(dice, frozenset(name for name in FEATURES if dice.chance(share)), most)


@st.composite
def mixtures(draw: st.DrawFn) -> Problem:
    """Problems with any features together."""
    return make(Drawn(draw), draw(st.frozensets(st.sampled_from(FEATURES))))
