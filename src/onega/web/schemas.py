"""What the API takes and gives."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from onega.core.machine.settings.description import PowerSettings, Procs, RateControlSettings
from onega.models import MODELS

ID = r"^[0-9a-f]{16}$"
POLICY = r"^(observed|slurm(:fine)?|[a-z0-9-]{1,20}(\+[a-z]{1,20})?)$"
"""No file of a machine can be named in it, as the command's ``slurm:FILE`` does."""

Id = Annotated[str, Field(pattern=ID, examples=["0123456789abcdef"])]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=120)]
PublishedModel = Literal["lublin", "feitelson96"]
ModelName = Annotated[str, Field(json_schema_extra={"enum": list(MODELS)})]
TableFormat = Literal["csv", "parquet"]
LogFormat = Literal["swf", "csv", "parquet"]

SETTINGS = ("procs", "rate_control", "power")
"""Settings of a machine that a request has beside a description in TOML."""


class Given(BaseModel):
    """A request: a key that isn't known is refused."""

    model_config = ConfigDict(extra="forbid")


class RunRequest(Given):
    """A log under a policy on a machine."""

    log: Id
    policy: Annotated[
        str,
        Field(
            pattern=POLICY,
            description="ORDER[+BACKFILL], `slurm`, or `observed` for what the log says happened",
            examples=["easy"],
        ),
    ] = "easy"
    name: Name | None = None
    procs: Annotated[Procs | None, Field(description="the log's own machine by default")] = None
    cluster: Annotated[
        str | None,
        Field(
            max_length=20_000,
            description="the machine in TOML, as `onega cluster init` writes it; other keys win",
        ),
    ] = None
    knowledge: Literal["estimate", "runtime"] | None = None
    ties: Literal["instant", "event"] = "instant"
    enforce_limits: bool = False
    rate_control: RateControlSettings | None = None
    power: PowerSettings | None = None
    window: Annotated[
        str,
        Field(
            max_length=60,
            description="time over which the machine is measured: `log` (from when it has filled "
            "to the last submission), `whole`, or START..END (dates, or times such as 2d..9d)",
        ),
    ] = "log"
    seed: Seed = 1


class FitRequest(Given):
    """A model to learn from a log."""

    log: Id
    model: ModelName = "lublin"
    name: Name | None = None
    seed: Seed = 1


class PlanRequest(Given):
    """What has to hold, and what may be changed for it; see `onega.plan`."""

    log: Id
    target: Annotated[str, Field(min_length=1, max_length=200, examples=["p95(wait)<4h"])]
    vary: Literal["procs", "policy", "load"] = "procs"
    policy: Annotated[str, Field(pattern=POLICY, description="where it isn't what is varied")] = (
        "easy"
    )
    procs: Procs | None = None
    name: Name | None = None
    seed: Seed = 1


class SampleRequest(Given):
    """Jobs to draw from a model."""

    jobs: Annotated[int, Field(ge=1, le=1_000_000)] = 5000
    name: Name | None = None
    procs: Procs | None = None
    load: Annotated[float, Field(gt=0, le=10)] | None = None
    seed: Seed = 1


class DemoRequest(SampleRequest):
    """Jobs of a model with its published parameters: a log where there is none at hand."""

    model: PublishedModel = "lublin"
    procs: Annotated[int, Field(ge=1, le=100_000)] = 128
    load: Annotated[float, Field(gt=0, le=10)] | None = 0.55


class Problem(BaseModel):
    """Why a request was refused, in one line."""

    error: str


class ItemAnswer(BaseModel):
    """A log, a run, a model or a plan, and how far it is."""

    id: str
    name: str
    created: Annotated[float, Field(description="Unix time")]
    status: Literal["waiting", "running", "done", "failed"]
    progress: Annotated[float, Field(description="from 0 to 1")]
    stage: str
    error: str | None
    seconds: float | None
    size: Annotated[int, Field(description="bytes of its files")]
    request: dict[str, Any]
    result: Annotated[dict[str, Any] | None, Field(description="numbers, once it is done")]


class OldItem(BaseModel):
    """Something that can be deleted."""

    path: str
    name: str
    created: Annotated[float, Field(description="Unix time")]
    size: Annotated[int, Field(description="bytes")]


class StorageAnswer(BaseModel):
    """How much room logs and results take."""

    used: Annotated[int, Field(description="bytes")]
    most: Annotated[int, Field(description="bytes; above, nothing new is taken")]
    oldest: list[OldItem]


class FigureAnswer(BaseModel):
    """A Plotly figure."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class WindowAnswer(BaseModel):
    """A stretch of a schedule at the resolution of a screen."""

    begin: float
    end: float
    height: int
    jobs: Annotated[int, Field(description="jobs that run in it")]
    kind: Literal["jobs", "grid"]
    series: dict[str, list[float]]
    rectangles: dict[str, list[float]] | None = None
    columns: int | None = None
    rows: int | None = None
    grid: Annotated[
        str | None,
        Field(description="base64 of a byte per cell, 255 = all busy, processor 0 first"),
    ] = None


class ComparisonAnswer(BaseModel):
    """Runs side by side."""

    runs: list[ItemAnswer]
    measures: list[dict[str, Any]]
    figure: FigureAnswer
    notes: Annotated[
        list[str], Field(description="over which jobs and over what time the measures are")
    ] = []


class SizingAnswer(BaseModel):
    """Whether a machine keeps up, and the same for other sizes."""

    headline: str
    summary: dict[str, Any]
    sentences: list[str]
    cautions: list[str]
    curve: dict[str, list[float | None]]


class OptionsAnswer(BaseModel):
    """What can be chosen, with a line about each."""

    version: str
    policies: dict[str, str]
    orders: dict[str, str]
    backfills: list[str]
    rate_controls: list[str]
    models: dict[str, str]
    formats: list[str]
    limits: dict[str, float]


class HealthAnswer(BaseModel):
    """Whether the page answers, and how much there is to do."""

    status: Literal["ok"]
    version: str
    waiting: int
