"""Shapes of moldable jobs by a law: each job's own, and all others on offer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onega.kernels.engine import Floats, Ints
from onega.kernels.jit import kernel


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
    """Room for the shapes: job, width, run time, estimate; how many each job has."""

    job: Ints
    procs: Ints
    runtime: Floats
    estimate: Floats
    each: Ints


@kernel
def offer_shapes(own: Own, offered: Offered, out: Shaped) -> int:
    """Write each job's own shape and those on offer, t(n) = t(p)·S(p)/S(n); return how many."""
    count = 0
    for job in range(own.procs.size):
        before = count
        out.job[count] = job
        out.procs[count] = own.procs[job]
        out.runtime[count] = own.runtime[job]
        out.estimate[count] = own.estimate[job]
        count += 1
        for number in range(0 if own.fixed[job] else offered.width.size):
            if offered.width[number] == own.procs[job]:
                continue
            factor = own.speedup[job] / offered.speedup[number]
            out.job[count] = job
            out.procs[count] = offered.width[number]
            out.runtime[count] = own.runtime[job] * factor
            out.estimate[count] = own.estimate[job] * factor
            count += 1
        out.each[job] = count - before
    return count
