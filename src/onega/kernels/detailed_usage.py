"""Who uses how much: limits of accounts, and usage with half-life decay (fair-share).

From (usage, since) to now, with ``held`` processors held all the time:
usage·x + held·(h/ln 2)·(1 − x), x = 2^(−(now − since)/h).
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import floats, ints, small
from onega.kernels.detailed_state import Record, accounts_left, users, worths

LN2 = float(np.log(2.0))


@small
def _decayed(s: Record, usage: float, since: float, held: float) -> float:
    if s.now == since:
        return usage
    h = s.half_life
    x = 2.0 ** (-(s.now - since) / h)
    return usage * x + held * (h / LN2) * (1.0 - x)


@small
def _usage_of(s: Record, user: int) -> float:
    """Return a user's usage now; it is computed once an instant."""
    one = users(s.users_at)[user]
    if one.known_at != s.now:
        one.known = _decayed(s, one.usage, one.since, one.held)
        one.known_at = s.now
    return float(one.known)


@small
def total_usage(s: Record) -> float:
    """Return everybody's usage now; it is computed once an instant."""
    if s.total_at != s.now:
        s.total = _decayed(s, s.usage, s.usage_since, s.held)
        s.total_at = s.now
    return float(s.total)


@small
def hold_usage(s: Record, job: int, procs: float) -> None:
    """Let a job's user hold more (or fewer) processors from now on; usage up to now stays."""
    user = worths(s.worths_at)[job].user
    one = users(s.users_at)[user]
    one.usage = _usage_of(s, user)
    one.since = s.now
    one.held += procs
    s.usage = total_usage(s)
    s.usage_since = s.now
    s.held += procs


@small
def _fair_share(s: Record, user: int, total: float) -> float:
    """Return a user's fair-share factor; his jobs have it in common at one instant."""
    one = users(s.users_at)[user]
    if one.factor_at != s.now:
        one.factor = 2.0 ** (-(_usage_of(s, user) / total) / one.share)
        one.factor_at = s.now
    return float(one.factor)


@small
def renew_key(s: Record, job: int, total: float) -> float:
    """Return minus the multifactor priority of a job, and keep it; ``total``: all usage."""
    one = worths(s.worths_at)[job]
    share = 1.0
    if total != 0.0:
        share = _fair_share(s, one.user, total)
    age = min(1.0, (s.now - one.submitted) / s.max_age)
    one.key = -(s.w_age * age + one.size + s.w_fair * share + one.queue)
    return float(one.key)


@small
def first_key(s: Record, job: int) -> None:
    """Compute the multifactor key of a job that comes."""
    worths(s.worths_at)[job].submitted = floats(s.submitted_at)[job]
    renew_key(s, job, total_usage(s))


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
