"""Limits on users and queues, and usage with half-life decay (fair-share).

Nothing decays here; the unit grows instead. One processor from a to b counts, at a time t,
∫ₐᵇ 2^(−(t − x)/h) dx = (h/ln 2)·2^(−(t − e)/h)·(u(b) − u(a)), u(x) = 2^((x − e)/h): adding up
held·(u(b) − u(a)) gives all usage in one unit, and its shares don't depend on t. The epoch e moves
on before numbers become large.
"""

from __future__ import annotations

from onega.kernels.jit import compiled
from onega.kernels.machine.state import Machine, Record

EPOCH = 64.0
"""Half-lives after which the epoch moves on."""

LONGEST = 900.0
"""Half-lives after which what was used before doesn't matter beside what is held."""


@compiled
def unit(m: Machine) -> float:
    """Return what a processor-second of now counts beside one of the epoch."""
    clock = m.clock[0]
    return 2.0 ** min((clock.now - clock.epoch) / m.rules[0].half_life, LONGEST)


@compiled
def _used(one: Record, growth: float) -> float:
    """Return the usage of a user, or of all, up to now."""
    return one.usage + one.held * (growth - one.since)


@compiled
def _move_epoch(m: Machine) -> None:
    clock, growth = m.clock[0], unit(m)
    clock.usage = _used(clock, growth) / growth
    clock.since = 1.0
    for k in range(m.users.size):
        user = m.users[k]
        user.usage = _used(user, growth) / growth
        user.since = 1.0
    clock.epoch = clock.now


@compiled
def hold_usage(m: Machine, user: Record, procs: int) -> None:
    """Let a user hold more (or fewer) processors from now on; usage up to now stays."""
    clock = m.clock[0]
    if clock.now - clock.epoch > EPOCH * m.rules[0].half_life:
        _move_epoch(m)
    growth = unit(m)
    user.usage = _used(user, growth)
    user.since = growth
    user.held += procs
    clock.usage = _used(clock, growth)
    clock.since = growth
    clock.held += procs


@compiled
def priority_key(m: Machine, number: int, growth: float) -> float:
    """Return −(multifactor priority) of a job now."""
    clock, rules, job = m.clock[0], m.rules[0], m.jobs[number]
    total = _used(clock, growth)
    share = 1.0
    if total > 0.0:
        user = m.users[job.user]
        share = 2.0 ** (-(_used(user, growth) / total) / user.share)
    age = min(1.0, (clock.now - job.submitted) / rules.max_age)
    procs = m.options[job.first_option].procs
    return -(
        rules.age * age
        + rules.job_size * (procs / rules.machine)
        + rules.fair_share * share
        + rules.queue * job.queue_factor
    )


@compiled
def within_limits(m: Machine, job: Record, option: int) -> bool:
    """Tell whether all limits on a job allow one more, of this option."""
    procs = m.options[option].procs
    for k in (job.limit_1, job.limit_2, job.limit_3):
        if m.limits[k].jobs < 1 or m.limits[k].procs < procs:
            return False
    return True


@compiled
def count_in(m: Machine, job: Record, jobs: int, procs: int) -> None:
    """Let a job count (or no longer count) against its limits."""
    for k in (job.limit_1, job.limit_2, job.limit_3):
        limit = m.limits[k]
        limit.jobs -= jobs
        limit.procs -= procs
