"""Attributes made when they are first asked for."""

from __future__ import annotations

from threading import Barrier, Thread

from onega.core.lazy import lazy


class Thing:
    """Counts how often its attribute is made, and may meet others while it makes it."""

    def __init__(self, meeting=None):
        self.made = 0
        self.meeting = meeting

    @lazy
    def number(self):
        """A number."""
        self.made += 1
        if self.meeting is not None:
            self.meeting.wait(timeout=30)
        return [42]


def test_an_attribute_is_made_once():
    thing = Thing()
    assert thing.made == 0
    assert thing.number is thing.number
    assert thing.made == 1
    assert Thing.number.__doc__ == "A number."


def test_threads_with_an_object_each_dont_wait_for_one_another():
    """Each waits inside for the other: with one lock for the class they would never meet."""
    meeting = Barrier(2)
    things = [Thing(meeting), Thing(meeting)]
    threads = [Thread(target=lambda thing=thing: thing.number) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [thing.number for thing in things] == [[42], [42]]
    assert not meeting.broken
