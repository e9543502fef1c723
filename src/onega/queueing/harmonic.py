"""The harmonic renewal sequence ℓ of a width distribution, direct or by FFT, whichever is quicker.

With P(x) = Σ p_k x^k, −log(1 − P(x)) = Σ ℓ_n x^n and ℓ_n = Σ_j P(N₁+…+N_j = n)/j. The stability
constant at every machine size follows from it, see `onega.queueing.constant`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_DIRECT_CLASSES: Final = 600
"""Up to so many different widths the recursion beats FFT at every machine size (measured)."""

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
        True for power series by FFT, O(s log s), relative error about 1e-13; False for the
        recursion, O(s × number of widths), rounding error only; None chooses by cost.
    """
    from onega.kernels.stability_harmonic import harmonic_renewal as recursion

    inside = int(np.searchsorted(widths, servers, side="right"))
    if fft is None:
        fft = min(inside, servers) > _DIRECT_CLASSES and servers > 4 * _SCHOOL
    if not fft:
        result: Floats = recursion(widths[:inside], probs[:inside], servers)
        return result
    dense = np.zeros(servers + 1)
    dense[widths[:inside]] = probs[:inside]
    return _by_fft(dense)


def _by_fft(dense: Floats) -> Floats:
    """n·ℓ_n = Σ_k k·p_k·u_{n−k}, u = 1/(1 − P), block by block.

    The factor k would spread FFT's rounding error (relative to the largest term) over small n,
    where ℓ_n matters most for wide jobs; in the block [m, 2m) it is at most 2m and is divided by
    n ≥ m again.
    """
    size = dense.size
    renewal = invert_one_minus(dense)
    index = np.arange(size, dtype=np.float64)
    weighted = index * dense
    harmonic = np.zeros(size)
    high = size
    while high > 1:
        low = high // 2 if high > _SCHOOL else 1
        block = multiply(weighted[:high], renewal[:high], low, high)
        harmonic[low:high] = block / index[low:high]
        high = low
    return harmonic


def invert_one_minus(series: Floats) -> Floats:
    """1/(1 − P(x)) to the length of P (P(0) = 0), by Newton's iteration u ← u + u·(1 − (1−P)u)."""
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
