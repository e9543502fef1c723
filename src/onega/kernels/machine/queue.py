"""Queues of the partitions: waiting jobs by (rank, key, job)."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, shift
from onega.kernels.machine.codes import MULTIFACTOR, OWN, STATIC
from onega.kernels.machine.plan import void
from onega.kernels.machine.running import expect_left
from onega.kernels.machine.state import NONE, KeyFunction, Machine, Record
from onega.kernels.machine.usage import keys_are_due, priority_key, unit
from onega.kernels.pool.keyed import builtin_key
from onega.kernels.types import Records


@compiled
def _is_before(one: Record, rank: int, key: float, job: int) -> bool:
    if one.rank != rank:
        return one.rank < rank
    if one.key != key:
        return one.key < key
    return one.job < job


@compiled
def _place_of(queue: Records, low: int, high: int, rank: int, key: float, job: int) -> int:
    """Return the first place of queue[low:high] that doesn't come before."""
    while low < high:
        middle = (low + high) >> 1
        if _is_before(queue[middle], rank, key, job):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def enqueue(m: Machine, number: int) -> None:
    """Let a job wait in its partition's queue."""
    job = m.jobs[number]
    part = m.partitions[job.partition]
    first, last = part.queue, part.queue + part.waiting
    key = job.key if part.order != STATIC else 0.0
    place = _place_of(m.queue, first, last, job.rank, key, number)
    shift(m.queue, place + 1, place, last - place)
    entry = m.queue[place]
    entry.rank = job.rank
    entry.key = key
    entry.job = number
    option, count = job.first_option, job.options
    if job.option >= 0:  # it has run, and keeps its shape
        option, count = job.option, 1
    entry.option = option if count == 1 else NONE
    entry.expect = expect_left(m, job, option)
    entry.cores = np.inf
    for k in range(option, option + count):
        entry.cores = min(entry.cores, m.options[k].cores)
    part.waiting += 1
    if place - first < part.decided:
        void(m)
    part.seen = min(part.seen, place - first)
    m.clock[0].waiting += 1


@compiled
def dequeue(m: Machine, number: int) -> None:
    """Take a job that doesn't start out of its queue."""
    job = m.jobs[number]
    part = m.partitions[job.partition]
    first, last = part.queue, part.queue + part.waiting
    place = first
    if part.order == STATIC:
        place = _place_of(m.queue, first, last, job.rank, 0.0, number)
    while m.queue[place].job != number:
        place += 1
    shift(m.queue, place, place + 1, last - place - 1)
    part.waiting -= 1
    void(m)
    m.clock[0].waiting -= 1


@compiled
def _sort(queue: Records, first: int, last: int) -> bool:
    """Sort queue[first:last], nearly sorted as it is; tell whether it wasn't."""
    changed = False
    for k in range(first + 1, last):
        rank, key, job = queue[k].rank, queue[k].key, queue[k].job
        if _is_before(queue[k - 1], rank, key, job):
            continue
        place = _place_of(queue, first, k, rank, key, job)
        queue[last] = queue[k]  # spare: a queue has room for more than its jobs
        shift(queue, place + 1, place, k - place)
        queue[place] = queue[last]
        changed = True
    return changed


@compiled
def _key(m: Machine, order: int, number: int, growth: float, own: KeyFunction) -> float:
    """Return a waiting job's key of the time."""
    if order == MULTIFACTOR:
        return priority_key(m, number, growth)
    now, job = m.clock[0].now, m.jobs[number]
    shape = m.options[job.first_option]
    if order == OWN:
        return own(now, job.submitted, shape.expect, float(shape.procs))
    return builtin_key(order, now, job.submitted, shape.expect, float(shape.procs))


@compiled
def renew_keys(m: Machine, own: KeyFunction) -> bool:
    """Sort the queues that go by keys of the time; False: ``culprit`` has none.

    Multifactor priorities are computed anew if it is time to.
    """
    due = keys_are_due(m)
    growth = unit(m) if due else 1.0
    for number in range(m.partitions.size):
        part = m.partitions[number]
        if part.order == STATIC or (part.order == MULTIFACTOR and not due):
            continue
        first, last = part.queue, part.queue + part.waiting
        for k in range(first, last):
            entry = m.queue[k]
            entry.key = _key(m, part.order, entry.job, growth, own)
            m.jobs[entry.job].key = entry.key
            if part.order == OWN and np.isnan(entry.key):
                m.clock[0].culprit = entry.job
                return False
        if _sort(m.queue, first, last):
            void(m)
    return True
