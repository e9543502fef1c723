"""Models that learn the next job as a function of the past (Song 2006, §7.2, Figure 7.4).

Inputs: the gap, width and run time of the system's last job and of the user's last job; whether the
user is the same; the queue; and a recurrent state that holds what came before. Outputs, one after
another: the class of the gap, then the width's given the gap, then the run time's given both.
Classes are powers of two; within a class values are drawn as observed. The hour and the weekday act
through the clock of the submissions: gaps are in operational time, sizes go by `SizeCycle`.

The recurrent state is an echo state network's (Jaeger 2001): its weights are drawn, not learnt, so
that the whole past is encoded in numbers which any learner can take as inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import Generator

from onega.core.types import Floats, Ints
from onega.core.workload.chains import Chain, floor_power
from onega.kernels.models.learned import BEFORE, FEATURES, STATES, WIDEST
from onega.models.arrivals.arrivals import gap_classes
from onega.models.base import Drawn, WorkloadModel
from onega.models.jobs.chainpart import ChainPart
from onega.models.jobs.jobs import Jobs
from onega.models.jobs.laws import Observed, draw_by_class
from onega.models.parts import Part, Shapes

if TYPE_CHECKING:
    from onega.kernels.models.learned import Past

MOST_USERS = 60
CALIBRATIONS, STEP = 16, 0.2
"""Rounds of calibration, and the share of the correction made in each: classes follow themselves,
so that a small move of a score goes a long way."""

RADIUS = 0.9
"""Spectral radius of the recurrent weights: below 1, so that the past fades."""


@dataclass(frozen=True, eq=False)
class Scaling(Part):
    """Mean and spread of the inputs, classes of the outputs, users' shares, the recurrent weights.

    Attributes
    ----------
    centre, scale
        Of each input (`onega.kernels.models.learned`).
    gap_levels
        log₂ of each gap class.
    users
        Shares of the most active users; the last share holds all others.
    same
        How often a job's user is the last job's.
    recurrent, feed
        Weights from the state, and from the last job, to the state.
    """

    KIND: ClassVar[str] = "scaling"
    SHAPES: ClassVar[Shapes] = {
        "centre": (FEATURES,), "scale": (FEATURES,), "gap_levels": (None,), "users": (None,),
        "recurrent": (STATES, STATES), "feed": (3, STATES),
    }  # fmt: skip
    centre: Floats
    scale: Floats
    gap_levels: Floats
    users: Floats
    same: float
    recurrent: Floats
    feed: Floats


@dataclass(frozen=True, eq=False)
class Layers(Part):
    """One hidden layer, and scores of the classes whose softmax is their distribution.

    With ``gamma`` = 0 the hidden units are rectifiers, else Gaussians exp(b₁ + x·w₁ − γ|x|²).
    """

    KIND: ClassVar[str] = "layers"
    SHAPES: ClassVar[Shapes] = {
        "w1": (FEATURES, "hidden"), "b1": ("hidden",), "w2": ("hidden", "classes"),
        "b2": ("classes",),
    }  # fmt: skip
    w1: Floats
    b1: Floats
    w2: Floats
    b2: Floats
    gamma: float = 0.0

    @classmethod
    def only(cls, found: int, classes: int, hidden: int, gamma: float = 0.0) -> Layers:
        """Return a layer that always gives one class."""
        scores = np.full(classes, -30.0)
        scores[found] = 0.0
        flat = (np.zeros((FEATURES, hidden)), np.zeros(hidden), np.zeros((hidden, classes)))
        return cls(*flat, scores, gamma)

    def probabilities(self, inputs: Floats) -> Floats:
        """Distribution of the class for each row of (scaled) inputs."""
        raw = inputs @ self.w1 + self.b1
        if self.gamma > 0:
            hidden = np.exp(raw - self.gamma * np.sum(inputs**2, axis=1, keepdims=True))
        else:
            hidden = np.maximum(raw, 0)
        scores = hidden @ self.w2 + self.b2
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a learner is taught: inputs (scaled), and the three classes of each job."""

    inputs: Floats
    classes: tuple[Ints, Ints, Ints]
    sizes: tuple[int, int, int]

    def view(self, attribute: int) -> Floats:
        """Return the inputs known when an attribute is drawn: later ones are blotted out."""
        known = self.inputs.copy()
        known[:, BEFORE if attribute == 0 else BEFORE + 1 + attribute :] = 0.0
        return known


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned(WorkloadModel):
    """Base of `neural` and `svr`: inputs, values within classes, users, drawing."""

    OWN_GAPS: ClassVar[bool] = True
    HOURLY_SIZES: ClassVar[bool] = True
    procs: ChainPart
    runtime: ChainPart
    gap: tuple[Observed, ...]
    scaling: Scaling
    layers: tuple[Layers, ...]

    @classmethod
    def _teach(cls, jobs: Jobs, rng: Generator, *, most: int) -> tuple[dict[str, Any], Lesson]:
        """Return the common parameters, and the lesson of at most so many jobs."""
        from onega.kernels.models.learned import lesson_inputs

        widths, lengths = Chain.of(jobs.procs), Chain.of(jobs.runtime)
        gaps = gap_classes(jobs.gaps)
        levels = np.array([np.log2(_level(jobs.gaps[gaps == k])) for k in range(gaps.max() + 1)])
        path = np.vstack((gaps, widths.path, lengths.path))
        users, shares = _user_numbers(jobs)
        same = float(np.mean(users[1:] == users[:-1]))
        parts: dict[str, Any] = {
            "procs": ChainPart.fit(jobs.procs, within="repeating", most=None),
            "runtime": ChainPart.fit(jobs.runtime, within="repeating", most=200),
            "gap": Observed.by_class(jobs.gaps, gaps, most=100),
        }
        # The state and the other inputs follow from the scale of the first three.
        logs = (levels, np.log2(widths.levels), np.log2(lengths.levels))
        last = np.vstack([table[row] for table, row in zip(logs, path, strict=True)])
        centre, scale = np.zeros(FEATURES), np.ones(FEATURES)
        centre[:3] = centre[3:6] = last.mean(axis=1)
        scale[:3] = _spread(last.T)
        first = Scaling(centre, scale, levels, shares, same, *_recurrent(rng))
        inputs = lesson_inputs(_past(parts, first, jobs.machine), path, users)
        centre[3:], scale[3:] = inputs[:, 3:].mean(axis=0), _spread(inputs[:, 3:])
        parts["scaling"] = Scaling(centre, scale, levels, shares, same, first.recurrent, first.feed)
        chosen = np.arange(1, len(jobs))
        if chosen.size > most:
            chosen = np.sort(rng.choice(chosen, most, replace=False))
        lesson = Lesson(
            np.clip((inputs[chosen] - centre) / scale, -WIDEST, WIDEST),
            (path[0, chosen], path[1, chosen], path[2, chosen]),
            (levels.size, widths.dimension, lengths.dimension),
        )
        return parts, lesson

    @classmethod
    def _calibrated(
        cls, parts: dict[str, Any], layers: list[Layers], machine: int, rng: Generator
    ) -> dict[str, Any]:
        """Return all parameters, scores moved so that drawn classes are as frequent as in the log.

        A network that is right about every next job of the log drifts when it walks on from its
        own; the scores of each class get the logarithm of how much too rare it came out.
        """
        wanted = [
            np.array([law.weights.sum() for law in laws])
            for laws in (parts["gap"], parts["procs"].within, parts["runtime"].within)
        ]
        for _ in range(CALIBRATIONS):
            path = _walk(parts, parts["scaling"], machine, layers, 20_000, rng)
            for a, target in enumerate(wanted):
                seen = np.bincount(path[a], minlength=target.size) + 0.5
                share = (target + 0.5) / (target + 0.5).sum()
                move = STEP * np.clip(np.log(share / (seen / seen.sum())), -1, 1)
                layers[a] = replace(layers[a], b2=layers[a].b2 + move)
        return {**parts, "layers": tuple(layers)}

    def _draw(self, n: int, rng: Generator) -> Drawn:
        parts = {"procs": self.procs, "runtime": self.runtime, "gap": self.gap}
        path = _walk(parts, self.scaling, self.machine, self.layers, n, rng)
        uniforms = rng.random((7, n))
        return Drawn(
            self.procs.values(path[1], uniforms[:3]),
            self.runtime.values(path[2], uniforms[3:6]),
            draw_by_class(self.gap, path[0], uniforms[6]),
            path[3] + 1,
        )


