"""The two-phase Markov-modulated Poisson process: exact likelihood, and draws."""

from __future__ import annotations

import math

import numpy as np

from onega.kernels.jit import kernel


@kernel
def log_likelihood(gaps: np.ndarray, rates: np.ndarray, leave: np.ndarray) -> float:
    """Log π Π_i exp((Q − Λ) g_i) Λ 1, with the stationary phase just after a submission.

    The 2 × 2 matrix A = Q − Λ has real eigenvalues s ± d, and
    exp(A g) = e^{s g} (cosh(d g) I + sinh(d g)/d (A − s I)).
    """
    a11 = -leave[0] - rates[0]
    a22 = -leave[1] - rates[1]
    s = (a11 + a22) / 2
    d = math.sqrt(((a11 - a22) / 2) ** 2 + leave[0] * leave[1])
    # Stationary phases seen by submissions: π_i λ_i / Σ.
    p0 = leave[1] * rates[0]
    p1 = leave[0] * rates[1]
    v0 = p0 / (p0 + p1)
    v1 = 1 - v0
    total = 0.0
    for i in range(gaps.size):
        g = gaps[i]
        plus = math.exp((s + d) * g)
        minus = math.exp((s - d) * g)
        c = (plus + minus) / 2
        h = (plus - minus) / (2 * d)
        w0 = v0 * (c + h * (a11 - s)) + v1 * h * leave[1]
        w1 = v0 * h * leave[0] + v1 * (c + h * (a22 - s))
        v0 = max(w0, 0.0) * rates[0]
        v1 = max(w1, 0.0) * rates[1]
        norm = v0 + v1
        if not norm > 1e-300:
            return -1e300
        total += math.log(norm)
        v0 /= norm
        v1 /= norm
    return total


@kernel
def draw_gaps(n: int, rates: np.ndarray, leave: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw n gaps; the phase starts as a submission sees it."""
    gaps = np.empty(n, np.float64)
    p0 = leave[1] * rates[0]
    p1 = leave[0] * rates[1]
    phase = 0 if rng.random() * (p0 + p1) < p0 else 1
    for i in range(n):
        elapsed = 0.0
        while True:
            total = rates[phase] + leave[phase]
            elapsed += rng.exponential(1 / total)
            if rng.random() * total < rates[phase]:
                break
            phase = 1 - phase
        gaps[i] = elapsed
    return gaps
