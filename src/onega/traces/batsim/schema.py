"""What is read of a workload of Batsim, and its types; other keys are left alone."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from onega.core.units import LONGEST

Seconds = Annotated[float, Field(ge=-LONGEST, le=LONGEST, allow_inf_nan=False)]
Resources = Annotated[int, Field(ge=1, le=10**12)]


class Job(BaseModel):
    """A request: so many resources from when on, for a profile."""

    model_config = ConfigDict(strict=True)

    id: int | str
    subtime: Seconds
    res: Resources
    profile: int | str
    walltime: Seconds | None = None


class WorkloadFile(BaseModel):
    """The whole file; profiles are looked at where a job has them."""

    model_config = ConfigDict(strict=True)

    jobs: list[Job]
    profiles: dict[str, dict[str, Any]]
    nb_res: Resources | None = None
