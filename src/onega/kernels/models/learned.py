"""Drawing jobs from learnt functions of the past: classes of gap, width and run time in turn.

The inputs x of one job, in the order in which they become known:

- 0–2: log₂ of the class of the last job's gap, width and run time;
- 3–5: the same of this user's last job; 6: whether the user is the last job's;
- 7: the queue, log₂(1 + V) with V the seconds that a machine which is never idle with work at hand
  needs for what it holds (Lindley's recursion V ← (V − gap)₊ + procs·runtime / machine), a day
  at most;
- then the recurrent state h ← (1 − leak)·h + leak·tanh(h·W + z·U), z being inputs 0–2 scaled;
- then, once drawn, this job's gap, the queue after it, and this job's width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.models.chain import pick

STATES = 16
"""Size of the recurrent state."""

BEFORE = 8 + STATES
FEATURES = BEFORE + 3
LEAK = 0.3
WIDEST = 3.0
"""Scaled inputs end there: nothing was learnt of what lies beyond."""

LONGEST_QUEUE = 86400.0
"""Seconds: a longer queue looks no longer. Without an end, users who answer a full machine with
larger jobs would fill it for ever."""

ROOM = 1024
"""Most hidden units or classes."""


class Past(NamedTuple):
    """What the inputs are computed from.

    Attributes
    ----------
    logs, means
        Attribute × class → log₂ of the class and its mean value (gap, width, run time).
    users
        Cumulative shares of the users.
    same
        Probability that the next job is the last user's.
    centre, scale
        Mean and spread of each input.
    recurrent, feed
        W (state × state) and U (3 × state).
    machine
        Processors.
    """

    logs: np.ndarray
    means: np.ndarray
    users: np.ndarray
    same: float
    centre: np.ndarray
    scale: np.ndarray
    recurrent: np.ndarray
    feed: np.ndarray
    machine: float


class Network(NamedTuple):
    """Three networks with one hidden layer, one after another.

    ``gamma`` = 0: rectifiers max(0, b₁ + x·w₁). Else Gaussians exp(b₁ + x·w₁ − γ|x|²), which are
    exp(−γ|x − c|²) for w₁ = 2γc and b₁ = −γ|c|².
    """

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray
    gamma: float


class Memory(NamedTuple):
    """State of a walk: the inputs, each user's last job, the recurrent state, the queue in s."""

    x: np.ndarray
    last: np.ndarray
    hidden: np.ndarray
    queue: np.ndarray


