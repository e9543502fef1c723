"""Randomness: one keyword, normalised once at the public edge.

Every public function that draws takes ``rng``: an integer seed, a `numpy.random.SeedSequence`,
a `numpy.random.Generator`, or None for fresh entropy. Inside, each component gets a child stream
of its own, so that adding a component doesn't change what the others draw, and replicate k can be
made alone, without the k before it, on any worker.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, SeedSequence

_ACCEPTED = "rng must be a non-negative integer, a SeedSequence, a Generator or None"

Rng = int | SeedSequence | Generator | None


def seed_sequence(rng: Rng = None) -> SeedSequence:
    """Turn anything accepted as ``rng`` into a `SeedSequence` whose entropy can be recorded.

    A `Generator` is advanced by one draw, so that two calls with the same one differ.
    """
    if rng is None:
        return SeedSequence()
    if isinstance(rng, SeedSequence):
        return rng
    if isinstance(rng, Generator):
        return SeedSequence(int(rng.integers(0, 2**63 - 1)))
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
        return SeedSequence(int(rng))
    raise ValueError(f"{_ACCEPTED}; got {rng!r}")


def child(rng: Rng, *path: int) -> SeedSequence:
    """Return the seed at ``path`` below ``rng`` without making its siblings: replicate k alone."""
    parent = seed_sequence(rng)
    return SeedSequence(
        entropy=parent.entropy, spawn_key=(*parent.spawn_key, *path), pool_size=parent.pool_size
    )


def generator(rng: Rng = None) -> Generator:
    """Return a `Generator`; one that is given is used as it is."""
    return rng if isinstance(rng, Generator) else np.random.default_rng(seed_sequence(rng))


def describe_seed(seed: SeedSequence) -> str:
    """Write a seed so that a reader can make the same one again."""
    key = f", spawn_key={seed.spawn_key}" if seed.spawn_key else ""
    return f"SeedSequence({seed.entropy}{key})"
