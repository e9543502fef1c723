"""From columns of jobs to the records of the general loops, in one pass."""

from __future__ import annotations

import numpy as np

from onega.kernels.jit import kernel
from onega.kernels.pool.easy import Columns
from onega.kernels.types import Ints, Records


@kernel
def fill_records(columns: Columns, at_rank: Ints, jobs: Records) -> None:
    """Fill in what jobs are and their ranks; none has started or ended."""
    for i in range(jobs.size):
        jobs[i].submit = columns.submit[i]
        jobs[i].work = columns.work[i]
        jobs[i].expect = columns.expect[i]
        jobs[i].procs = columns.procs[i]
        jobs[i].at_rank = at_rank[i]
        jobs[i].start = np.nan
        jobs[i].end = np.nan
    for i in range(jobs.size):
        jobs[at_rank[i]].rank = i
