"""Room in the logs: asked before an instant, so that nothing has to stop halfway.

An instant may write as many lines as there are jobs and nodes. That bound is found at a glance for
many instants at once if they are *calm*; only where it doesn't do is it counted out.
"""

from __future__ import annotations

from onega.kernels.addressed import callee, floats, small
from onega.kernels.detailed_state import Record, partitions

FEW = 64
"""Submissions at one instant up to which the room in the logs is told at a glance."""

CALM = 16
"""Instants for which that is done at once."""


@small
def is_calm(s: Record, following: float) -> bool:
    """Tell at a glance that few come at an instant, and no events happen."""
    last = s.next_job + FEW
    few = last >= s.jobs or floats(s.submit_at)[last] > following
    return few and s.event_time > following and s.pending == 0


@callee
def room_is_plenty(s: Record, rounds: int) -> bool:
    """Tell at a glance that the lines of so many calm instants have room in the logs."""
    present = s.holding + s.waiting + rounds * FEW
    most = 4 * present + 8 * s.nodes + 16
    if s.sleeps > 0 and s.pooled:
        for number in range(s.parts):
            # An end and a timer add one entry each.
            most += 4 * (partitions(s.partitions_at)[number].entries + 2 * rounds)
    return (
        s.logged + rounds * most <= s.log_room
        and s.stretches + rounds * most <= s.stretch_room
        and s.sequence + rounds * present <= s.attempt_room
        and s.switches + 2 * rounds <= s.switch_room
    )


@callee
def has_room(s: Record, following: float) -> bool:
    """Tell whether what may happen at one instant has room in the logs; else note how much."""
    rows = s.next_job
    while rows < s.jobs and floats(s.submit_at)[rows] <= following:
        rows += 1
    coming = rows - s.next_job + s.pending
    rows = s.next_row
    while rows < s.rows and floats(s.row_time_at)[rows] <= following:
        rows += 1
    happening = rows - s.next_row + s.active
    rows = s.next_withdrawal
    while rows < s.withdrawals and floats(s.begin_at)[rows] <= following:
        rows += 1
    happening += rows - s.next_withdrawal + s.steps - s.next_step
    s.log_wanted = 3 * s.holding + s.waiting + 2 * coming + happening + 2 * s.nodes + 16
    s.stretch_wanted = 8 * s.nodes
    if s.sleeps > 0 and s.pooled:
        entries = 0
        for number in range(s.parts):
            entries += partitions(s.partitions_at)[number].entries
        s.stretch_wanted += 4 * (entries + s.holding) + 2 * (s.waiting + coming)
    s.attempt_wanted = s.sequence + s.waiting + s.holding + coming
    return (
        s.logged + s.log_wanted <= s.log_room
        and s.stretches + s.stretch_wanted <= s.stretch_room
        and s.attempt_wanted <= s.attempt_room
        and s.switches + 2 <= s.switch_room
    )
