"""Tasks on threads: every one once, in any order, and gone when their results aren't wanted."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from onega.core.errors import ExperimentError, OnegaError
from onega.experiment.workers.workers import Threads, cores, heartbeat, run_all, run_each


def square(number):
    return number * number


def add(number, shared):
    return number + shared["much"]


@pytest.mark.parametrize("count", [None, 1, 2, 7])
@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_every_item_is_done_once(count, size):
    found = sorted(run_each(square, range(size), workers=Threads(count)))
    assert found == [(n, n * n, None) for n in range(size)]


def test_values_come_in_the_order_of_the_items():
    def sleepy(number):
        time.sleep(0.02 if number % 2 else 0)
        return number

    told = []
    assert run_all(sleepy, range(10), workers=Threads(3), progress=told.append) == list(range(10))
    assert told == list(range(1, 11))


def test_what_is_shared_reaches_every_task():
    assert run_all(add, [1, 2], shared={"much": 10}, workers=Threads(2)) == [11, 12]


def test_items_are_taken_as_workers_become_free():
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield number

    running = run_each(square, endless(), workers=Threads(2))
    first = list(itertools.islice(running, 20))
    running.close()
    assert len(first) == 20
    assert len(taken) <= 20 + 2 * 2 + 1


def test_a_task_that_fails_does_not_stop_the_others():
    def picky(number):
        if number == 3:
            raise OnegaError("not three")
        return number

    found = {index: (value, error) for index, value, error in run_each(picky, range(6))}
    assert [found[n][0] for n in (0, 1, 2, 4, 5)] == [0, 1, 2, 4, 5]
    assert isinstance(found[3][1], OnegaError)
    with pytest.raises(OnegaError, match="not three"):
        run_all(picky, range(6))


def test_leaving_the_loop_stops_tasks_at_their_next_heartbeat():
    began, left = threading.Event(), threading.Event()

    def endless(number):
        if number == 0:
            began.wait(10)
            return number
        began.set()
        try:
            while True:
                heartbeat()
                time.sleep(0.001)
        finally:
            left.set()

    running = run_each(endless, range(1000), workers=Threads(2))
    assert next(running).place == 0
    running.close()  # comes back, although the tasks would run for ever
    assert left.is_set()


def test_an_error_of_the_consumer_stops_the_work():
    done = []

    def note(number):
        done.append(number)

    def consume():
        for _ in run_each(note, itertools.count(), workers=Threads(2)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        consume()
    count = len(done)
    time.sleep(0.05)
    assert len(done) == count


def test_a_heartbeat_outside_of_a_task_does_nothing():
    heartbeat(0.5)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "two"])
def test_a_wrong_number_of_workers_is_refused(count):
    with pytest.raises(ExperimentError, match="number of threads is at least 1"):
        Threads(count)


def test_workers_say_what_they_are():
    assert str(Threads(1)) == "1 thread"
    assert str(Threads()) == str(Threads(cores()))