def _walk(
    parts: dict[str, Any], scaling: Scaling, machine: int, layers: Sequence[Layers], n: int,
    rng: Generator,
) -> Ints:  # fmt: skip
    """Draw classes of n jobs; rows: gap, width, run time, user."""
    from onega.kernels.models.learned import Network, walk

    sizes = np.array([len(parts["gap"]), parts["procs"].dimension, parts["runtime"].dimension])
    widest = int(sizes.max())
    net = Network(
        np.array([one.w1 for one in layers]),
        np.array([one.b1 for one in layers]),
        np.array([np.pad(one.w2, ((0, 0), (0, widest - one.w2.shape[1]))) for one in layers]),
        np.array([_pad(one.b2, widest) for one in layers]),
        layers[0].gamma,
    )
    past = _past(parts, scaling, machine)
    return np.asarray(walk(past, net, sizes, rng.random((3, n)), rng.random((2, n))))


def _past(parts: dict[str, Any], scaling: Scaling, machine: int) -> Past:
    """Return what the kernels compute inputs from."""
    from onega.kernels.models.learned import Past

    procs, runtime, gap = parts["procs"], parts["runtime"], parts["gap"]
    tables = (
        (scaling.gap_levels, [law.mean for law in gap]),
        (np.log2(procs.levels), [law.mean for law in procs.within]),
        (np.log2(runtime.levels), [law.mean for law in runtime.within]),
    )
    widest = max(len(means) for _, means in tables)
    logs, means = np.zeros((3, widest)), np.ones((3, widest))
    for row, (level, mean) in enumerate(tables):
        logs[row, : len(level)], means[row, : len(mean)] = level, mean
    return Past(
        logs,
        means,
        np.cumsum(scaling.users) / scaling.users.sum(),
        scaling.same,
        np.array(scaling.centre),
        np.array(scaling.scale),
        np.array(scaling.recurrent),
        np.array(scaling.feed),
        float(machine),
    )


