"""What happened, line by line. There is room: the loop asks before each instant."""

from __future__ import annotations

from onega.kernels.jit import compiled
from onega.kernels.machine.codes import CAPACITY
from onega.kernels.machine.state import NONE, Machine


@compiled
def _write(m: Machine, event: int, job: int, number: int) -> None:
    written = m.logs.written[0]
    line = m.logs.lines[written.lines]
    line.time = m.clock[0].now
    line.event = event
    line.job = job
    line.node = number
    written.lines += 1


@compiled
def note(m: Machine, event: int, job: int, node: int) -> None:
    """Write a line of the event log; the node goes by its own number."""
    _write(m, event, job, m.nodes[node].number if node >= 0 else NONE)


@compiled
def note_capacity(m: Machine, resource: int) -> None:
    """Write that a machine-wide resource has a new capacity; it stands where nodes do."""
    _write(m, CAPACITY, NONE, resource)


@compiled
def note_stretch(
    m: Machine, kind: int, since: float, until: float, procs: int, depth: int, node: int
) -> None:
    """Write down processors without a job for some time, unless for none."""
    if until > since:
        written = m.logs.written[0]
        line = m.logs.stretches[written.stretches]
        line.kind = kind
        line.since = since
        line.until = until
        line.procs = procs
        line.depth = depth
        line.node = m.nodes[node].number
        written.stretches += 1


@compiled
def has_room(m: Machine) -> bool:
    """Return whether all that may happen at one instant has room in the logs."""
    clock, rules, logs = m.clock[0], m.rules[0], m.logs
    written = logs.written[0]
    return (
        written.lines + rules.lines <= logs.lines.size
        and written.stretches + rules.stretches <= logs.stretches.size
        and clock.sequence + m.jobs.size <= logs.attempts.size
        and clock.switches + 2 <= logs.switches.size
    )
