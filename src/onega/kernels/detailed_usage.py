"""Who uses how much: limits of accounts, and usage with half-life decay (fair-share).

From (usage, since) to now, with ``held`` processors held all the time:
usage·x + held·(h/ln 2)·(1 − x), x = 2^(−(now − since)/h).
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_state import (
    Record,
    accounts_left,
    partitions,
    queued,
    users,
    worths,
)

LN2 = float(np.log(2.0))

# What a partition's queue lacks (``stale``): nothing; its order, keys are known; its keys.
FRESH, UNSORTED, UNKNOWN = 0, 1, 2


@small
def _decayed(s: Record, usage: float, since: float, held: float, time: float) -> float:
    if time == since:
        return usage
    h = s.half_life
    x = 2.0 ** (-(time - since) / h)
    return usage * x + held * (h / LN2) * (1.0 - x)


@small
def _usage_of(s: Record, user: int, time: float) -> float:
    """Return a user's usage at a time; it is computed once an instant."""
    one = users(s.users_at)[user]
    if one.known_at != time:
        one.known = _decayed(s, one.usage, one.since, one.held, time)
        one.known_at = time
    return float(one.known)


@small
def _total_usage(s: Record, time: float) -> float:
    """Return everybody's usage at a time; it is computed once an instant."""
    if s.total_at != time:
        s.total = _decayed(s, s.usage, s.usage_since, s.held, time)
        s.total_at = time
    return float(s.total)


@small
def hold_usage(s: Record, job: int, procs: float) -> None:
    """Let a job's user hold more (or fewer) processors from now on; usage up to now stays."""
    if s.stale_since < s.now < s.keys_due:
        _know_keys(s)  # they are of a time whose usage is about to be forgotten
    user = worths(s.worths_at)[job].user
    one = users(s.users_at)[user]
    one.usage = _usage_of(s, user, s.now)
    one.since = s.now
    one.held += procs
    s.usage = _total_usage(s, s.now)
    s.usage_since = s.now
    s.held += procs


@small
def _fair_share(s: Record, user: int, total: float, time: float) -> float:
    """Return a user's fair-share factor; his jobs have it in common at one instant."""
    one = users(s.users_at)[user]
    if one.factor_at != time:
        one.factor = 2.0 ** (-(_usage_of(s, user, time) / total) / one.share)
        one.factor_at = time
    return float(one.factor)


@small
def _key_at(s: Record, job: int, time: float, total: float) -> float:
    """Return minus the multifactor priority of a job at a time, and keep it; ``total``: usage."""
    one = worths(s.worths_at)[job]
    share = 1.0
    if total != 0.0:
        share = _fair_share(s, one.user, total, time)
    age = min(1.0, (time - one.submitted) / s.max_age)
    one.key = -(s.w_age * age + one.size + s.w_fair * share + one.queue)
    return float(one.key)


@callee
def know_keys(s: Record, number: int) -> None:
    """Compute the keys of all who wait in a partition.

    Keys are as of the last renewal, or of the submission if that was later. They may be computed
    after that, as long as nobody's usage has changed since: most passes don't ask for them, or
    come when the next renewal is due.
    """
    p = partitions(s.partitions_at)[number]
    queue = queued(s.queue_at)
    time, total = np.nan, 0.0
    for place in range(p.queue, p.queue + p.waiting):
        entry = queue[place]
        as_of = max(worths(s.worths_at)[entry.job].submitted, s.renewed)
        if as_of != time:
            time, total = as_of, _total_usage(s, as_of)
        entry.key = _key_at(s, entry.job, time, total)
    p.stale = UNSORTED if p.waiting > 1 else FRESH


@callee
def _know_keys(s: Record) -> None:
    """Compute all keys that haven't been."""
    for number in range(s.parts):
        if partitions(s.partitions_at)[number].stale == UNKNOWN:
            know_keys(s, number)
    s.stale_since = np.inf


@small
def due_keys(s: Record, number: int) -> None:
    """Let the keys of all who wait in a partition be those of now."""
    partitions(s.partitions_at)[number].stale = UNKNOWN
    s.renewed = s.now
    s.stale_since = s.now


@small
def first_key(s: Record, job: int) -> None:
    """Compute the key of a job that comes, unless the pass will, or nobody asks for it yet."""
    worths(s.worths_at)[job].submitted = floats(s.submitted_at)[job]
    p = partitions(s.partitions_at)[ints(s.partition_at)[job]]
    if s.now >= s.keys_due:
        return
    if p.waiting == 0 and s.restarts:
        p.stale = FRESH  # who may wait again keeps his key
    elif p.waiting == 0:
        p.stale = UNKNOWN
        s.stale_since = s.now if s.parts == 1 else min(s.now, s.stale_since)
    if p.stale != UNKNOWN:
        _key_at(s, job, s.now, _total_usage(s, s.now))


@small
def within_limits(s: Record, job: int, procs: int) -> bool:
    """Tell whether a job's accounts allow one more job of so many processors."""
    accounts = ints(s.account_at)
    for at in range(3 * job, 3 * job + 3):
        account = accounts[at]
        if account >= 0:
            left = accounts_left(s.accounts_left_at)[account]
            if left.jobs < 1 or left.procs < procs:
                return False
    return True


@small
def count_in(s: Record, job: int, jobs: int, procs: int) -> None:
    """Let a job count (or no longer count) against its accounts."""
    accounts = ints(s.account_at)
    for at in range(3 * job, 3 * job + 3):
        account = accounts[at]
        if account >= 0:
            left = accounts_left(s.accounts_left_at)[account]
            left.jobs -= jobs
            left.procs -= procs
