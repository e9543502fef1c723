"""The exact stability constant at real machine sizes, and what it saves against the paper's sums.

Ratios tell a slow machine from a slow program: the constant of 10⁵ servers against one FFT of that
size, 10⁶ against 10⁵, the exact method against partitions and against Monte Carlo of equal worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import fft

from onega.queueing.constant import stability_constant
from onega.queueing.limits.limits import limits
from onega.queueing.waiting import waiting


def best(function: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print times and ratios."""
    powers = {2**k: p for k, p in enumerate((0.3, 0.15, 0.15, 0.15, 0.1, 0.08, 0.05, 0.02))}
    seconds = {}
    for servers in (10**5, 10**6):
        # Dense: every width from 1 to the whole machine; sparse: eight powers of two.
        for name, law in (("dense", f"uniform:{servers}"), ("sparse", powers)):
            seconds[name, servers] = best(lambda: stability_constant(law, servers))  # noqa: B023
            print(f"exact C, {servers:,} servers, {name}: {seconds[name, servers]:.3f} s")
    one = best(lambda: fft.rfft(np.ones(2 * 10**5)))
    print(f"exact C, 10⁵ dense = {seconds['dense', 10**5] / one:.0f} × one real FFT of 2·10⁵")
    growth = seconds["dense", 10**6] / seconds["dense", 10**5]
    print(f"exact C, 10⁶ dense = {growth:.1f} × 10⁵ dense")

    exact = best(lambda: stability_constant("uniform:60", 60))
    sums = best(lambda: stability_constant("uniform:60", 60, method="partitions"), 1)
    print(f"partitions, 60 servers: {sums:.2f} s = {sums / exact:,.0f} × exact")
    value = stability_constant(powers, 1000).value

    def draw() -> float:
        return stability_constant(powers, 1000, method="montecarlo", draws=100_000, rng=1).value

    spent = best(draw)
    digits = abs(draw() / value - 1)
    print(f"Monte Carlo, 10⁵ draws: {spent:.2f} s for a relative error of {digits:.1e}")

    busy = best(
        lambda: limits("geometric:0.9", arrival_rate=5000, service_rate=1.0, limit_rate=0.5)
    )
    print(f"limits, 33 000 busy servers: {busy:.3f} s")
    wait = best(
        lambda: waiting("1:0.5,4:0.3,8:0.2", procs=16, arrival_rate=3.0, mean_runtime=1.0), 1
    )
    print(f"exact waiting times, 16 servers, three widths: {wait:.2f} s")


if __name__ == "__main__":
    main()
