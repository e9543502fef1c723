"""The tables of a sweep file, as pydantic checks them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from onega.core.errors import ExperimentError, suggest
from onega.core.validation import fault_words, first_fault

Values = tuple[Any, ...]

MOST_VALUES: Final = 10_000_000


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Range(_Table):
    """``{from = 80, to = 120, step = 10}``, or with ``count`` and ``scale = "log"``."""

    low: int | float = Field(alias="from")
    high: int | float = Field(alias="to")
    step: int | float | None = None
    count: int | None = None
    scale: Literal["linear", "log"] = "linear"

    @model_validator(mode="after")
    def _check(self) -> Range:
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            raise ValueError(f"from and to must be finite, got {self.low} and {self.high}")
        if self.low > self.high:
            raise ValueError(f"from must not exceed to, got {self.low} > {self.high}")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"step must be positive, got {self.step}")
        if self.count is not None and self.count < 1:
            raise ValueError(f"count must be at least 1, got {self.count}")
        if self.scale == "log" and not self.low > 0:
            raise ValueError(f"a log scale begins above 0, got from = {self.low}")
        return self

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers: both ends (and the step) are."""
        return all(isinstance(x, int) for x in (self.low, self.high, self.step or 1))

    def values(self) -> Values:
        """Return the points of the range, both ends included."""
        if self.step is not None and self.count is not None:
            raise ValueError("give step or count, not both")
        if self.count is None:
            if self.scale == "log":
                raise ValueError("a log scale needs count = N")
            step = self.step if self.step is not None else 1
            size = math.floor((self.high - self.low) / step * (1 + 1e-12)) + 1
            if size > MOST_VALUES:
                raise ValueError(f"{size} values are too many")
            return tuple(self.low + i * step for i in range(size))
        shares = [i / (self.count - 1) if self.count > 1 else 0.0 for i in range(self.count)]
        points = [self.at(share) for share in shares]
        return tuple(dict.fromkeys(points))

    def at(self, share: float) -> int | float:
        """Return the point at a share of the way from one end to the other; exactly at the ends."""
        if share in (0, 1):
            return self.low if share == 0 else self.high
        if self.scale == "log":
            point = math.exp(math.log(self.low) * (1 - share) + math.log(self.high) * share)
        else:
            point = self.low * (1 - share) + self.high * share
        point = min(max(point, self.low), self.high)  # not past an end by rounding
        return round(point) if self.whole else float(point)

    def drawn(self, share: float) -> int | float:
        """Return the value at a uniform draw; each whole number is equally likely."""
        if self.step is not None or self.count is not None:
            raise ValueError("a random range has neither step nor count")
        if self.whole and self.scale == "linear":
            return int(self.low) + math.floor(share * (self.high - self.low + 1))
        return self.at(share)


class ReadTable(_Table):
    """How logs are read: the arguments of `onega.read`."""

    format: str | None = None
    columns: str | dict[str, str] | None = None
    timezone: str | None = None


class RandomTable(BaseModel):
    """``[random]``: how many draws, and of what."""

    model_config = ConfigDict(extra="allow", strict=True)

    runs: Annotated[int, Field(ge=1, le=MOST_VALUES)]
    seed: Annotated[int, Field(ge=0)] = 0
    method: Literal["independent", "latin"] = "independent"


class SpecFile(_Table):
    """The whole file."""

    note: str | None = None
    measures: list[str] = []
    read: ReadTable = ReadTable()
    fixed: dict[str, Any] = {}
    vary: dict[str, Any] = {}
    cases: list[dict[str, Any]] = []
    random: RandomTable | None = None


def validated(model: type[Any], data: Any, key: str) -> Any:  # noqa: ANN401
    """Let pydantic check a table; say what is wrong with the first key at fault."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        fault = first_fault(error)
    place = [str(part) for part in fault["loc"] if part not in ("int", "float")]
    if fault["type"] == "extra_forbidden":
        known = [one.alias or name for name, one in model.model_fields.items()]
        table = f" in {key}" if key else ""
        raise ExperimentError(f"unknown key {place[-1]!r}{table}; {suggest(place[-1], known)}")
    dotted = ".".join([*filter(None, [key]), *place])
    if fault["type"] == "missing":
        raise ExperimentError(f"{dotted} is missing")
    raise ExperimentError(f"{dotted}: {fault_words(fault)}")
