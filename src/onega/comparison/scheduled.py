"""What schedulers make of a workload: the waits that a synthetic log is there to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from onega.core.errors import ModelError
from onega.core.workload.workload import Workload
from onega.simulation.simulate import simulate

POLICIES: Final = ("fcfs", "easy")
"""Every job in turn, and the rule that most machines have: the two ends of usual practice."""


def scheduled(
    workload: Workload, procs: int | None = None, *, policies: Sequence[str] = POLICIES
) -> dict[str, float]:
    """Return ``wait_{policy}`` (mean, s) and ``utilisation_{policy}`` of a simulated machine.

    Parameters
    ----------
    workload
        Jobs without width or run time are left out; load as it is.
    procs
        Processors of the machine; the workload's own by default. A job that is wider is refused.
    policies
        What `onega.Policy.parse` reads.

    Notes
    -----
    Means are over all jobs, from an empty machine to the last end, as is the utilisation.
    """
    size = procs or workload.meta.procs
    if size is None:
        raise ModelError("how large the machine is isn't known; give its processors (--procs)")
    usable = workload.select((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    found: dict[str, float] = {}
    for policy in policies:
        summary = simulate(usable, size, policy).summary()
        found[f"wait_{policy}"] = float(summary["mean_wait"])
        found[f"utilisation_{policy}"] = float(summary["utilisation"])
    return found
