"""The queue in blocks, searched by bounds, against a sorted list searched by looking."""

from __future__ import annotations

from bisect import insort

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from onega.kernels.structures.waiting_line import (
    BLOCK,
    UNBOUNDED,
    Fit,
    make_waiting,
    waiting_add,
    waiting_find,
    waiting_head,
    waiting_take,
    width_class,
)

ADD, FIND, TAKE, HEAD = range(4)


@njit
def drive(waiting, operations, fits, answers):
    """Run operations (kind, ordinal or rank, procs, expect); return the most blocks in use.

    FIND looks from the ordinal on; TAKE takes what the last FIND found.
    """
    most = 0
    place, index = -1, 0
    for i in range(operations.shape[0]):
        kind = int(operations[i, 0])
        number = int(operations[i, 1])
        if kind == ADD:
            waiting_add(waiting, 2 * number, number, int(operations[i, 2]), operations[i, 3])
        elif kind == FIND:
            place = 0
            while place < waiting.blocks.used[0]:
                size = waiting.block[waiting.blocks.order[place]].filled
                if number < size:
                    break
                number -= size
                place += 1
            fit = Fit(int(fits[i, 0]), int(fits[i, 1]), fits[i, 2], fits[i, 3])
            place, index = waiting_find(waiting, place, number, fit)
            answers[i] = waiting.entry[index].rank if place >= 0 else -1
        elif kind == TAKE:
            used = waiting.blocks.used[0]
            gone = waiting_take(waiting, place, index)
            answers[i] = 1.0 if gone == (waiting.blocks.used[0] < used) else 0.0
        else:
            answers[i] = waiting.entry[waiting_head(waiting)].rank
        most = max(most, waiting.blocks.used[0])
    return most


def check(waiting, queue) -> None:
    """Entries in order; bounds not above what they bound; every block in use or spare."""
    used = int(waiting.blocks.used[0])
    order = waiting.blocks.order[:used]
    found = []
    for block in order:
        size = int(waiting.block["filled"][block])
        entries = waiting.entry[block * BLOCK : block * BLOCK + size]
        assert size > 0
        found += [entry[:3] for entry in entries.tolist()]
        assert (entries["job"] == 2 * entries["rank"]).all()
        assert entries["width"].tolist() == [int(p).bit_length() - 1 for p in entries["procs"]]
        assert waiting.block["fewest"][block] <= entries["procs"].min()
        for k in range(waiting.shortest.shape[1]):
            narrow = entries["expect"][entries["procs"] < 2 ** (k + 1)]
            assert waiting.shortest[block, k] <= narrow.min(initial=np.inf)
    assert found == queue
    assert waiting.jobs[0] == len(queue)
    assert sorted(waiting.blocks.order) == list(range(waiting.block.size))


def first_fit(queue, ordinal, fit):
    free, extra, clock, shadow = fit
    for place in range(ordinal, len(queue)):
        _, procs, expect = queue[place]
        if procs <= free and (procs <= extra or clock + expect <= shadow):
            return place
    return -1


class Twin:
    def __init__(self, room: int, widest: int) -> None:
        self.waiting = make_waiting(room, widest)
        self.queue: list[tuple[int, int, float]] = []
        self.operations: list[tuple] = []
        self.fits: list[tuple] = []
        self.answers: list[float] = []

    def _do(self, operation, fit=(0, 0, 0, 0), answer=0.0) -> None:
        self.operations.append(operation)
        self.fits.append(fit)
        self.answers.append(answer)

    def add(self, rank: int, procs: int, expect: float) -> None:
        insort(self.queue, (rank, procs, expect))
        self._do((ADD, rank, procs, expect))

    def find(self, ordinal: int, fit: tuple, *, take: bool) -> None:
        place = first_fit(self.queue, ordinal, fit)
        rank = self.queue[place][0] if place >= 0 else -1
        self._do((FIND, ordinal, 0, 0), fit, rank)
        if take and place >= 0:
            del self.queue[place]
            self._do((TAKE, 0, 0, 0), answer=1.0)
        if self.queue:
            self._do((HEAD, 0, 0, 0), answer=self.queue[0][0])

    def run(self) -> None:
        operations = np.array(self.operations, float).reshape(-1, 4)
        fits, answers = np.array(self.fits, float).reshape(-1, 4), np.zeros(len(self.answers))
        self.most_blocks = drive(self.waiting, operations, fits, answers)
        assert answers.tolist() == self.answers
        self.operations, self.fits, self.answers = [], [], []
        check(self.waiting, self.queue)


