"""Who uses how much: limits of accounts, and usage with half-life decay (fair-share).

Nothing decays here; the unit grows instead. One processor from a to b counts, at a time t,
∫ₐᵇ 2^(−(t − x)/h) dx = (h/ln 2)·2^(−(t − e)/h)·(u(b) − u(a)), u(x) = 2^((x − e)/h): whoever adds up
held·(u(b) − u(a)) has everybody's usage in one unit, and its shares don't depend on t. All who
change at one instant need the same u. The epoch e moves on before numbers become large.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_codes import MULTIFACTOR
from onega.kernels.detailed_state import (
    Record,
    accounts_left,
    partitions,
    queued,
    users,
    worths,
)

EPOCH = 64.0
"""Half-lives after which the epoch moves on."""

LONGEST = 900.0
"""Half-lives after which what was used before doesn't matter beside what is held."""

# What a partition's queue lacks (``stale``): nothing; its order, keys are known; its keys.
FRESH, UNSORTED, UNKNOWN = 0, 1, 2


@small
def _growth(s: Record, time: float) -> float:
    """Return how far the unit has grown at a time, u; it is computed once an instant."""
    if s.growth_at != time:
        s.growth = 2.0 ** min((time - s.epoch) / s.half_life, LONGEST)
        s.growth_at = time
    return float(s.growth)


@small
def _used(one: Record, growth: float) -> float:
    """Return the usage of a user, or of all, up to a time, by its growth."""
    return float(one.usage + one.held * (growth - one.since))


@callee
def _move_epoch(s: Record) -> None:
    """Let the growth begin anew now, with 1."""
    growth = _growth(s, s.now)
    s.usage = _used(s, growth) / growth
    s.since = 1.0
    for user in range(s.users):
        one = users(s.users_at)[user]
        one.usage = _used(one, growth) / growth
        one.since = 1.0
    s.epoch = s.now
    s.growth = 1.0


@small
def hold_usage(s: Record, job: int, procs: float) -> None:
    """Let a job's user hold more (or fewer) processors from now on; usage up to now stays."""
    if s.stale_since < s.now < s.keys_due:
        _know_keys(s)  # they are of a time whose usage is about to be forgotten
    if s.now - s.epoch > EPOCH * s.half_life:
        _move_epoch(s)
    growth = _growth(s, s.now)
    one = users(s.users_at)[ints(s.user_at)[job]]
    one.usage = _used(one, growth)
    one.since = growth
    one.held += procs
    s.usage = _used(s, growth)
    s.since = growth
    s.held += procs


@small
def describe(s: Record, job: int, submitted: float) -> None:
    """Note what a job's priority is made of, before anybody asks for it."""
    one = worths(s.worths_at)[job]
    one.user = ints(s.user_at)[job]
    one.submitted = submitted
    one.size = s.w_size * (ints(s.procs_at)[ints(s.first_option_at)[job]] / s.machine)
    one.queue = s.w_queue * floats(s.queue_factor_at)[job]


@small
def _fair_share(one: Record, time: float, growth: float, total: float) -> float:
    """Return a user's fair-share factor; his jobs have it in common at one instant."""
    if one.factor_at != time:
        one.factor = 2.0 ** (-(_used(one, growth) / total) / one.share)
        one.factor_at = time
    return float(one.factor)


@callee
def know_keys(s: Record, number: int) -> None:
    """Compute the keys of all who wait in a partition.

    Keys are as of the last renewal, or of the submission if that was later. They may be computed
    after that, as long as nobody's usage has changed since: most passes don't ask for them, or
    come when the next renewal is due.
    """
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    # Read once: the compiler can't know that keys aren't written over them.
    all_worths, everybody = worths(s.worths_at), users(s.users_at)
    w_age, max_age, w_fair, renewed = s.w_age, s.max_age, s.w_fair, s.renewed
    time, growth, total = np.nan, 0.0, 0.0
    for place in range(p.queue, p.queue + p.waiting):
        entry = queue[place]
        one = all_worths[entry.job]
        as_of = max(one.submitted, renewed)
        if as_of != time:
            time, growth = as_of, _growth(s, as_of)
            total = _used(s, growth)
        share = 1.0
        if total > 0.0:
            share = _fair_share(everybody[one.user], time, growth, total)
        age = min(1.0, (time - one.submitted) / max_age)
        entry.key = one.key = -(w_age * age + one.size + w_fair * share + one.queue)
    p.stale = UNSORTED if p.waiting > 1 else FRESH


@callee
def _know_keys(s: Record) -> None:
    """Compute all keys that haven't been."""
    for number in range(s.parts):
        if partitions(s.partitions_at)[number].stale == UNKNOWN:
            know_keys(s, number)
    s.stale_since = np.inf


@small
def renew_keys(s: Record) -> None:
    """Let the keys of all who wait be those of now, if it is time to."""
    if s.factors and s.now >= s.keys_due:
        s.keys_due = s.now + s.period
        for number in range(s.parts):
            p = partitions(s.partitions_at)[number]
            if p.order == MULTIFACTOR:
                p.stale = UNKNOWN
                s.renewed = s.now
                s.stale_since = s.now


@small
def _compute_key(s: Record, job: int) -> None:
    """Compute the key of a job that comes now."""
    one = worths(s.worths_at)[job]
    growth = _growth(s, s.now)
    total = _used(s, growth)
    share = 1.0
    if total > 0.0:
        share = _fair_share(users(s.users_at)[one.user], s.now, growth, total)
    age = min(1.0, (s.now - one.submitted) / s.max_age)
    one.key = -(s.w_age * age + one.size + s.w_fair * share + one.queue)


@small
def first_key(s: Record, job: int) -> None:
    """Compute the key of a job that comes, unless the pass will, or nobody asks for it yet."""
    describe(s, job, floats(s.submitted_at)[job])
    p = partitions(s.partitions_at)[ints(s.partition_at)[job]]
    if s.now >= s.keys_due:
        return
    if p.waiting == 0 and s.restarts:
        p.stale = FRESH  # who may wait again keeps his key
    elif p.waiting == 0:
        p.stale = UNKNOWN
        s.stale_since = s.now if s.parts == 1 else min(s.now, s.stale_since)
    if p.stale != UNKNOWN:
        _compute_key(s, job)


@small
def within_limits(s: Record, job: int, procs: int) -> bool:
    """Tell whether a job's accounts allow one more job of so many processors."""
    accounts = ints(s.account_at)
    for at in range(3 * job, 3 * job + 3):
        left = accounts_left(s.accounts_left_at)[accounts[at] + 1]
        if left.jobs < 1 or left.procs < procs:
            return False
    return True


@small
def count_in(s: Record, job: int, jobs: int, procs: int) -> None:
    """Let a job count (or no longer count) against its accounts."""
    accounts = ints(s.account_at)
    for at in range(3 * job, 3 * job + 3):
        left = accounts_left(s.accounts_left_at)[accounts[at] + 1]
        left.jobs -= jobs
        left.procs -= procs