def _recurrent(rng: Generator) -> tuple[Floats, Floats]:
    """Draw the state's weights; the largest eigenvalue of the first has modulus `RADIUS`."""
    weights = rng.normal(size=(STATES, STATES))
    weights *= RADIUS / np.abs(np.linalg.eigvals(weights)).max()
    return weights, rng.normal(size=(3, STATES)) / np.sqrt(3)


def _spread(rows: Floats) -> Floats:
    spread = rows.std(axis=0)
    return np.where(spread > 1e-9, spread, 1.0)


def _pad(bias: Floats, size: int) -> Floats:
    """Classes that an attribute doesn't have get a score that is never drawn."""
    return np.concatenate((bias, np.full(size - bias.size, -1e3)))


def _level(gaps: Floats) -> float:
    smallest = float(gaps.min())
    return 0.5 if smallest < 1 else float(floor_power(smallest))


def _user_numbers(jobs: Jobs) -> tuple[Ints, Floats]:
    """Users by activity, the rest under one number; without users, all jobs are one user's."""
    if not jobs.has_users:
        return np.zeros(len(jobs), dtype=np.int64), np.ones(1)
    _, place, counts = np.unique(jobs.user, return_inverse=True, return_counts=True)
    rank = np.empty(counts.size, dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(counts.size)
    users = np.minimum(rank[place], MOST_USERS - 1)
    return users, np.bincount(users) / users.size