@kernel
def combine(weights: np.ndarray, bias: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """Write bias + x · weights to ``out``, row by row: contiguous, so that it runs on vectors."""
    for k in range(out.size):
        out[k] = bias[k]
    for f in range(x.size):
        value = x[f]
        if value != 0.0:
            for k in range(out.size):
                out[k] += value * weights[f, k]


@kernel
def draw_class(net: Network, a: int, x: np.ndarray, u: float, room: np.ndarray) -> int:
    """Draw a class from network a's distribution; ``room`` has two rows to work in."""
    hidden = room[0, : net.b1.shape[1]]
    scores = room[1, : net.b2.shape[1]]
    combine(net.w1[a], net.b1[a], x, hidden)
    if net.gamma > 0.0:
        length = 0.0
        for f in range(x.size):
            length += x[f] * x[f]
        for k in range(hidden.size):
            hidden[k] = math.exp(hidden[k] - net.gamma * length)
    else:
        for k in range(hidden.size):
            hidden[k] = max(hidden[k], 0.0)
    combine(net.w2[a], net.b2[a], hidden, scores)
    top = scores.max()
    total = 0.0
    for k in range(scores.size):
        total += math.exp(scores[k] - top)
        scores[k] = total
    return pick(scores, u * total)


@kernel
def scaled_inputs(past: Past, x: np.ndarray, known: int, out: np.ndarray) -> None:
    """Centre and scale the inputs, within `WIDEST`; those not known yet are blotted out."""
    for f in range(x.size):
        value = (x[f] - past.centre[f]) / past.scale[f] if f < known else 0.0
        out[f] = min(max(value, -WIDEST), WIDEST)


@kernel
def fresh_memory(past: Past) -> Memory:
    """Return the state before the first job: everything as on average, no queue."""
    last = np.zeros((past.users.size, 3))
    last[:] = past.centre[3:6]
    x = past.centre.copy()
    return Memory(x, last, np.zeros(past.recurrent.shape[0]), np.zeros(1))


@kernel
def describe(memory: Memory, user: int, before: int) -> None:
    """Fill the inputs that are known before a job, its user's last job among them."""
    x = memory.x
    x[3:6] = memory.last[user]
    x[6] = 1.0 if user == before else 0.0
    x[7] = math.log2(1.0 + memory.queue[0])
    x[8:BEFORE] = memory.hidden


@kernel
def learn_gap(past: Past, memory: Memory, gap: int) -> None:
    """Fill in the gap before the job, and the queue after it."""
    memory.queue[0] = max(memory.queue[0] - past.means[0, gap], 0.0)
    memory.x[BEFORE] = past.logs[0, gap]
    memory.x[BEFORE + 1] = math.log2(1.0 + memory.queue[0])


@kernel
def remember(past: Past, memory: Memory, job: tuple[int, int, int], user: int) -> None:
    """Make the job the last one, of the system and of its user; the state moves on."""
    gap, width, length = job
    x, hidden = memory.x, memory.hidden
    x[0] = past.logs[0, gap]
    x[1] = past.logs[1, width]
    x[2] = past.logs[2, length]
    memory.last[user] = x[:3]
    work = past.means[1, width] * past.means[2, length]
    memory.queue[0] = min(memory.queue[0] + work / past.machine, LONGEST_QUEUE)
    driven = np.zeros(hidden.size)
    combine(past.recurrent, driven, hidden, driven)
    for f in range(3):
        value = (x[f] - past.centre[f]) / past.scale[f]
        for k in range(hidden.size):
            driven[k] += value * past.feed[f, k]
    for k in range(hidden.size):
        hidden[k] += LEAK * (math.tanh(driven[k]) - hidden[k])


@kernel
def lesson_inputs(past: Past, path: np.ndarray, users: np.ndarray) -> np.ndarray:
    """Return every job's inputs; ``path`` holds the classes (3 × n), ``users`` the users."""
    n = users.size
    rows = np.zeros((n, FEATURES))
    memory = fresh_memory(past)
    before = -1
    for i in range(n):
        describe(memory, users[i], before)
        learn_gap(past, memory, path[0, i])
        memory.x[BEFORE + 2] = past.logs[1, path[1, i]]
        rows[i] = memory.x
        remember(past, memory, (path[0, i], path[1, i], path[2, i]), users[i])
        before = users[i]
    return rows


@kernel
def walk(
    past: Past, net: Network, classes: np.ndarray, uniforms: np.ndarray, users: np.ndarray
) -> np.ndarray:
    """Draw gap, width and run-time classes job by job; rows: gap, width, run time, user."""
    n = uniforms.shape[1]
    path = np.zeros((4, n), np.int64)
    scaled = np.zeros(FEATURES)
    room = np.zeros((2, ROOM))
    memory = fresh_memory(past)
    before = -1
    for i in range(n):
        user = before
        if before < 0 or users[0, i] >= past.same:
            user = pick(past.users, users[1, i])
        describe(memory, user, before)
        for a in range(3):
            known = BEFORE if a == 0 else BEFORE + 1 + a
            scaled_inputs(past, memory.x, known, scaled)
            path[a, i] = min(draw_class(net, a, scaled, uniforms[a, i], room), classes[a] - 1)
            if a == 0:
                learn_gap(past, memory, path[0, i])
            elif a == 1:
                memory.x[BEFORE + 2] = past.logs[1, path[1, i]]
        path[3, i] = user
        remember(past, memory, (path[0, i], path[1, i], path[2, i]), user)
        before = user
    return path
