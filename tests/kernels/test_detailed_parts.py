"""Parts of the detailed engine against obvious ones: placement, idle processors, sorting."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from onega.kernels import detailed_codes as codes
from onega.kernels.addressed import floats
from onega.kernels.detailed_depth import sink_deeper
from onega.kernels.detailed_place import place
from onega.kernels.detailed_queue import _heap_sort, _sort
from onega.kernels.detailed_sleep import pop_idle, push_idle
from onega.kernels.detailed_state import QUEUED, queued, state_at
from onega.simulation.detailed_memory import Memory
from onega.simulation.detailed_problem import Nodes, Partitions, Sleep
from reference.detailed_problems import MECHANISMS, random_problem


def blank(capacity, *, pooled=False, placement=codes.FIRST_FIT, whole=False, sleep=None):
    """Memory of a machine with these nodes in one partition, and one job."""
    problem = random_problem(0, MECHANISMS["plain"])
    nodes = np.asarray(capacity, float).reshape(len(capacity), -1)
    kinds, options = nodes.shape[1], problem.options
    made = replace(
        problem,
        t0=0.0,
        nodes=Nodes(pooled, np.zeros(len(nodes), np.int64), nodes, np.zeros(0)),
        partitions=Partitions(
            np.array([codes.STATIC]), np.array([1]), np.array([placement]), np.array([whole])
        ),
        sleep=sleep,
        options=replace(options, chunk=np.ones((options.procs.size, kinds))),
        calendar=replace(problem.calendar, amount=np.zeros((0, kinds))),
    )
    with mock.patch("onega.simulation.detailed_memory.reduced", lambda given: given):
        return Memory(made)


@njit
def find(address, row, option):
    s = state_at(address)
    found = place(s, row, 0, 0, option)
    return s.got if found else -1


def placed(memory, row, chunks, chunk):
    memory.bind("chunks", np.array([chunks]), np.int64)
    memory.bind("chunk", np.array(chunk, float))
    whole = memory.arrays["partitions"]["whole"][0]
    memory.state["unit"] = memory.kinds == 1 and chunk[0] == 1 and not whole
    count = find(memory.address, np.asarray(row, float).ravel(), 0)
    if count < 0:
        return None
    got = memory.arrays["got"][:count]
    return {int(one["node"]): int(one["chunks"]) for one in got}


def room(free, chunk):
    return max(0, min(int(have // need) for have, need in zip(free, chunk) if need > 0))


def naive(row, chunks, chunk, rule):
    """Chunk by chunk, as the rules say it."""
    rooms = [room(free, chunk) for free in row]
    if sum(rooms) < chunks:
        return None
    result: dict[int, int] = {}
    if rule == codes.SPREAD:
        for _ in range(chunks):
            node = max(range(len(rooms)), key=lambda n: (rooms[n], -n))
            rooms[node] -= 1
            result[node] = result.get(node, 0) + 1
        return result
    order = range(len(rooms))
    if rule == codes.BEST_FIT:
        order = sorted(order, key=lambda n: (rooms[n], n))
    for node in order:
        some = min(rooms[node], chunks)
        if some:
            result[node] = some
            chunks -= some
    return result


@pytest.mark.parametrize("rule", [codes.FIRST_FIT, codes.BEST_FIT, codes.SPREAD])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_placement(rule, data):
    kinds = data.draw(st.integers(1, 2))
    row = data.draw(
        st.lists(
            st.lists(st.integers(-1, 6), min_size=kinds, max_size=kinds), min_size=1, max_size=6
        )
    )
    chunk = [
        data.draw(st.integers(1, 2)),
        *[data.draw(st.integers(0, 2)) for _ in range(kinds - 1)],
    ]
    chunks = data.draw(st.integers(1, 9))
    memory = blank([[6.0] * kinds] * len(row), placement=rule)
    assert placed(memory, row, chunks, chunk) == naive(row, chunks, chunk, rule)


def test_whole_nodes_are_taken_only_if_nothing_of_them_is():
    memory = blank([[4.0], [4.0], [2.0], [4.0]], whole=True)
    assert placed(memory, [[4], [3], [2], [4]], 7, [1]) == {0: 4, 2: 2, 3: 1}
    assert placed(memory, [[4], [3], [2], [4]], 11, [1]) is None


@njit
def find_asleep(address, row, now):
    s = state_at(address)
    s.now = now
    sink_deeper(s, 0)
    found = place(s, floats(row.ctypes.data), 0, 0, 0)
    return s.got if found else -1


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 12), st.booleans()), min_size=1),
    st.integers(1, 12),
)
def test_sleeping_nodes_are_taken_last(nodes, chunks):
    """By (depth, number): awake or busy, idle for at least 2, for at least 5."""
    sleep = Sleep(np.array([2.0, 5.0]), np.array([1.0, 4.0]), wake_ahead=False)
    memory = blank([[4.0]] * len(nodes), sleep=sleep)
    memory.bind("chunks", np.array([chunks]), np.int64)
    memory.bind("chunk", np.ones(1))
    memory.state["unit"] = 1
    now = 12.0
    depths = []
    for node, (_, idle, busy) in enumerate(nodes):
        memory.arrays["jobs_on"][node] = busy
        memory.arrays["since"][node] = now - idle
        depths.append(0 if busy else (idle >= 2) + (idle >= 5))
    count = find_asleep(memory.address, np.array([float(free) for free, _, _ in nodes]), now)
    expected, left = {}, chunks
    for node in sorted(range(len(nodes)), key=lambda n: (depths[n], n)):
        some = min(nodes[node][0], left)
        left -= some
        if some:
            expected[node] = some
    assert (count < 0) == (left > 0)
    if count >= 0:
        got = memory.arrays["got"][:count]
        assert {int(one["node"]): int(one["chunks"]) for one in got} == expected
    assert memory.arrays["partitions"]["asleep"][0] == sum(depth > 0 for depth in depths)


@njit
def play(address, steps, delays):
    """Positive: so many come free at this time; negative: so many are taken."""
    s = state_at(address)
    for index in range(steps.shape[0]):
        s.now = float(steps[index, 0])
        if steps[index, 1] > 0:
            push_idle(s, 0, steps[index, 1])
            delays[index] = 0.0
        else:
            delays[index] = pop_idle(s, 0, -steps[index, 1])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=30))
def test_idle_processors_are_a_stack(moves):
    sleep = Sleep(np.array([2.0, 5.0]), np.array([1.0, 4.0]), wake_ahead=False)
    memory = blank([[8.0]], pooled=True, sleep=sleep)
    stack = [0.0] * 8
    now, steps, expected, parts = 0, [], [], []
    for gap, count in moves:
        now += gap
        if count == 0 or count > 8 - len(stack) or -count > len(stack):
            continue
        steps.append((now, count))
        worst = 0.0
        for _ in range(-count):
            since = stack.pop()
            if now > since:
                parts.append((codes.IDLE, since, float(now)))
            idle = now - since
            delay = 4.0 if idle >= 5 else 1.0 if idle >= 2 else 0.0
            if delay:
                parts.append((codes.WAKING, float(now), now + delay))
            worst = max(worst, delay)
        stack += [float(now)] * max(count, 0)
        expected.append(worst)
    delays = np.empty(len(steps))
    play(memory.address, np.array(steps, np.int64).reshape(-1, 2), delays)
    assert delays.tolist() == expected
    lines = memory.arrays["stretch"][: int(memory.state["stretches"][0])]
    got = [
        (int(line["kind"]), float(line["since"]), float(line["until"]))
        for line in lines
        for _ in range(int(line["count"]))
    ]
    assert sorted(got) == sorted(parts)


@njit
def sort_queue(address, way):
    s = state_at(address)
    if way == 0:
        _sort(s, 0)
    else:
        _heap_sort(queued(s.queue_at), 0, 0 + 12)


@pytest.mark.parametrize("way", [0, 1])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 99)),
        min_size=12,
        max_size=12,
        unique_by=lambda entry: entry[2],
    )
)
def test_queues_are_sorted_by_rank_key_and_row(way, entries):
    memory = blank([[8.0]], pooled=True)
    queue = np.zeros(14, QUEUED)
    for place_of, (rank, key, job) in enumerate(entries):
        for name, value in (("key", key), ("rank", rank), ("job", job)):
            queue[name][place_of] = value
    memory.bind("queue", queue, QUEUED)
    memory.arrays["partitions"]["queue"] = 0
    memory.arrays["partitions"]["waiting"] = 12
    sort_queue(memory.address, way)
    found = [
        (int(one["rank"]), int(one["key"]), int(one["job"])) for one in memory.arrays["queue"][:12]
    ]
    assert found == sorted(entries)


@njit
def total(address):
    return floats(address)[0] + floats(address)[1]


def test_views_are_views():
    values = np.array([1.5, 2.0])
    assert total(values.ctypes.data) == 3.5
