"""What all passes ask: who is to be decided on, does an option fit, do accounts allow it."""

from __future__ import annotations

from onega.kernels.addressed import callee, floats, ints, move, small
from onega.kernels.detailed_depth import plan_nodes
from onega.kernels.detailed_place import place, shared_fit
from onega.kernels.detailed_queue import choices, known_left
from onega.kernels.detailed_state import Record, partitions, queued
from onega.kernels.detailed_usage import within_limits
from onega.kernels.engine import Floats

NOBODY, EVERYBODY = -1, -2
"""Who has to be decided on: see `lone_newcomer`."""


@small
def fits_total(s: Record, totals: Floats, number: int, option: int) -> bool:
    """Tell whether a partition's nodes have enough in all; they may still be the wrong ones."""
    chunks = ints(s.chunks_at)[option]
    chunk = floats(s.chunk_at)
    for k in range(s.kinds):
        if chunks * chunk[option * s.pitch + k] > totals[number * s.kinds + k]:
            return False
    return True


@callee
def fits_now(s: Record, number: int, option: int) -> bool:
    """Find nodes for an option now, whatever comes later."""
    if not fits_total(s, floats(s.total_avail_at), number, option):
        return False
    avail = floats(s.avail_at)
    if not shared_fit(s, avail, s.nodes * s.kinds, option):
        return False
    return place(s, avail, 0, number, option)


@small
def allowed(s: Record, job: int, option: int) -> bool:
    """Tell whether a job's accounts allow an option."""
    return s.accounts == 0 or within_limits(s, job, ints(s.procs_at)[option])


@callee
def _no_option_allowed(s: Record, job: int) -> bool:
    option, count = choices(s, job)
    last = option + count - 1
    while option < last and not allowed(s, job, option):
        option += 1
    return not allowed(s, job, option)


@small
def none_allowed(s: Record, job: int) -> bool:
    """Tell whether a job's accounts are full: it is passed over."""
    if s.accounts == 0:
        return False
    if s.molded:
        return _no_option_allowed(s, job)
    return not within_limits(s, job, ints(s.procs_at)[ints(s.first_option_at)[job]])


@small
def lasts(s: Record, number: int) -> bool:
    """Tell whether a reservation stays where it is whoever starts beside it.

    One of no length holds nothing: what starts beside it may be in its way, and a reservation made
    then begins later.
    """
    return partitions(s.partitions_at)[number].lasting > 0.0


@small
def head_blocked(s: Record, number: int) -> bool:
    """Tell whether accounts may no longer allow what is reserved for the first of a queue."""
    if s.accounts == 0:
        return False
    head = queued(s.queue_at)[partitions(s.partitions_at)[number].head].job
    return choices(s, head)[1] > 1 or none_allowed(s, head)


@small
def lone_newcomer(s: Record, number: int, v: float) -> int:
    """Return where the newcomer stands who alone is to be decided on; NOBODY, or EVERYBODY.

    The caller has seen that no processors came free and nothing happened to nodes. Then the
    reservation stands as long as the shadow isn't past and accounts still allow it; whoever
    couldn't start then can't now.
    """
    p = partitions(s.partitions_at)[number]
    if not p.kept or v > p.shadow:
        return EVERYBODY
    if p.newcomers == 0:
        return NOBODY
    if p.newcomers > 1 or p.newcomer <= p.head:
        return EVERYBODY
    if head_blocked(s, number):
        return EVERYBODY
    if none_allowed(s, queued(s.queue_at)[p.newcomer].job):
        return NOBODY
    return p.newcomer if p.reserved else NOBODY


@small
def call_newcomer(s: Record, number: int) -> None:
    """Take a lone newcomer out of the queue."""
    p = partitions(s.partitions_at)[number]
    behind = p.queue + p.waiting - 1 - p.newcomer
    move(queued(s.queue_at), p.newcomer, p.newcomer + 1, behind)
    p.waiting -= 1


@small
def shorter(s: Record, job: int, option: int, other: int) -> bool:
    """Tell whether an option is shorter than another, or equal and narrower."""
    mine, theirs = known_left(s, job, option), known_left(s, job, other)
    if mine != theirs:
        return mine < theirs
    return ints(s.procs_at)[option] < ints(s.procs_at)[other]


@callee
def plan_first(s: Record, number: int, option: int) -> None:
    """Note what a partition's first reservation will take: for waking ahead."""
    p = partitions(s.partitions_at)[number]
    p.width = ints(s.procs_at)[option]
    p.built = 1
    if s.wake_ahead and not s.pooled:
        plan_nodes(s, number)