steps = st.lists(
    st.tuples(
        st.booleans(), st.integers(0, 200), st.integers(1, 9), st.integers(1, 9), st.integers(0, 9)
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_operations(script):
    twin = Twin(len(script), 9)
    ranks = set()
    for adding, number, procs, expect, extra in script:
        if adding and number not in ranks:
            ranks.add(number)
            twin.add(number, procs, float(expect))
        elif twin.queue:
            twin.find(number % (len(twin.queue) + 1), (procs, extra, 2.0, 3.0 + expect), take=True)
    twin.run()


def random_fit(rng):
    """As EASY asks; or only whether it fits (conservative); or what hardly anybody satisfies."""
    kind = rng.integers(3)
    free = int(rng.choice([1, 2, 3, 8, 40]))
    if kind == 0:
        return free, UNBOUNDED, 5.0, -np.inf
    if kind == 1:
        return free, int(rng.integers(0, 3)), 100.0, 100.0 + float(rng.exponential(20))
    return free, 0, 100.0, 100.0 + float(rng.exponential(0.3))


def play_thousands(seed: int, ranks) -> Twin:
    """Let the queue grow to thousands, shrink to nothing, grow again."""
    rng = np.random.default_rng(seed)
    twin = Twin(6000, 64)
    coming = list(ranks)
    for turn in range(6):
        share = (0.95, 0.6, 0.2)[turn % 3]
        for _ in range(1200):
            if coming and rng.random() < share:
                width = int(
                    rng.choice([1, 2, 4, 5, 16, 40, 64], p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.3])
                )
                twin.add(int(coming.pop()), width, float(rng.exponential(30)))
            elif twin.queue:
                from_start = rng.random() < 0.7
                ordinal = 0 if from_start else int(rng.integers(len(twin.queue)))
                twin.find(ordinal, random_fit(rng), take=rng.random() < 0.8)
        twin.run()
    return twin


def test_thousands_in_order_of_arrival():
    play_thousands(1, range(6000, 0, -1))


def test_thousands_by_random_rank():
    play_thousands(2, np.random.default_rng(2).permutation(6000))


def test_thousands_newest_first():
    play_thousands(3, range(6000))


def test_emptied_from_the_front_and_from_the_back():
    for backwards in (False, True):
        twin = Twin(1000, 1)
        for rank in range(1000):
            twin.add(rank, 1, 1.0)
        while twin.queue:
            ordinal = len(twin.queue) - 1 if backwards else 0
            twin.find(ordinal, (1, 1, 0.0, 0.0), take=True)
        twin.run()
        assert (twin.waiting.jobs[0], twin.waiting.blocks.used[0]) == (0, 0)


def test_there_is_always_a_spare_block():
    # As many jobs as the queue was made for, in the worst orders and in none.
    rng = np.random.default_rng(5)
    for jobs in (1, 31, 33, 5000):
        for ranks in (np.arange(jobs), np.arange(jobs)[::-1], rng.permutation(jobs)):
            twin = Twin(jobs, 8)
            for rank in ranks:
                twin.add(int(rank), 1, 1.0)
            twin.run()
            assert twin.most_blocks <= twin.waiting.block.size


@njit
def classes(widths, out):
    for i in range(widths.size):
        out[i] = width_class(widths[i])


def test_width_class():
    widths = np.array([1, 2, 3, 4, 7, 8, 1000, 1024, 2**40])
    out = np.empty(widths.size, int)
    classes(widths, out)
    assert out.tolist() == [int(width).bit_length() - 1 for width in widths]
