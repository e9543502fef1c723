"""Obvious twins of the stability constant."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np


def constant_fraction(probs: dict[int, Fraction], servers: int) -> Fraction:
    """C = Σ_j P(ν = j)/j by j-fold convolutions, in exact fractions."""
    at = {0: Fraction(1)}
    constant = Fraction(0)
    for j in range(1, servers + 1):
        grown: dict[int, Fraction] = {}
        for used, weight in at.items():
            for width, p in probs.items():
                if used + width <= servers:
                    grown[used + width] = grown.get(used + width, Fraction(0)) + weight * p
        at = grown
        for used, weight in at.items():
            blocked = sum((p for width, p in probs.items() if used + width > servers), Fraction(0))
            constant += weight * blocked / j
    return constant


def constant_quadrature(probs: np.ndarray, servers: int, nodes: int = 120) -> float:
    """C = ∫₀¹ E[z^(ν−1)] dz with a_n(z) = P(N>n) + z Σ p_k a_{n−k}(z); probs[k−1] = p_k.

    With z = 1 − (1−y)³ the nodes crowd near 1, where z^ν lives for large ν.
    """
    y, weight = np.polynomial.legendre.leggauss(nodes)
    y, weight = (y + 1) / 2, weight / 2
    z, jacobian = 1 - (1 - y) ** 3, 3 * (1 - y) ** 2
    tails = 1 - np.concatenate([[0.0], np.cumsum(probs)])
    a = np.zeros((servers + 1, nodes))
    for n in range(servers + 1):
        a[n] = tails[n] if n < tails.size else 0.0
        for k in range(1, min(n, probs.size) + 1):
            a[n] += z * probs[k - 1] * a[n - k]
    return float(np.sum(weight * jacobian * a[servers] / z))


def constant_partitions(probs: dict[int, Fraction], servers: int) -> Fraction:
    """Seed 000 (9) with j from s−k+1 and (Σn−1)!, in exact fractions."""
    widths = sorted(probs)
    constant = Fraction(0)
    for counts in product(*(range(servers // width + 1) for width in widths)):
        used = sum(c * w for c, w in zip(counts, widths))
        if not 1 <= used <= servers:
            continue
        weight = Fraction(factorial(sum(counts) - 1))
        for count, width in zip(counts, widths):
            weight *= probs[width] ** count / Fraction(factorial(count))
        constant += weight * sum((p for w, p in probs.items() if w > servers - used), Fraction(0))
    return constant


def vector_constant_fraction(
    classes: list[tuple[tuple[int, ...], Fraction]], capacity: tuple[int, ...]
) -> Fraction:
    """C for several resources by adding one job at a time."""

    def fits(used: tuple[int, ...], need: tuple[int, ...]) -> bool:
        return all(u + n <= c for u, n, c in zip(used, need, capacity))

    at = {tuple(0 for _ in capacity): Fraction(1)}
    constant = Fraction(0)
    j = 0
    while at:
        j += 1
        grown: dict[tuple[int, ...], Fraction] = {}
        for used, weight in at.items():
            for need, p in classes:
                if fits(used, need):
                    cell = tuple(u + n for u, n in zip(used, need))
                    grown[cell] = grown.get(cell, Fraction(0)) + weight * p
        at = grown
        for used, weight in at.items():
            blocked = sum((p for need, p in classes if not fits(used, need)), Fraction(0))
            constant += weight * blocked / j
    return constant
