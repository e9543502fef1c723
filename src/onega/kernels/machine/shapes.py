"""Shapes of moldable jobs by a law: each job's own, and all others on offer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints


class Own(NamedTuple):
    """Jobs as they are: width, run time, estimate, speedup at that width; which stay so."""

    procs: Ints
    runtime: Floats
    estimate: Floats
    speedup: Floats
    fixed: npt.NDArray[np.bool_]


class Offered(NamedTuple):
    """Widths that are on offer, with the speedup at each."""

    width: Ints
    speedup: Floats


class Shaped(NamedTuple):
    """Room for the shapes: width, run time, estimate; how many each job has.

    ``extent`` gets the least and the most width, the longest run time and the longest estimate;
    the latter is NaN unless all estimates are above 0.
    """

    procs: Ints
    runtime: Floats
    estimate: Floats
    each: Ints
    extent: Floats


@kernel
def offer_shapes(own: Own, offered: Offered, out: Shaped) -> int:
    """Write each job's own shape and those on offer, t(n) = t(p)·S(p)/S(n); return how many."""
    count = 0
    least, most = np.inf, 0.0
    long, longest = 0.0, 0.0
    known = True
    for job in range(own.procs.size):
        before = count
        procs, runtime, estimate = own.procs[job], own.runtime[job], own.estimate[job]
        for number in range(-1, 0 if own.fixed[job] else offered.width.size):
            width, factor = procs, 1.0
            if number >= 0:
                width = offered.width[number]
                if width == procs:
                    continue
                factor = own.speedup[job] / offered.speedup[number]
            expected = estimate * factor
            out.procs[count] = width
            out.runtime[count] = runtime * factor
            out.estimate[count] = expected
            least, most = min(least, width), max(most, width)
            long, longest = max(long, runtime * factor), max(longest, expected)
            known &= expected > 0
            count += 1
        out.each[job] = count - before
    out.extent[0], out.extent[1] = least, most
    out.extent[2], out.extent[3] = long, longest if known else np.nan
    return count
