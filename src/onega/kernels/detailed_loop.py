"""One portion of a run of the detailed machine: what happens at each instant, in its order.

0. Launches that are over: work begins. 1. Completions, in the order of their starts. 2. The table's
events, the calendar, wake-ahead timers. 3. Submissions by row. 4. A scheduling pass, if a job left,
something happened to the machine, or somebody came. Each arrival and departure is followed by the
decision of the rate control.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.kernels.addressed import callee, flags, floats, ints, small
from onega.kernels.detailed_alone import come_alone, lean_newcomer
from onega.kernels.detailed_codes import DOWN, IDLE, MULTIFACTOR, SUBMITTED
from onega.kernels.detailed_depth import looked_at, sink_deeper
from onega.kernels.detailed_easy import newcomer_only, pass_simple
from onega.kernels.detailed_events import events, look_at_tables
from onega.kernels.detailed_general import pass_general
from onega.kernels.detailed_hold import (
    begin_work,
    expect_end,
    stop_work,
    take,
)
from onega.kernels.detailed_lean import pass_lean, plan_due
from onega.kernels.detailed_leave import end_job_here
from onega.kernels.detailed_next import is_any, next_key, pop, push
from onega.kernels.detailed_place import place_now, shared_fit
from onega.kernels.detailed_queue import (
    nobody_fits,
    queue_add,
    recompute_keys,
    settle_keys,
    work_left,
)
from onega.kernels.detailed_room import CALM, has_room, is_calm, room_is_plenty
from onega.kernels.detailed_sleep import drop_idle, emit, fire_timers, note, set_timers
from onega.kernels.detailed_state import (
    AHEAD,
    COMPLETING,
    LATER,
    LAUNCHING,
    TIME,
    WAITING,
    WORK,
    WORKING,
    Record,
    attempts,
    dues,
    heap_entries,
    heap_size,
    partitions,
    rate_levels,
    rate_switches,
    slots,
    stacked,
    state_at,
)
from onega.kernels.detailed_usage import describe, first_key, renew_keys
from onega.kernels.engine import (
    BAD_KEY,
    DONE,
    FIXED,
    LOG_FULL,
    MORE,
    WORKLOAD,
    Ints,
    advance,
    clock,
    control_arrival,
    end_time,
)
from onega.kernels.heap import Heap, heap_pop
from onega.kernels.jit import inlined, kernel


@inlined
def _next_time(s: Record) -> float:
    """Return when something happens next; ∞ if nothing does."""
    sizes = ints(s.sizes_at)
    following = np.inf
    if is_any(s, WORK):
        following = end_time(s, next_key(s, WORK))
    if is_any(s, TIME):
        following = min(following, next_key(s, TIME))
    if sizes[LATER] > 0:
        later = Heap(heap_entries(s.later_heap_at), heap_size(s.sizes_at, LATER))
        # Who was cancelled while his submission was pending won't come: nothing happens then.
        while later.size[0] > 0 and flags(s.phase_at)[later.entry[0].seq] != AHEAD:
            heap_pop(later)
        if later.size[0] > 0:
            following = min(following, later.entry[0].key)
    while s.next_job < s.jobs and (
        not flags(s.plain_at)[s.next_job] or flags(s.phase_at)[s.next_job] != AHEAD
    ):
        s.next_job += 1
    if s.next_job < s.jobs:
        following = min(following, floats(s.submit_at)[s.next_job])
    following = min(following, s.event_time)
    if s.wake_ahead:
        following = min(following, s.timer)
    return max(following, s.now)


@small
def _add_due(s: Record, count: int, slot: int) -> None:
    """Enter a slot that ends now, by the order of starts."""
    due = dues(s.due_at)
    seq = slots(s.slots_at)[slot].seq
    at = count
    while at > 0 and due[at - 1].seq > seq:
        due[at].seq = due[at - 1].seq
        due[at].slot = due[at - 1].slot
        at -= 1
    due[at].seq = seq
    due[at].slot = slot


@small
def _complete(s: Record, slot: int) -> bool:
    """Begin the completion of a job whose work is done; False: there is none."""
    job = slots(s.slots_at)[slot].job
    completion = floats(s.completion_at)[job]
    if completion <= 0.0:
        return False
    stop_work(s, slot)
    flags(s.phase_at)[job] = COMPLETING
    push(s, TIME, slot, s.now + completion, slots(s.slots_at)[slot].seq)
    return True


@small
def _is_due(s: Record) -> bool:
    """Tell whether somebody's work is done now."""
    return is_any(s, WORK) and end_time(s, next_key(s, WORK)) <= s.now


@inlined
def _completions(s: Record) -> int:
    """Begin the work of launched jobs, begin completions, end jobs in the order of their starts.

    Return how many have ended.
    """
    count = 0
    while is_any(s, TIME) and next_key(s, TIME) <= s.now:
        slot = pop(s, TIME)
        if flags(s.phase_at)[slots(s.slots_at)[slot].job] == LAUNCHING:
            begin_work(s, slot)
        else:
            _add_due(s, count, slot)
            count += 1
    while _is_due(s):
        slot = pop(s, WORK)
        if not _complete(s, slot):
            _add_due(s, count, slot)
            count += 1
    for index in range(count):
        slot = dues(s.due_at)[index].slot
        if flags(s.phase_at)[slots(s.slots_at)[slot].job] == WORKING:
            stop_work(s, slot)
        end_job_here(s, slot)
    return count


