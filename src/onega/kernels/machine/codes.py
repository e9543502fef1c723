"""Codes of the machine in detail: what its kernels, its inputs and its outputs call things."""

from __future__ import annotations

from typing import Final

FIRST_FIT, BEST_FIT, SPREAD = 0, 1, 2
"""Placement on nodes."""

STATIC, EXPANSION, WFP3, UNICEF, OWN, MULTIFACTOR = -1, 0, 1, 2, 3, 4
"""Orders of a partition: by a fixed rank, or by a key of the time (codes of `kernels.keyed`)."""

NO_BACKFILL = 0
ALL_RESERVED = 2**31 - 1
"""Reservations of a pass: none (the first job that can't start blocks), k (EASY: 1), all."""

LOSE, REQUEUE, CHECKPOINT = 0, 1, 2
"""What becomes of an interrupted job."""

CANCEL, INTERRUPT, KILL, FAIL, RETURN, DRAIN, LEAVE = 0, 1, 2, 3, 4, 5, 6
"""Table events. LEAVE: a user's patience ends, which means nothing to a job that has started."""

COMPLETED, TIMEOUT, CANCELLED, KILLED, LOST, DROPPED, UNSTARTED = 0, 1, 2, 3, 4, 5, 6
"""Final states."""

IDLE, WAKING, DOWN = 0, 1, 2
"""Parts: stretches of processors that no job works on."""

(
    SUBMITTED, STARTED, ENDED_COMPLETED, ENDED_TIMEOUT, ENDED_CANCELLED, ENDED_KILLED, INTERRUPTED,
    REQUEUED, ENDED_LOST, ENDED_DROPPED, IGNORED, FAILED, RETURNED, DRAINED, RESERVED, RELEASED,
    CAPACITY, WOKEN,
) = range(18)  # fmt: skip
"""What the event log tells."""

END_EVENTS = (
    ENDED_COMPLETED, ENDED_TIMEOUT, ENDED_CANCELLED, ENDED_KILLED, ENDED_LOST, ENDED_DROPPED,
)  # fmt: skip
"""What it calls the final states."""

STATE_NAMES: Final = (
    "completed", "timeout", "cancelled", "killed", "lost", "dropped", "unstarted",
)  # fmt: skip
EVENT_NAMES: Final = (
    "submitted", "started", "completed", "timeout", "cancelled", "killed", "interrupted",
    "requeued", "lost", "dropped", "ignored", "failed", "returned", "drained", "reserved",
    "released", "capacity", "woken",
)  # fmt: skip
"""Names of final states and of events, by their codes."""
