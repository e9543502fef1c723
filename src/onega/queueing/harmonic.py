"""The harmonic renewal sequence ℓ of a width distribution, direct or by FFT, whichever is quicker.

With P(x) = Σ p_k x^k, −log(1 − P(x)) = Σ ℓ_n x^n and ℓ_n = Σ_j P(N₁+…+N_j = n)/j. The stability
constant at every machine size follows from it, see `onega.queueing.constant`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from onega.core.types import Floats, Ints

_DIRECT_CLASSES: Final = 150
"""Up to so many different widths the recursion is as quick as FFT, and more exact (measured)."""

_STEPS: Final = 50
"""Machines that hold more jobs of mean width than this use the centred recursion."""

_SCHOOL: Final = 64
"""Below this length a power series is inverted term by term."""


def harmonic_renewal(
    widths: Ints, probs: Floats, servers: int, *, fft: bool | None = None
) -> Floats:
    """ℓ_0…ℓ_servers for widths with the given probabilities.

    Parameters
    ----------
    widths, probs
        Different widths from 1, ascending, and their probabilities.
    servers
        The largest index wanted.
    fft
        True for power series by FFT, O(s log s), relative error about 1e-12; False for the
        recursion, O(s × number of widths), rounding error only; None chooses by cost.
    """
    from onega.kernels.queueing.harmonic import harmonic_renewal as recursion

    step = int(np.gcd.reduce(widths))
    if step > 1:
        # Widths that are all multiples of g fill multiples of g only.
        sequence = np.zeros(servers + 1)
        coarse = harmonic_renewal(widths // step, probs, servers // step, fft=fft)
        sequence[::step][: coarse.size] = coarse
        return sequence
    inside = int(np.searchsorted(widths, servers, side="right"))
    tails = _tails(widths, probs, servers)
    if fft is None:
        fft = inside > _DIRECT_CLASSES
    if not fft:
        centred = servers > _STEPS * float(np.dot(widths, probs))
        result: Floats = recursion(widths[:inside], probs[:inside], tails, centred)
        return result
    dense = np.zeros(servers + 1)
    dense[widths[:inside]] = probs[:inside]
    return _by_fft(dense, tails)


def _tails(widths: Ints, probs: Floats, servers: int) -> Floats:
    """P(N > n) for n = 0…servers, summed from the far end."""
    tails = np.zeros(servers + 1)
    above = np.cumsum(probs[::-1])[::-1]
    steps = np.repeat(above, np.diff(np.append(0, widths)))[: servers + 1]
    tails[: steps.size] = steps
    return tails


def _by_fft(dense: Floats, tails: Floats) -> Floats:
    """Compute ℓ by FFT, in the form whose rounding error is the smaller for this law.

    Wide laws: n·ℓ_n = Σ_k k·p_k·u_{n−k}, u = 1/(1 − P). Narrow ones: u then stays near 1/E[N] and
    its error adds up over a million terms; but 1 − P(x) = (1−x)·T(x), T(x) = Σ P(N>n) xⁿ, so
    ℓ_n = 1/n − [xⁿ] log T(x), and 1/T dies out.
    """
    size = dense.size
    index = np.arange(size, dtype=np.float64)
    mean = float(tails.sum())
    by_renewal = np.linalg.norm(dense) * np.sqrt((1 + size / mean**2) * size)
    by_tails = np.linalg.norm(index * tails) * (1 + 2 * np.linalg.norm(tails))
    if by_renewal <= by_tails:
        return _log_derivative(dense, invert_one_minus(dense))
    one_less = -tails
    one_less[0] = 0.0  # T(0) = 1
    logarithm = _log_derivative(tails, invert_one_minus(one_less))
    harmonic = np.zeros(size)
    harmonic[1:] = 1.0 / index[1:] - logarithm[1:]
    return harmonic


def _log_derivative(series: Floats, inverse: Floats) -> Floats:
    """(1/n)·[xⁿ] x·A′(x)·B(x), block by block.

    The factor k of A′ would spread rounding errors over small n, where they matter most for wide
    jobs; in the block [m, 2m) it is at most 2m and is divided by n ≥ m again.
    """
    size = series.size
    index = np.arange(size, dtype=np.float64)
    weighted = index * series
    result = np.zeros(size)
    high = size
    while high > 1:
        low = high // 2 if high > _SCHOOL else 1
        result[low:high] = multiply(weighted[:high], inverse[:high], low, high) / index[low:high]
        high = low
    return result


def invert_one_minus(series: Floats) -> Floats:
    """Invert 1 − P(x) to the length of P (P(0) = 0), by Newton: u ← u + u·(1 − (1−P)u)."""
    sizes = [series.size]
    while sizes[-1] > _SCHOOL:
        sizes.append((sizes[-1] + 1) // 2)
    known = sizes.pop()
    inverse = np.zeros(known)
    inverse[0] = 1.0
    for n in range(1, known):
        inverse[n] = np.dot(series[1 : n + 1], inverse[n - 1 :: -1])
    while sizes:
        wanted = sizes.pop()
        # The whole residual is kept, not only its new half: Newton then also repairs rounding.
        residual = multiply(series[:wanted], inverse, 0, wanted)
        residual[:known] -= inverse
        residual[0] += 1.0
        corrected = multiply(residual, inverse, 0, wanted)
        corrected[:known] += inverse
        inverse, known = corrected, wanted
    return inverse


def multiply(a: Floats, b: Floats, low: int, high: int) -> Floats:
    """Coefficients low…high−1 of the product of two power series."""
    if min(a.size, b.size) <= _SCHOOL:
        product: Floats = np.convolve(a, b)[low:high]
        return product
    from scipy import fft

    # Indices that wrap around must stay below `low`.
    length = fft.next_fast_len(max(high, a.size + b.size - 1 - low), real=True)
    result: Floats = fft.irfft(fft.rfft(a, length) * fft.rfft(b, length), length)[low:high]
    return result
