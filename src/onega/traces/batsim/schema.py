"""What is read of a workload of Batsim, and its types; other keys are left alone."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from onega.core.units import LONGEST

Seconds = Annotated[float, Field(ge=-LONGEST, le=LONGEST, allow_inf_nan=False)]
Resources = Annotated[int, Field(ge=1, le=10**12)]


class Job(BaseModel):
    """A job: how many resources it asks for, from when on, and its profile."""

    model_config = ConfigDict(strict=True)

    id: int | str
    subtime: Seconds
    res: Resources
    profile: int | str
    walltime: Seconds | None = None


class WorkloadFile(BaseModel):
    """The whole file; only profiles that a job has are looked at."""

    model_config = ConfigDict(strict=True)

    jobs: list[Job]
    profiles: dict[str, dict[str, Any]]
    nb_res: Resources | None = None
