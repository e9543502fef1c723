"""Connections with a limit to their number and to their patience.

Uvicorn waits for ever for the first line of a request, for the rest of its body, and for a client
to take its answer; a few hundred connections that say nothing would be all that it can hold.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from onega.web.settings import Settings

FULL: Final = b'{"error": "too many connections are open; try again in a while"}'
REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(FULL), FULL)
)


def bounded(settings: Settings) -> type[H11Protocol]:
    """Return uvicorn's protocol with limits."""
    most = min(settings.connections, _files() // 2)

    class Bounded(H11Protocol):
        waiting: asyncio.TimerHandle | None = None
        since = 0.0
        connections: set[Any]

        def connection_made(self, transport: Any) -> None:  # noqa: ANN401
            super().connection_made(transport)
            self.since = self.loop.time()
            if len(self.connections) > most and not self._make_room():
                transport.write(REFUSAL)
                transport.close()
                return
            self._wait(settings.header)

        def _make_room(self) -> bool:
            """Close the oldest connection on which nothing is asked, if there is one."""
            others = (one for one in self.connections if one is not self and one.is_idle())
            oldest = min(others, key=lambda one: one.since, default=None)
            if oldest is not None:
                oldest.transport.abort()
            return oldest is not None

        def is_idle(self) -> bool:
            """Whether no request is being read or answered."""
            return not self.transport.is_closing() and (
                self.cycle is None or self.cycle.response_complete
            )

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            state = self.conn.their_state
            if state is h11.SEND_BODY:
                self._wait(settings.stall)  # each piece of a body is a sign of life
            elif state is not h11.IDLE:
                self._stop_waiting()
            elif self.waiting is None and self.conn.trailing_data[0]:
                self._wait(settings.header)  # the head of another request has to come whole

        def pause_writing(self) -> None:
            super().pause_writing()
            self._wait(settings.stall)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_waiting()

        def _wait(self, seconds: float) -> None:
            self._stop_waiting()
            self.waiting = self.loop.call_later(seconds, self._give_up)

        def _stop_waiting(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
                self.waiting = None

        def _give_up(self) -> None:
            self.waiting = None
            if self.flow.read_paused and not self.flow.write_paused:
                self._wait(settings.stall)  # this side doesn't take what was sent
            else:
                self.transport.abort()

    return Bounded


def _files() -> int:
    """Return how many files this process may have open."""
    try:
        import resource
    except ImportError:
        return 1 << 20
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
