"""Limits on users and queues, and usage with half-life decay (fair-share).

Nothing decays here; the unit grows instead. One processor from a to b counts, at a time t,
∫ₐᵇ 2^(−(t − x)/h) dx = (h/ln 2)·2^(−(t − e)/h)·(u(b) − u(a)), u(x) = 2^((x − e)/h): adding up
held·(u(b) − u(a)) gives all usage in one unit, and its shares don't depend on t. The epoch e moves
on before numbers become large.
"""

from __future__ import annotations

from onega.kernels.jit import compiled, part
from onega.kernels.machine.state import Machine, Record

EPOCH = 64.0
"""Half-lives after which the epoch moves on."""

LONGEST = 900.0
"""Half-lives after which what was used before doesn't matter beside what is held."""


@compiled
def unit(m: Machine) -> float:
    """Return what a processor-second of now counts beside one of the epoch."""
    age = m.clock[0].now - m.usage[0].epoch
    return 2.0 ** min(age / m.rules[0].half_life, LONGEST)


@compiled
def _used(one: Record, growth: float) -> float:
    """Return the usage of a user up to now."""
    return one.usage + one.held * (growth - one.since)


@compiled
def _move_epoch(m: Machine) -> None:
    growth = unit(m)
    for k in range(m.users.size):
        user = m.users[k]
        user.usage = _used(user, growth) / growth
        user.since = 1.0
    m.usage[0].epoch = m.clock[0].now


@part
def _everyone(m: Machine) -> Record:
    """Return all users together: the last in the table."""
    return m.users[m.users.size - 1]


@compiled
def _hold(user: Record, procs: int, growth: float) -> None:
    user.usage = _used(user, growth)
    user.since = growth
    user.held += procs


@compiled
def hold_usage(m: Machine, user: int, procs: int) -> None:
    """Let a user hold more (or fewer) processors from now on; usage up to now stays."""
    if m.clock[0].now - m.usage[0].epoch > EPOCH * m.rules[0].half_life:
        _move_epoch(m)
    growth = unit(m)
    _hold(m.users[user], procs, growth)
    _hold(_everyone(m), procs, growth)


@compiled
def keys_are_due(m: Machine) -> bool:
    """Return whether it is time to compute multifactor priorities anew; if so, not soon again."""
    now, usage = m.clock[0].now, m.usage[0]
    due: bool = m.rules[0].factors > 0 and now >= usage.keys_due
    if due:
        usage.keys_due = now + m.rules[0].period
    return due


@compiled
def priority_key(m: Machine, number: int, growth: float) -> float:
    """Return −(multifactor priority) of a job now."""
    clock, rules, job = m.clock[0], m.rules[0], m.jobs[number]
    total = _used(_everyone(m), growth)
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


@part
def _limits_of(job: Record) -> tuple[int, int, int]:
    return job.limit_1, job.limit_2, job.limit_3


@compiled
def within_limits(m: Machine, job: Record, option: int) -> bool:
    """Tell whether all limits on a job allow one more, of this option."""
    procs = m.options[option].procs
    for k in _limits_of(job):  # noqa: SIM110
        if m.limits[k].jobs < 1 or m.limits[k].procs < procs:
            return False
    return True


@compiled
def count_in(m: Machine, job: Record, jobs: int, procs: int) -> None:
    """Let a job count (or no longer count) against its limits."""
    for k in _limits_of(job):
        limit = m.limits[k]
        limit.jobs -= jobs
        limit.procs -= procs
