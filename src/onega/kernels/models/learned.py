"""Drawing jobs from learnt functions of the past: a network's classes, or a regression's values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.models.chain import pick

FEATURES = 13
ROOM = 1024
"""Most hidden units, cosines or classes."""


class Past(NamedTuple):
    """What the inputs are computed from.

    Attributes
    ----------
    logs
        Attribute × class → log₂ of the class (gap, width, run time).
    hours
        Hour of the week for equal cells of operational time over a week.
    users
        Cumulative shares of the users.
    same
        Probability that the next job is the last user's.
    centre, scale
        Mean and spread of each input.
    """

    logs: np.ndarray
    hours: np.ndarray
    users: np.ndarray
    same: float
    centre: np.ndarray
    scale: np.ndarray


class Network(NamedTuple):
    """Three networks with one hidden layer: weights and biases, one after another."""

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray


class Regression(NamedTuple):
    """Three regressions on random cosines, and residuals by the size of the prediction.

    ``edges`` separate the predictions' bins; ``residuals`` holds each bin's in ascending order.
    """

    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    edges: np.ndarray
    residuals: np.ndarray


@kernel
def clock_inputs(x: np.ndarray, hour: float) -> None:
    """Fill the first four inputs: hour of the day and day of the week, on circles."""
    day = 2 * math.pi * hour / 24
    week = 2 * math.pi * hour / 168
    x[0] = math.sin(day)
    x[1] = math.cos(day)
    x[2] = math.sin(week)
    x[3] = math.cos(week)


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
def network_class(net: Network, a: int, x: np.ndarray, u: float, room: np.ndarray) -> int:
    """Draw a class from network a's distribution; ``room`` has two rows to work in."""
    hidden = room[0, : net.b1.shape[1]]
    scores = room[1, : net.b2.shape[1]]
    combine(net.w1[a], net.b1[a], x, hidden)
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
def regression_class(
    net: Regression, a: int, x: np.ndarray, draw: tuple[float, np.ndarray, int], room: np.ndarray
) -> int:
    """Predict log₂ of the value, add a residual, and find the class.

    ``draw`` is (uniform number, logs of the classes, number of classes).
    """
    u, logs, classes = draw
    angles = room[0, : net.b1.shape[1]]
    combine(net.w1[a], net.b1[a], x, angles)
    value = net.w2[a, -1]
    for k in range(angles.size):
        value += net.w2[a, k] * math.cos(angles[k])
    size = 0
    while size < net.edges.shape[1] and value > net.edges[a, size]:
        size += 1
    count = net.residuals.shape[2]
    value += net.residuals[a, size, min(int(u * count), count - 1)]
    found = 0
    while found + 1 < classes and value >= logs[found + 1]:
        found += 1
    return found


@kernel
def prepare(past: Past, x: np.ndarray, known: int, out: np.ndarray) -> None:
    """Centre and scale the inputs; those not known yet are blotted out."""
    for f in range(x.size):
        out[f] = (x[f] - past.centre[f]) / past.scale[f] if f < known else 0.0


@kernel
def walk_network(
    past: Past, net: Network, classes: np.ndarray, uniforms: np.ndarray, users: np.ndarray
) -> np.ndarray:
    """Draw gap, width and run-time classes job by job; rows: gap, width, run time, user."""
    n = uniforms.shape[1]
    path = np.zeros((4, n), np.int64)
    last = np.zeros((past.users.size, 3))
    last[:] = past.centre[7:10]
    x = np.zeros(FEATURES)
    scaled = np.zeros(FEATURES)
    room = np.zeros((2, ROOM))
    x[4:7] = past.centre[4:7]
    elapsed = 0.0
    before = -1
    for i in range(n):
        user = before
        if before < 0 or users[0, i] >= past.same:
            user = pick(past.users, users[1, i])
        _describe(past, x, last, elapsed, (user, before))
        for a in range(3):
            prepare(past, x, 11 + a, scaled)
            found = network_class(net, a, scaled, uniforms[a, i], room)
            path[a, i] = min(found, classes[a] - 1)
            if a < 2:
                x[11 + a] = past.logs[a, path[a, i]]
        path[3, i] = user
        elapsed = _remember(past, x, last, elapsed, (path[0, i], path[1, i], path[2, i], user))
        before = user
    return path


@kernel
def walk_regression(
    past: Past, net: Regression, classes: np.ndarray, uniforms: np.ndarray, users: np.ndarray
) -> np.ndarray:
    """Draw as `walk_network` does, by regressions with residuals."""
    n = uniforms.shape[1]
    path = np.zeros((4, n), np.int64)
    last = np.zeros((past.users.size, 3))
    last[:] = past.centre[7:10]
    x = np.zeros(FEATURES)
    scaled = np.zeros(FEATURES)
    room = np.zeros((2, ROOM))
    x[4:7] = past.centre[4:7]
    elapsed = 0.0
    before = -1
    for i in range(n):
        user = before
        if before < 0 or users[0, i] >= past.same:
            user = pick(past.users, users[1, i])
        _describe(past, x, last, elapsed, (user, before))
        for a in range(3):
            prepare(past, x, 11 + a, scaled)
            draw = (uniforms[a, i], past.logs[a], classes[a])
            path[a, i] = regression_class(net, a, scaled, draw, room)
            if a < 2:
                x[11 + a] = past.logs[a, path[a, i]]
        path[3, i] = user
        elapsed = _remember(past, x, last, elapsed, (path[0, i], path[1, i], path[2, i], user))
        before = user
    return path


@kernel
def _describe(
    past: Past, x: np.ndarray, last: np.ndarray, elapsed: float, who: tuple[int, int]
) -> None:
    """Fill the inputs that are known before a job: the clock, and its user's last job."""
    user, before = who
    cells = past.hours.size
    place = int(elapsed / 604800.0 * cells) % cells
    clock_inputs(x, past.hours[place])
    x[7] = last[user, 0]
    x[8] = last[user, 1]
    x[9] = last[user, 2]
    x[10] = 1.0 if user == before else 0.0


@kernel
def _remember(
    past: Past, x: np.ndarray, last: np.ndarray, elapsed: float, job: tuple[int, ...]
) -> float:
    """Make the job the last one, of the system and of its user; return the time after it."""
    gap, width, length, user = job
    x[4] = past.logs[0, gap]
    x[5] = past.logs[1, width]
    x[6] = past.logs[2, length]
    last[user, 0] = x[5]
    last[user, 1] = x[6]
    last[user, 2] = x[4]
    return float(elapsed + 1.5 * 2.0 ** past.logs[0, gap])