@small
def _come(s: Record, job: int, time: float) -> None:
    """Let a job come; it isn't in its queue yet."""
    floats(s.submitted_at)[job] = time
    flags(s.phase_at)[job] = WAITING
    s.arrived += 1
    note(s, SUBMITTED, job, -1)
    if s.control != FIXED:
        if s.control == WORKLOAD:
            s.work_waiting += work_left(s, job, ints(s.first_option_at)[job])
        levels = rate_levels(s.rates_at, s.levels)
        draws = floats(s.draws_at)
        control_arrival(s, levels, draws, rate_switches(s.switches_at), job)


@callee
def _submit(s: Record, job: int, time: float) -> None:
    """Let a job come and wait for the next pass."""
    _come(s, job, time)
    if partitions(s.partitions_at)[ints(s.partition_at)[job]].order == MULTIFACTOR:
        first_key(s, job)
    s.pass_due = 1
    queue_add(s, job)


@small
def _is_lone(s: Record) -> bool:
    """Tell whether the next job comes now, nobody else, and nothing else happens."""
    job, submit = s.next_job, floats(s.submit_at)
    return (
        s.direct > 0
        and s.lean > 0
        and not s.pass_due
        and s.event_time > s.now
        and not (s.wake_ahead and s.timer <= s.now)
        and job < s.jobs
        and submit[job] <= s.now
        and (job + 1 == s.jobs or submit[job + 1] > s.now)
    )


@inlined
def _due_dependents(s: Record) -> int:
    """Collect those whose time has come, by row; return how many."""
    heap = Heap(heap_entries(s.later_heap_at), heap_size(s.sizes_at, LATER))
    rows = ints(s.came_at)
    count = 0
    while heap.size[0] > 0 and heap.entry[0].key <= s.now:
        job = heap.entry[0].seq
        heap_pop(heap)
        if flags(s.phase_at)[job] != AHEAD:
            continue
        at = count
        while at > 0 and rows[at - 1] > job:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = job
        count += 1
    return count


@small
def _look_at_timers(s: Record) -> None:
    """After decisions: see anew when to wake ahead, and do so where it is time to."""
    if s.wake_ahead:
        set_timers(s)
        if s.timer <= s.now:
            plan_due(s)
            fire_timers(s)


@inlined
def _submit_alone(s: Record) -> None:
    """Let the next job come, and decide on it without a pass if that needs none."""
    job = s.next_job
    s.next_job = job + 1
    if flags(s.phase_at)[job] == AHEAD:
        _come(s, job, floats(s.submit_at)[job])
        come_alone(s, job)
        if not s.pass_due:
            _look_at_timers(s)


@inlined
def _submissions(s: Record) -> None:
    """Let everybody come whose time it is, by row."""
    dependents = _due_dependents(s) if s.dependents else 0
    done = 0
    submit = floats(s.submit_at)
    while s.next_job < s.jobs and submit[s.next_job] <= s.now:
        job = s.next_job
        while done < dependents and ints(s.came_at)[done] < job:
            _submit(s, ints(s.came_at)[done], s.now)
            s.pending -= 1
            done += 1
        if flags(s.plain_at)[job] and flags(s.phase_at)[job] == AHEAD:
            _submit(s, job, submit[job])
        s.next_job = job + 1
    while done < dependents:
        _submit(s, ints(s.came_at)[done], s.now)
        s.pending -= 1
        done += 1


@small
def _no_chance(s: Record, number: int) -> bool:
    """Tell at a glance that nobody of a partition can start and nobody looks at reservations."""
    p = partitions(s.partitions_at)[number]
    if p.waiting == 0:
        return True
    if looked_at(s, number):
        return False
    if floats(s.total_avail_at)[number * s.kinds] < p.least:
        return True
    # Where keys cost more than a look at everybody, and no reservation holds that tells as much.
    return s.factors > 0 and (s.changed > 0 or not p.kept or p.stale > 0) and nobody_fits(s, number)


@inlined
def _pass_partition(s: Record, number: int, own: Any) -> int:  # noqa: ANN401
    """One partition's part of the pass; MORE or BAD_KEY."""
    p = partitions(s.partitions_at)[number]
    # The order of sleeping nodes changes with time, and with it the reservation's nodes.
    deeper = sink_deeper(s, number)
    if _no_chance(s, number):
        p.reserved = 0
        p.kept = 0
        return MORE
    if p.stale and (p.waiting > 1 or s.restarts):
        settle_keys(s, number)
    if not p.sorted and not recompute_keys(s, number, own):
        return BAD_KEY
    if (
        not s.changed
        and p.sorted
        and not p.many
        and not deeper
        and (lean_newcomer(s, number) if s.lean else newcomer_only(s, number))
    ):
        return MORE
    if p.many:
        pass_general(s, number)
    elif s.lean:
        pass_lean(s, number)
    else:
        pass_simple(s, number)
    return MORE


