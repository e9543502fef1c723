"""A row of free ports on loopback for the daemons of one virtual machine."""

from __future__ import annotations

import itertools
import os
import socket
from typing import Final

from onega.core.errors import SimulationError

FIRST_PORT, LAST_PORT = 10_000, 32_000
"""Below the ports that the kernel gives to connections by itself, which come and go meanwhile."""

BLOCK: Final = 50
"""Ports are taken in blocks of so many."""


class Ports:
    """Ports in a row that no process listens on, and that no other virtual machine takes.

    Daemons start seconds after the ports were found free, and a machine that is started at the same
    time would find them free, too. So a block of ports has a name, and only one process can hold it
    at a time: an abstract socket, which goes with its process, and which is no file.

    Attributes
    ----------
    first
        The first of them.
    """

    def __init__(self, count: int) -> None:
        self._held: list[socket.socket] = []
        starts = range(FIRST_PORT, LAST_PORT - count, BLOCK)
        turn = os.getpid() % max(1, len(starts))
        for first in itertools.chain(starts[turn:], starts[:turn]):
            if self._hold(first, count) and all(map(_is_free, range(first, first + count))):
                self.first = first
                return
            self.release()
        raise SimulationError(
            f"no {count} free ports in a row between {FIRST_PORT} and {LAST_PORT}"
        )

    def _hold(self, first: int, count: int) -> bool:
        """Take the blocks in which the ports are; tell whether all could be had."""
        for block in range(first, first + count, BLOCK):
            one = socket.socket(socket.AF_UNIX)
            self._held.append(one)
            try:
                one.bind(f"\0onega-ports-{block}")
            except OSError:
                return False
        return True

    def release(self) -> None:
        """Let others have them; safe to call twice."""
        while self._held:
            self._held.pop().close()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
