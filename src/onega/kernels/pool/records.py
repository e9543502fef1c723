"""From columns of jobs to the records of the loops, in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.types import Floats, Ints, Records


class Columns(NamedTuple):
    """Jobs by arrival: submission, work, what the scheduler knows of it, processors."""

    submit: Floats
    work: Floats
    expect: Floats
    procs: Ints


@kernel
def fill_records(columns: Columns, at_rank: Ints, jobs: Records) -> None:
    """Fill in what jobs are and their ranks; none has started or ended."""
    for i in range(jobs.size):
        jobs[i].submit = columns.submit[i]
        jobs[i].work = columns.work[i]
        jobs[i].expect = columns.expect[i]
        jobs[i].procs = columns.procs[i]
        jobs[i].start = np.nan
        jobs[i].end = np.nan
        jobs[at_rank[i]].rank = i