@inlined
def _pass(s: Record, own: Any) -> int:  # noqa: ANN401
    """One scheduling pass over all partitions; MORE or BAD_KEY."""
    s.claimed = 0
    renew_keys(s)
    for number in range(s.parts):
        result = _pass_partition(s, number, own)
        if result != MORE:
            return result
        partitions(s.partitions_at)[number].newcomers = 0
    s.changed = 0
    _look_at_timers(s)
    return MORE


@inlined
def _instant(s: Record, own: Any) -> int:  # noqa: ANN401
    """Everything that happens now; MORE or BAD_KEY."""
    if s.wake_ahead and s.timer <= s.now:
        plan_due(s)
    # Asked at once, so that what can't be foreseen, an end or an arrival, is found out only once.
    if _completions(s) == 0 and _is_lone(s):
        _submit_alone(s)
    else:
        if s.event_time <= s.now:
            events(s)
        if s.wake_ahead and s.timer <= s.now:
            fire_timers(s)
        _submissions(s)
    result = MORE
    if s.pass_due:
        s.pass_due = 0
        result = _pass(s, own)
    if s.control == WORKLOAD and s.waiting + s.launching == 0:
        s.work_waiting = 0.0
    return result


@inlined
def _finish(s: Record) -> None:
    """Write down the stretches that last to the end of the run."""
    for number in range(s.parts):
        p = partitions(s.partitions_at)[number]
        for node in range(p.first, p.last):
            count = ints(s.cores_at)[node]
            if not flags(s.up_at)[node]:
                emit(s, DOWN, floats(s.down_since_at)[node], count, node)
            elif s.sleeps > 0 and not s.pooled and ints(s.jobs_on_at)[node] == 0:
                emit(s, IDLE, floats(s.since_at)[node], count, node)
        if s.sleeps > 0 and s.pooled:
            stack = stacked(s.stack_at)
            for at in range(p.stack, p.stack + p.entries):
                emit(s, IDLE, stack[at].since, stack[at].count, p.first)


@kernel
def run(state: int, own: Any, rounds: int) -> int:  # noqa: ANN401
    """Go through at most ``rounds`` instants from a state's address; return why it stopped.

    DONE: everybody has left, or nothing can happen any more; MORE: call again; LOG_FULL: empty the
    logs, or make them larger (see ``…_wanted``), then call again; BAD_KEY: the priority function
    gave NaN for job ``culprit``.
    """
    s = state_at(state)
    look_at_tables(s)
    levels = rate_levels(s.rates_at, s.levels)
    calm = 0  # instants that have room if they are calm
    for _ in range(rounds):
        following = _next_time(s)
        if not is_calm(s, following):
            calm = 0
            if not has_room(s, following):
                return LOG_FULL
        elif calm == 0:
            calm = CALM - 1 if room_is_plenty(s, CALM) else 0
            if calm == 0 and not room_is_plenty(s, 1) and not has_room(s, following):
                return LOG_FULL
        else:
            calm -= 1
        level = s.level
        if s.gone == s.jobs or (following == np.inf and s.control != WORKLOAD):
            _finish(s)
            return DONE
        if not advance(s, levels, rate_switches(s.switches_at), following):
            _finish(s)
            return DONE
        if s.level != level:
            s.pass_due = 1
        result = _instant(s, own)
        if result != MORE:
            return result
    return MORE


@kernel
def load(state: int, initial: Ints) -> int:
    """Put jobs onto an empty machine that run at the beginning; return one that doesn't fit, or −1."""  # noqa: E501
    s = state_at(state)
    v = clock(s)
    for job in initial:
        number = ints(s.partition_at)[job]
        option = ints(s.first_option_at)[job]
        if not shared_fit(s, floats(s.avail_at), s.nodes * s.kinds, option):
            return job
        if not place_now(s, number, option):
            return job
        if s.sleeps > 0 and s.pooled:
            drop_idle(s, number, ints(s.procs_at)[option])
        done = floats(s.initial_done_at)[job]
        at = take(s, number, job, option)
        slot = slots(s.slots_at)[at]
        expect_end(s, at, v + (floats(s.expect_at)[option] - done))
        attempt = attempts(s.attempts_at)[slot.seq]
        attempt.start = floats(s.initial_start_at)[job]
        attempt.begin = attempt.start
        floats(s.start_at)[job] = attempt.start
        floats(s.submitted_at)[job] = floats(s.submit_at)[job]
        if s.factors:
            describe(s, job, floats(s.submit_at)[job])
        flags(s.phase_at)[job] = WORKING
        slot.begun = v - done
        slot.key = v + (floats(s.work_at)[option] - done)
        push(s, WORK, at, slot.key, slot.seq)
        s.running += 1
        s.arrived += 1
        if s.control == WORKLOAD:
            s.ends_running += slot.key
    return -1
