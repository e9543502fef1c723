"""What `write_parquet` stores of a log beside its jobs, checked when it is read again."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from onega.core.documents import first_problem
from onega.core.units import LONGEST
from onega.core.workload.meta import Meta

Seconds = Annotated[float, Field(ge=-LONGEST, le=LONGEST, allow_inf_nan=False)]
Size = Annotated[int, Field(ge=1, le=10**12)]
Count = Annotated[int, Field(ge=0, le=10**12)]
Number = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class StoredMeta(BaseModel):
    """The fields of `Meta` but for the reader's report."""

    model_config = ConfigDict(extra="forbid", strict=True)

    source: str | None = None
    format: str | None = None
    epoch: Seconds | None = None
    timezone: str | None = None
    utc_offset: Seconds | None = None
    procs: Size | None = None
    nodes: Size | None = None
    header: tuple[str, ...]
    labels: dict[str, dict[Number, str]]
    unfinished: dict[str, Count] = {}
    provenance: tuple[str, ...]


def meta_from_json(text: str) -> Meta:
    """Rebuild what `write_parquet` stored; ValueError with one line if it isn't that."""
    try:
        return Meta(**dict(StoredMeta.model_validate_json(text)))
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
