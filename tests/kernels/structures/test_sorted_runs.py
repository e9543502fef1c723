"""The sorted multiset of (key, count) in blocks against a plain dictionary."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from onega.kernels.structures.sorted_runs import BLOCK, make_runs, runs_add, runs_reach, runs_take

ADD, TAKE, REACH = range(3)


@njit
def drive(runs, kinds, keys, counts, answers):
    """Run operations; REACH asks with 3 free for `counts` and the key as the floor."""
    for i in range(kinds.size):
        if kinds[i] == ADD:
            runs_add(runs, keys[i], counts[i])
        elif kinds[i] == TAKE:
            runs_take(runs, keys[i], counts[i])
        else:
            key, free = runs_reach(runs, 3, counts[i], keys[i])
            answers[i, 0] = key
            answers[i, 1] = free


def reach(inside: dict[float, int], need: int, floor: float) -> tuple[float, int]:
    """When `need` are free, 3 being free now: by looking at every key; the past counts as now."""
    free = 3
    ends = sorted((max(key, floor), count) for key, count in inside.items())
    for key, together in groupby(ends, key=lambda end: end[0]):
        free += sum(count for _, count in together)
        if free >= need:
            return key, free
    return np.inf, free


class Twin:
    """Collects operations and what they must answer, then runs them all."""

    def __init__(self, capacity: int) -> None:
        self.runs = make_runs(capacity)
        self.capacity = capacity
        self.inside: dict[float, int] = {}
        self.operations: list[tuple[int, float, int]] = []
        self.answers: list[tuple[float, float]] = []

    def _do(self, kind: int, key: float, count: int, answer=(0.0, 0.0)) -> None:
        self.operations.append((kind, key, count))
        self.answers.append(answer)

    def add(self, key: float, count: int) -> None:
        assert len(self.inside) < self.capacity or key in self.inside
        self.inside[key] = self.inside.get(key, 0) + count
        self._do(ADD, key, count)

    def take(self, key: float, count: int) -> None:
        self.inside[key] -= count
        if not self.inside[key]:
            del self.inside[key]
        self._do(TAKE, key, count)

    def reach(self, need: int, floor: float) -> None:
        # the simulator asks only for more than is free
        need = max(4, need)
        self._do(REACH, floor, need, reach(self.inside, need, floor))

    def run(self) -> None:
        kinds, keys, counts = (np.array(column) for column in zip(*self.operations))
        answers = np.zeros((kinds.size, 2))
        drive(self.runs, kinds, keys.astype(float), counts, answers)
        assert [tuple(row) for row in answers.tolist()] == self.answers
        self.operations, self.answers = [], []
        self.check()

    def check(self) -> None:
        """Blocks in order and not empty, totals right, every block in use or spare."""
        runs, used = self.runs, int(self.runs.blocks.used[0])
        order = runs.blocks.order[:used]
        found = []
        for block in order:
            size = int(runs.block["filled"][block])
            entries = runs.entry[block * BLOCK : block * BLOCK + size]
            assert size > 0 or used == 1
            assert entries["count"].sum() == runs.block["total"][block]
            found += entries.tolist()
        assert found == sorted(self.inside.items())
        assert sorted(runs.blocks.order) == list(range(runs.block.size))


share = st.floats(0, 1, exclude_max=True)
steps = st.lists(st.tuples(share, st.integers(0, 30), st.integers(1, 6)), min_size=1, max_size=80)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_operations(steps):
    twin = Twin(40)
    for what, key, count in steps:
        present = sorted(twin.inside)
        if what < 0.3 and present:
            chosen = present[key % len(present)]
            twin.take(chosen, min(count, twin.inside[chosen]))
        elif what < 0.6:
            twin.reach(count * 4, key - 0.5 * (what < 0.5))
        else:
            twin.add(float(key), count)
    twin.run()


def test_thousands_of_keys():
    rng = np.random.default_rng(2)
    twin = Twin(4000)
    for turn in range(8):
        # Fill and empty in turn, now from below, now anywhere.
        for key in rng.permutation(6000) if turn % 2 else range(6000):
            if len(twin.inside) < 4000 and rng.random() < (0.8 if turn < 6 else 0.2):
                twin.add(float(key), int(rng.integers(1, 9)))
        twin.reach(int(sum(twin.inside.values()) * rng.random()), float(rng.integers(-5, 6000)))
        for key in list(twin.inside):
            if rng.random() < (0.4 if turn % 3 else 0.95):
                twin.take(key, twin.inside[key])
            elif rng.random() < 0.3:
                twin.take(key, int(rng.integers(1, twin.inside[key] + 1)))
        twin.run()
    for _ in range(40):
        total = 3 + sum(twin.inside.values())
        twin.reach(int(rng.integers(4, total + 3)), float(rng.integers(-5, 6005)))
    twin.run()


def test_sparse_blocks_are_packed_when_none_is_spare():
    twin = Twin(2 * BLOCK)
    most = 0
    half = BLOCK // 2
    for chunk in range(24):
        for key in range(half * chunk, half * (chunk + 1)):
            twin.add(float(key), 2)
        twin.run()
        before, most = most, max(most, int(twin.runs.blocks.used[0]))
        if chunk >= 2:
            # A block of its own since the last split: leave one key in it, so that blocks run
            # out long before keys do.
            for key in range(half * (chunk - 2) + 1, half * (chunk - 1)):
                twin.take(float(key), 2)
            twin.run()
    assert most == twin.runs.block.size
    # With a key in each of 38 chunks and 12 blocks, they must have been packed.
    assert before == most


def test_overdue_jobs_are_expected_to_end_now():
    twin = Twin(8)
    for key, count in ((1.0, 2), (2.0, 4), (5.0, 1), (5.5, 1), (9.0, 7)):
        twin.add(key, count)
    twin.run()
    answers = np.zeros((4, 2))
    floors = np.array([0.0, 5.0, 5.0, 5.0])
    drive(twin.runs, np.full(4, REACH), floors, np.array([4, 4, 11, 19]), answers)
    # At the floor all that is past counts: 3 + 2 + 4 + 1; 11 need the next one; 19 are never free.
    assert answers.tolist() == [[1.0, 5.0], [5.0, 10.0], [5.5, 11.0], [np.inf, 18.0]]
