"""Partition, queue and user of each job, and the accounts that limit them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.machine.nodes import Partition
from onega.core.machine.queues import Multifactor, Queue
from onega.core.types import Array, Floats, Ints
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.simulation.machine.fit import Misfit, named
from onega.simulation.machine.problem import NO_LIMIT, Jobs, make_limits


def assign(
    workload: Workload, column: str, parts: Sequence[Partition | Queue]
) -> tuple[Ints, list[Misfit]]:
    """Return the number of each job's partition or queue, and the jobs that have none (−1).

    A part is called by the number in the log, or by the name that the log gives that number. The
    default takes all other jobs.
    """
    if len(parts) == 1 and parts[0].default:
        return np.zeros(len(workload), np.int64), []
    place = _assigned(workload, column, parts)
    lost = np.flatnonzero(place < 0)
    if lost.size == 0:
        return place, []
    known = ", ".join(str(one.name) for one in parts)
    names = workload.meta.labels.get(column, {})
    strange = workload.table[column].gather(lost).unique().sort()[:5]
    some = ["none" if value is None else str(names.get(value, value)) for value in strange]
    what = f"the cluster doesn't describe their {column} ({', '.join(some)}); it has {known}"
    why = f"{what}; add it, or make one of them the default"
    return place, [named(workload, column, why, lost)]


def _assigned(workload: Workload, column: str, parts: Sequence[Partition | Queue]) -> Ints:
    """Return the number of each job's part; −1: it has none."""
    other = next((number for number, one in enumerate(parts) if one.default), -1)
    values = workload.table[column]
    labels = {
        str(name).casefold(): number
        for number, name in workload.meta.labels.get(column, {}).items()
    }
    called, there = numbered(values)
    place_of = np.full(there.size, other, np.int64)
    for number, one in enumerate(parts):
        text = str(one.name)
        in_log = labels.get(
            text.casefold(), int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None
        )
        if in_log is not None:
            place_of[there == in_log] = number
    place = place_of[called]
    if values.null_count():
        place[values.is_null().to_numpy()] = other
    return place


def unmatched(workload: Workload, cluster: Cluster) -> list[Finding]:
    """Note what the cluster and the log call by names that the other doesn't have."""
    found = []
    described: dict[str, Sequence[Partition | Queue]] = {
        "partition": cluster.partitions,
        "queue": cluster.queues,
    }
    for column, parts in described.items():
        if not parts or not workload.has(column):
            continue
        place = _assigned(workload, column, [replace(one, default=False) for one in parts])
        other = next((one for one in parts if one.default), None)
        lost = np.flatnonzero(place < 0)
        if other is not None and lost.size:
            numbers = workload.table[column].gather(lost).unique().sort()[:5]
            names = ", ".join(workload.meta.name_of(column, value) for value in numbers)
            why = f"their {column} ({names}) isn't described; they are in {other.name}, the default"
            found.append(Finding(f"default_{column}", "noted", lost.size, why))
        idle = [str(one.name) for number, one in enumerate(parts) if not (place == number).any()]
        if idle:
            why = f"no job of the log is in {column} {', '.join(idle)}"
            found.append(Finding(f"empty_{column}", "noted", len(idle), why))
    return found + _unmatched_shares(workload, cluster.multifactor)


def _unmatched_shares(workload: Workload, weights: Multifactor | None) -> list[Finding]:
    """Note shares of users that the log doesn't have."""
    shares = {} if weights is None else weights.shares
    users = workload.table["user"].drop_nulls().unique().to_list() if shares else []
    known = {str(user) for user in users} | {workload.meta.name_of("user", one) for one in users}
    strange = sorted(set(shares) - known)
    if not strange:
        return []
    some = ", ".join(sorted(workload.meta.name_of("user", one) for one in users[:5]))
    why = (
        f"shares of users that the log doesn't have: {', '.join(strange)}; it has {some or 'none'}"
    )
    return [Finding("unknown_share", "noted", len(strange), f"{why}{', …' * (len(users) > 5)}")]


def queue_ranks(queues: Sequence[Queue], queue: Ints) -> tuple[Ints, Floats]:
    """Return the rank (0: highest priority) and the multifactor term of each job's queue."""
    if not queues:
        return np.zeros(queue.size, np.int64), np.zeros(queue.size)
    levels = sorted({one.priority for one in queues}, reverse=True)
    ranks = np.array([levels.index(one.priority) for one in queues])
    return ranks[queue], np.array([float(one.factor) for one in queues])[queue]


