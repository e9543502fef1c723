"""What jobs need beside processors: GPUs and other resources, nodes, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from onega.core.types import Floats
from onega.core.workload.schema import DEMAND, demand_names
from onega.traces.description.sections import Jobs, Lacking, Summary, floats

HOUR: Final = 3600.0
GIB: Final = 2.0**30


class Demand(NamedTuple):
    """What jobs ask for of one resource, each for the whole job; memory in GiB.

    ``hours`` is Σ amount × run time / 3600: GPU hours, node hours.
    """

    resource: str
    jobs: int
    job_share: float
    mean: float
    largest: float
    hours: float


@dataclass(frozen=True, slots=True)
class Demands:
    """What jobs need beside processors.

    Attributes
    ----------
    demands
        One row for each resource: how many jobs ask for any of it, and for how much.
    """

    demands: tuple[Demand, ...]

    def summary(self) -> Summary:
        """Key ``demands``: a row for each resource."""
        return {"demands": [one._asdict() for one in self.demands]}


def demands(jobs: Jobs) -> Demands:
    """Measure what jobs need beside processors."""
    log = jobs.workload
    amounts: dict[str, Floats] = {
        name: floats(log, DEMAND + name) for name in demand_names(log.table.columns)
    }
    if log.has("requested_memory"):
        amounts["memory"] = floats(log, "requested_memory") * jobs.width / GIB
    rows = [_row(name, amount, jobs) for name, amount in amounts.items()]
    found = tuple(row for row in rows if row is not None)
    if not found:
        raise Lacking("the log tells nothing of GPUs, nodes or memory that jobs asked for")
    return Demands(found)


def _row(name: str, amount: Floats, jobs: Jobs) -> Demand | None:
    asked = amount > 0
    if not asked.any():
        return None
    times = np.where(jobs.runtime > 0, jobs.runtime, 0.0)
    return Demand(
        resource=name,
        jobs=int(asked.sum()),
        job_share=float(asked.mean()),
        mean=float(amount[asked].mean()),
        largest=float(amount[asked].max()),
        hours=float((amount[asked] * times[asked]).sum() / HOUR),
    )
