"""Idle processors: how long, how deep they sleep, what waking them costs.

In a pool idle processors are a stack of (since, processors), the most recently freed on top, so
that the others get the chance to sleep deeper. On real nodes each node without jobs is idle since
some time. A ``since`` ahead of the time means: still waking until then.
"""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import compiled, part
from onega.kernels.machine.codes import IDLE, WAKING, WOKEN
from onega.kernels.machine.log import note, note_stretch
from onega.kernels.machine.state import NONE, Machine, Record
from onega.kernels.pool.engine import clock as work_clock


@compiled
def sleep_state(m: Machine, since: float) -> int:
    """Return the state of what is idle since then; −1: awake, or about to be.

    Nothing is asleep at the very instant it came free, not even with a timeout of 0.
    """
    now = m.clock[0].now
    state = NONE
    if since < now:
        for k in range(m.sleep.size):
            if now - since >= m.sleep[k].timeout:
                state = k
    return state


@compiled
def delay_of(m: Machine, since: float) -> float:
    """Return how long it takes until what is idle since then could work."""
    now = m.clock[0].now
    if since > now:
        return since - now
    state = sleep_state(m, since)
    return m.sleep[state].delay if state >= 0 else 0.0


@part
def depth_of(m: Machine, n: int) -> int:
    """Return a node's place in the order of nodes: 0 awake, deeper ones later."""
    node = m.nodes[n]
    if m.rules[0].sleeps == 0 or m.rules[0].pooled or node.jobs > 0:
        return 0
    return sleep_state(m, node.since) + 1


@compiled
def end_idle(m: Machine, n: int, since: float, procs: int) -> None:
    """Write down an idle stretch that ends now."""
    if m.rules[0].sleeps > 0:
        note_stretch(m, IDLE, since, m.clock[0].now, procs, NONE, n)


@compiled
def waken(m: Machine, n: int, since: float, procs: int) -> float:
    """End an idle stretch because the processors are wanted; return since when they are awake."""
    end_idle(m, n, since, procs)
    state = sleep_state(m, since)
    if state < 0:
        return since
    now = m.clock[0].now
    ready = now + m.sleep[state].delay
    note_stretch(m, WAKING, now, ready, procs, state, n)
    return ready


@compiled
def push_idle(m: Machine, part: Record, since: float, procs: int) -> None:
    """Put processors of a pool on top of its stack."""
    top = part.stack + part.entries - 1
    if part.entries > 0 and m.idle[top].since == since:
        m.idle[top].procs += procs
    else:
        m.idle[top + 1].since = since
        m.idle[top + 1].procs = procs
        part.entries += 1


@compiled
def pop_idle(m: Machine, part: Record, procs: int) -> float:
    """Take processors off the top of a pool's stack, awake; return how long waking them takes."""
    wake = 0.0
    while procs > 0 and part.entries > 0:
        top = m.idle[part.stack + part.entries - 1]
        some = min(procs, top.procs)
        wake = max(wake, delay_of(m, top.since))
        waken(m, part.first, top.since, some)
        procs -= some
        if some == top.procs:
            part.entries -= 1
        else:
            top.procs -= some
    return wake


@compiled
def rest_nodes(m: Machine, link: int) -> None:
    """Let nodes be idle from now on that have no jobs any more."""
    while link >= 0:
        node = m.nodes[m.links[link].node]
        if node.up > 0 and node.jobs == 0:
            node.since = m.clock[0].now
        link = m.links[link].following


@compiled
def take_node(m: Machine, n: int) -> float:
    """Let a job have part of a node; return how long waking it takes."""
    node = m.nodes[n]
    if node.jobs > 0:
        return max(0.0, node.since - m.clock[0].now)
    wake = delay_of(m, node.since)
    node.since = waken(m, n, node.since, node.cores)
    return wake


@compiled
def _wake_pool(m: Machine, part: Record, now: bool) -> float:  # noqa: FBT001
    """Return how long it takes to wake what a pool's first reservation needs; ``now``: do it.

    Those processors that are awake already, or about to be, stay as they are.
    """
    procs, woken, delay = m.options[part.option].procs, 0, 0.0
    place = part.stack + part.entries - 1
    while procs > 0 and place >= part.stack:
        entry = m.idle[place]
        some = min(procs, entry.procs)
        delay = max(delay, delay_of(m, entry.since))
        if now and sleep_state(m, entry.since) >= 0:
            if some < entry.procs:  # the lower part goes on sleeping
                for k in range(part.stack + part.entries, place, -1):
                    m.idle[k] = m.idle[k - 1]
                part.entries += 1
                m.idle[place].procs -= some
                m.idle[place + 1].procs = some
                entry = m.idle[place + 1]
            entry.since = waken(m, part.first, entry.since, some)
            woken += some
        procs -= some
        place -= 1
    if woken > 0:
        note(m, WOKEN, woken, part.first)
    return delay


@compiled
def _wake_nodes(m: Machine, part: Record, now: bool) -> float:  # noqa: FBT001
    """Do the same for the nodes of a first reservation."""
    k, delay = part.link, 0.0
    while k >= 0:
        n = m.links[k].node
        node = m.nodes[n]
        if node.up > 0 and node.jobs == 0:
            delay = max(delay, delay_of(m, node.since))
            if now and sleep_state(m, node.since) >= 0:
                node.since = waken(m, n, node.since, node.cores)
                note(m, WOKEN, node.cores, n)
        k = m.links[k].following
    return delay


@compiled
def _wake_ahead(m: Machine, part: Record, now: bool) -> float:  # noqa: FBT001
    return _wake_pool(m, part, now) if m.rules[0].pooled else _wake_nodes(m, part, now)


@compiled
def set_timers(m: Machine) -> None:
    """See anew, after decisions, when what the first reservations need has to be woken."""
    clock = m.clock[0]
    v = work_clock(clock)
    for number in range(m.partitions.size):
        part = m.partitions[number]
        part.timer = np.inf
        if part.reserved > 0 and part.begin > v:
            ahead = _wake_ahead(m, part, False)  # noqa: FBT003
            if ahead > 0.0:
                begin = clock.now + (part.begin - v) / clock.rate
                part.timer = max(clock.now, begin - ahead)


@compiled
def fire_timers(m: Machine) -> None:
    """Wake what the reservations whose timers are due would take."""
    for number in range(m.partitions.size):
        part = m.partitions[number]
        if part.timer <= m.clock[0].now:
            part.timer = np.inf
            _wake_ahead(m, part, True)  # noqa: FBT003


@part
def next_timer(m: Machine) -> float:
    """Return when the next processors are woken ahead; ∞: none are."""
    following = np.inf
    if m.rules[0].wake_ahead > 0:
        for number in range(m.partitions.size):
            following = min(following, m.partitions[number].timer)
    return following