def numbered(values: pl.Series) -> tuple[Ints, Ints]:
    """Return a number from 0 for each of a column's values, and the values; null counts as −1."""
    names, number = np.unique(values.fill_null(-1).to_numpy(), return_inverse=True)
    return number.astype(np.int64), names


def open_accounts(jobs: Jobs, cluster: Cluster, queue: Ints, people: int) -> Array:
    """Let jobs count against limits of queues, of users, and of users within queues; return these.

    ``jobs`` are of so many ``people``.
    """
    queues = cluster.queues
    limits: list[tuple[int, int]] = []

    def opened(most_jobs: int | None, most_procs: int | None, members: int) -> int:
        """Open an account for each of several members; return the first one's number, 0: none."""
        if most_jobs is None and most_procs is None:
            return 0
        asked = most_jobs or NO_LIMIT, most_procs or NO_LIMIT
        limits.extend([asked] * members)
        return 1 + len(limits) - members

    if queues:
        whole = [opened(one.max_jobs, one.max_procs, 1) for one in queues]
        jobs["limit_1"] = np.array(whole)[queue]
        each = [opened(one.max_jobs_per_user, one.max_procs_per_user, people) for one in queues]
        first = np.array(each)[queue]
        jobs["limit_3"] = np.where(first > 0, first + jobs["user"], 0)
    if cluster.user_limits is not None:
        theirs = opened(cluster.user_limits.max_jobs, cluster.user_limits.max_procs, people)
        if theirs > 0:
            jobs["limit_2"] = theirs + jobs["user"]
    return make_limits(limits)


def limits_users(workload: Workload, cluster: Cluster) -> bool:
    """Tell whether any limit is per user; refuse it if the log has no users."""
    per_user = cluster.user_limits is not None or any(
        one.max_jobs_per_user or one.max_procs_per_user for one in cluster.queues
    )
    if per_user and not workload.has("user"):
        raise SimulationError("limits per user need users, and the log doesn't say who they are")
    return per_user


def limit_misfits(workload: Workload, cluster: Cluster, queue: Ints, least: Ints) -> list[Misfit]:
    """Find jobs that no limit ever lets through: too wide, or too long for their queue.

    ``least`` has the fewest processors that each job can do with.
    """
    found: list[Misfit] = []
    widest = least.max()
    for number, one in enumerate(cluster.queues):
        for name in ("max_procs", "max_procs_per_user"):
            limit = getattr(one, name)
            if limit is None or widest <= limit:
                continue
            over = np.flatnonzero((queue == number) & (least > limit))
            if over.size:
                why = f"wider than queue {one.name} allows ({name} = {limit})"
                found.append(named(workload, "limit", why, over))
        if one.max_time is not None:
            asked = workload.column("estimate").astype(np.float64)
            asked = np.where(asked > 0, asked, workload.column("runtime"))
            over = np.flatnonzero((queue == number) & (asked > one.max_time))
            if over.size:
                why = f"longer than queue {one.name} allows (max_time = {one.max_time:g} s)"
                found.append(named(workload, "time", why, over))
    most = None if cluster.user_limits is None else cluster.user_limits.max_procs
    if most is not None and (over := np.flatnonzero(least > most)).size:
        why = f"wider than a user may have (max_procs = {most})"
        found.append(named(workload, "limit", why, over))
    return found


def _share_of(shares: Mapping[str, float], workload: Workload, user: int) -> float:
    """Return the share of a user, who is called by the log's own name or by the number."""
    named = shares.get(workload.meta.name_of("user", user))
    return shares.get(str(user), 1.0) if named is None else named


def make_shares(workload: Workload, users: Ints, weights: Multifactor) -> Floats:
    """Return the shares of the workload's users, which add up to 1."""
    if weights.fair_share and not workload.has("user"):
        raise SimulationError(
            "fair-share needs users, and the log doesn't say who they are; "
            "set fair_share = 0 in the cluster's multifactor"
        )
    shares = np.ones(users.size)
    if weights.shares:
        shares = np.array([_share_of(weights.shares, workload, user) for user in users])
    return np.asarray(shares / shares.sum())
