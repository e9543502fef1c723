"""Who uses how much: limits of accounts, and usage with half-life decay (fair-share).

From (usage, since) to now, with ``held`` processors held all the time:
usage·x + held·(h/ln 2)·(1 − x), x = 2^(−(now − since)/h).
"""

from __future__ import annotations

import numpy as np

from onega.kernels.addressed import callee, floats, ints, small
from onega.kernels.detailed_state import Record, accounts_left, shares_known

LN2 = float(np.log(2.0))


@small
def _decayed(s: Record, usage: float, since: float, held: float) -> float:
    if s.now == since:
        return usage
    h = s.half_life
    x = 2.0 ** (-(s.now - since) / h)
    return usage * x + held * (h / LN2) * (1.0 - x)


@small
def hold_usage(s: Record, user: int, procs: float) -> None:
    """Let a user hold more (or fewer) processors from now on."""
    usages, since, helds = floats(s.usages_at), floats(s.usages_since_at), floats(s.helds_at)
    usages[user] = _decayed(s, usages[user], since[user], helds[user])
    since[user] = s.now
    helds[user] += procs
    s.usage = _decayed(s, s.usage, s.usage_since, s.held)
    s.usage_since = s.now
    s.held += procs


@small
def total_usage(s: Record) -> float:
    """Return everybody's usage now."""
    return _decayed(s, s.usage, s.usage_since, s.held)


@small
def _fair_share(s: Record, user: int, total: float) -> float:
    """Return a user's fair-share factor; his jobs have it in common at one instant."""
    known = shares_known(s.shares_known_at)[user]
    if known.now != s.now or known.total != total or known.held != floats(s.helds_at)[user]:
        usage = _decayed(
            s,
            floats(s.usages_at)[user],
            floats(s.usages_since_at)[user],
            floats(s.helds_at)[user],
        )
        known.now = s.now
        known.total = total
        known.held = floats(s.helds_at)[user]
        known.factor = 2.0 ** (-(usage / total) / floats(s.shares_at)[user])
    return known.factor


@callee
def multifactor_key(s: Record, job: int, total: float) -> float:
    """Return minus the multifactor priority of a job; ``total``: everybody's usage."""
    share = 1.0
    if total != 0.0:
        share = _fair_share(s, ints(s.user_at)[job], total)
    age = min(1.0, (s.now - floats(s.submitted_at)[job]) / s.max_age)
    size = ints(s.procs_at)[ints(s.first_option_at)[job]] / s.procs
    return -(
        s.w_age * age
        + s.w_size * size
        + s.w_fair * share
        + s.w_queue * floats(s.queue_factor_at)[job]
    )


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
