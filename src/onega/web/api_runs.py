"""The API of runs: simulate, look into a schedule, compare, download."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import polars as pl
from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from onega.core.errors import SimulationError
from onega.core.policy import Policy
from onega.core.schedule.common import common_jobs, means_of
from onega.core.schedule.window import Window
from onega.core.units import count_of
from onega.core.workload.workload import Workload
from onega.web import downloads, schemas
from onega.web.api import (
    ERRORS,
    Broker,
    ItemId,
    download_name,
    figure_of,
    json_answer,
    shown,
)
from onega.web.job_broker import JobBroker
from onega.web.schemas import ItemAnswer, TableFormat
from onega.web.store import Item

MOST_COMPARED: Final = 8
COMPARED: Final = (
    ("mean_wait", "mean wait", "s", "less"),
    ("median_wait", "half of the jobs wait at most", "s", "less"),
    ("p95_wait", "95 % of the jobs wait at most", "s", "less"),
    ("max_wait", "longest wait", "s", "less"),
    ("mean_response", "mean from submission to end", "s", "less"),
    ("mean_bounded_slowdown", "mean bounded slowdown", "", "less"),
    ("window_utilisation", "busy processors", "%", "more"),
    ("window_wasted_share", "idle though jobs wait", "%", "less"),
    ("makespan", "first submission to last end", "s", "less"),
    ("window_mean_jobs_waiting", "jobs waiting, on average", "", "less"),
    ("window_energy", "energy", "J", "less"),
    ("window_mean_power", "mean power", "W", "less"),
    ("mean_rate", "mean service rate", "", None),
    ("limited_jobs", "jobs ended at their limit", "", "less"),
)
"""Measures of the comparison: key, words, unit, which is better."""

_ONLY_IF: Final = {"limited_jobs": 0, "mean_rate": 1.0}
"""Measures that are left out where all runs have the usual value."""

router = APIRouter(prefix="/api", tags=["runs"], responses=ERRORS)


@router.post("/runs", status_code=202, response_model=ItemAnswer)
def run(broker: Broker, given: schemas.RunRequest) -> dict[str, Any]:
    """Simulate a log under a policy; ask for the run until it is done."""
    source = broker.done("logs", given.log)
    asked = given.model_dump()
    _check(broker, asked, source)
    return shown(broker.place("simulate", "runs", given.name or _called(asked, source), asked))


def _check(broker: JobBroker, asked: dict[str, Any], source: Item) -> None:
    """Refuse at once what the simulation would refuse later."""
    if asked["policy"] == "observed":
        if not source.numbers["waits"]:
            raise SimulationError(
                "the log has no waits, so it doesn't tell what happened; simulate"
            )
        return
    Policy.parse(asked["policy"])
    broker.check_machine(asked, source.numbers["procs"])


def _called(asked: dict[str, Any], source: Item) -> str:
    name = str(asked["policy"])
    if asked["procs"] and asked["procs"] != source.numbers["procs"]:
        name += f", {asked['procs']:,} processors"
    if asked["cluster"]:
        name += ", machine as described"
    control = asked["rate_control"]
    if control and control["kind"] != "none":
        name += f", rates by {control['kind']}"
    if asked["knowledge"]:
        name += f", knows {asked['knowledge']}"
    if asked["window"] != "log":
        name += ", whole time" if asked["window"] == "whole" else f", over {asked['window']}"
    return name + (", limits enforced" if asked["enforce_limits"] else "")


@router.get("/runs/{id}/figures/{figure}", response_model=schemas.FigureAnswer)
def run_figure(broker: Broker, id: ItemId, figure: str) -> Response:
    """Return one of the run's figures; their names are in the run's result."""
    return figure_of(broker, "runs", id, figure)


@router.get("/runs/{id}/window", response_model=schemas.WindowAnswer)
def window(
    broker: Broker,
    id: ItemId,
    begin: Annotated[float | None, Query(alias="from", allow_inf_nan=False)] = None,
    end: Annotated[float | None, Query(alias="to", allow_inf_nan=False)] = None,
    width: Annotated[int, Query(ge=1, le=4000, description="columns of pixels")] = 1000,
    rows: Annotated[int, Query(ge=1, le=1000, description="rows of pixels")] = 150,
) -> Response:
    """Look at a stretch of the schedule, in seconds after the log's epoch; all of it by default.

    Few jobs come one by one; of many comes how busy each cell of a grid is.
    """
    item = broker.done("runs", id)
    first = item.numbers["begin"] if begin is None else begin
    last = item.numbers["end"] if end is None else end
    # Numbers beyond 10¹⁵ s leave no room for seconds between them.
    if not (abs(first) < 1e15 and abs(last) < 1e15 and last - first > 1e-6):
        raise SimulationError(
            f"a window goes from a time to a later one; got {first:g} to {last:g}"
        )
    return JSONResponse(broker.picture(item).window(first, last, width, rows))


@router.get("/runs/{id}/download", response_class=Response)
async def download_run(
    broker: Broker,
    id: ItemId,
    table: Literal["jobs", "system", "swf"] = "jobs",
    format: TableFormat = "csv",
) -> Response:
    """Download the jobs' or the system's table, or the schedule as SWF (waits as simulated)."""
    item = broker.done("runs", id)
    if table == "swf":
        name = download_name(item, ".swf")
        return await downloads.swf(lambda: _as_swf(broker, item), name, broker)
    path = broker.file(item, "jobs.parquet" if table == "jobs" else "system.parquet")
    return downloads.table(path, download_name(item, f"-{table}.{format}"), format)


def _as_swf(broker: JobBroker, item: Item) -> Workload:
    """Return the log's jobs with this run's waits and run times."""
    from onega.traces.reading import read

    source = broker.done("logs", item.request["log"])
    log = read(broker.file(source, "jobs.parquet"), "parquet")
    found = pl.read_parquet(broker.file(item, "jobs.parquet"), columns=["job", "wait", "service"])
    if found["job"].is_duplicated().any():
        raise SimulationError("the log's job ids aren't unique; download the table instead")
    table = log.table.drop("wait", "runtime").join(
        found.rename({"service": "runtime"}), on="job", how="inner", maintain_order="left"
    )
    note = f"waits and run times as simulated: {item.name}"
    meta = log.meta.noting(note)
    return Workload(table, meta)


@router.get("/compare", response_model=schemas.ComparisonAnswer)
def compare(
    broker: Broker,
    runs: Annotated[str, Query(max_length=200, description="ids of runs, with commas between")],
    figure: Literal["waits", "slowdown", "response"] = "waits",
) -> Response:
    """Put runs side by side: measures beside those of the first, distributions in one figure."""
    items = chosen_runs(broker, runs)
    tables = shared_jobs(broker, items)
    answer = {
        "runs": [shown(item) for item in items],
        "measures": compared(items, tables),
        "figure": _joined(broker, items, figure)
        if tables is None
        else _drawn(items, tables, figure),
        "notes": comparison_notes(items, tables),
    }
    return json_answer(answer)


def shared_jobs(broker: JobBroker, items: list[Item]) -> list[pl.DataFrame] | None:
    """Return the tables of the jobs that means are over; None if those are all jobs of each run.

    What was observed and what was simulated may be of different jobs of a log: then of those that
    all runs have. Where a window was asked for, of those submitted in it.
    """
    given = any(item.numbers.get("window") == "given" for item in items)
    one_log = len(items) > 1 and len({item.request["log"] for item in items}) == 1
    if not (given or one_log):
        return None
    tables = [pl.read_parquet(broker.file(item, "jobs.parquet")) for item in items]
    kept = common_jobs(tables) if one_log else tables
    kept = [_in_window(table, item) for table, item in zip(kept, items, strict=True)]
    same = all(one.height == other.height for one, other in zip(tables, kept, strict=True))
    return None if same else kept


def _beside_observed(items: list[Item], tables: list[pl.DataFrame] | None) -> Iterator[str]:
    """Say how far the simulation that others are compared with is from what was observed."""
    base = first_simulated(items)
    seen = next((place for place, item in enumerate(items) if _observed(item)), None)
    if seen is None or seen == base:
        return
    waits = next(row["values"] for row in compared(items, tables) if row["key"] == "mean_wait")
    if waits[seen]:
        yield (
            f"What was observed is no simulation: the mean wait of {items[base].name} is "
            f"{waits[base] / waits[seen]:.2g} times the observed one, which says how far the "
            "simulator is from this machine, not what would be gained."
        )


def _in_window(jobs: pl.DataFrame, item: Item) -> pl.DataFrame:
    """Return the jobs submitted in the window that was asked for; all, if none was."""
    result = item.numbers
    if result.get("window") != "given":
        return jobs
    window = Window(result["window_start"], result["window_end"])
    return jobs.filter(pl.Series(window.holds(jobs["submit"].to_numpy())))


def comparison_notes(items: list[Item], tables: list[pl.DataFrame] | None) -> list[str]:
    """Say over which jobs and which time a comparison is."""
    notes = []
    results = [item.numbers for item in items]
    if tables is not None:
        some = [count_of(number, "job") for number in dict.fromkeys(one.height for one in tables)]
        given = any(one.get("window") == "given" for one in results)
        which = "submitted in the time asked for" if given else "that all these runs have"
        notes.append(f"Waits and slowdowns are over the {' and '.join(some)} {which}.")
    notes += _beside_observed(items, tables)
    windows = {
        f"{one['window_words']} ({Window(0.0, 0.0, one['window']).meaning})": item.name
        for one, item in zip(results, items, strict=True)
        if "window_words" in one
    }
    if windows:
        over = [words if len(windows) == 1 else f"{windows[words]}: {words}" for words in windows]
        notes.append(f"Busy processors, waiting jobs, energy and power: {'; '.join(over)}.")
    return notes


def chosen_runs(broker: JobBroker, ids: str) -> list[Item]:
    """Return the runs that a list of ids names."""
    named = list(dict.fromkeys(one.strip() for one in ids.split(",") if one.strip()))
    if not 1 <= len(named) <= MOST_COMPARED:
        raise SimulationError(f"compare takes 1 to {MOST_COMPARED} runs; got {len(named)}")
    return [broker.done("runs", one) for one in named]


def compared(items: list[Item], tables: list[pl.DataFrame] | None = None) -> list[dict[str, Any]]:
    """Return a row per measure: its values, the change against `first_simulated`, which is best.

    ``tables``, if given, are the jobs that all runs have: means over jobs are over those. A run is
    called the best only where that is sure: its interval is apart from all other simulations'. Only
    the mean wait has intervals, and only over all jobs of a run. What was observed is neither
    changed nor beaten: a simulator knows less that holds jobs up.
    """
    results = [dict(item.numbers) for item in items]
    if tables is not None:
        results = [one | means_of(table) for one, table in zip(results, tables, strict=True)]
    rows = []
    for key, words, unit, better in COMPARED:
        # Runs that were kept before there were windows have the measure of the whole run only.
        values = [one.get(key, one.get(key.removeprefix("window_"))) for one in results]
        known = [value for value in values if value is not None]
        if not known or (
            key in _ONLY_IF
            and all(math.isclose(value, _ONLY_IF[key], abs_tol=1e-9) for value in known)
        ):
            continue
        base = first_simulated(items)
        best = _surely_least(items, key) if better == "less" and tables is None else None
        rows.append(
            {
                "key": key,
                "words": words,
                "unit": unit,
                "values": values,
                "change": [
                    None if _observed(item) else _change(value, values[base])
                    for item, value in zip(items, values, strict=True)
                ],
                "best": [place == best for place in range(len(items))],
                "sure": best is not None,
            }
        )
    return rows


def _surely_least(items: list[Item], key: str) -> int | None:
    """Return the simulation whose interval ends below where all others' begin; None without one."""
    ends: dict[int, tuple[Any, Any]] = {
        place: (item.numbers.get(f"{key}_low"), item.numbers.get(f"{key}_high"))
        for place, item in enumerate(items)
        if not _observed(item)
    }
    if len(ends) < 2 or any(None in pair for pair in ends.values()):
        return None
    least = min(ends, key=lambda place: ends[place][1])
    others = [low for place, (low, _) in ends.items() if place != least]
    return least if ends[least][1] < min(others) else None


def _observed(item: Item) -> bool:
    return bool(item.request.get("policy") == "observed")


def first_simulated(items: list[Item]) -> int:
    """Return the place of the run that others are compared with: the first that was simulated."""
    return next((place for place, item in enumerate(items) if not _observed(item)), 0)


def _change(value: float | None, first: float | None) -> float | None:
    """Return the relative change against the first run, where there is one."""
    if value is None or not first:
        return None
    change = value / first - 1
    return change if math.isfinite(change) else None


def _drawn(items: list[Item], tables: list[pl.DataFrame], figure: str) -> dict[str, Any]:
    """Draw the distributions of the jobs that all runs have."""
    from onega.figures.schedule import compare_tables
    from onega.web.drawing import MEASURES

    names = [f"{html.escape(item.name)}{' ' * place}" for place, item in enumerate(items)]
    made = compare_tables(dict(zip(names, tables, strict=True)), measure=MEASURES[figure])
    drawn: dict[str, Any] = json.loads(made.to_json())
    return drawn


def _joined(broker: JobBroker, items: list[Item], figure: str) -> dict[str, Any]:
    """Put the lines of several runs into the first one's figure."""
    from onega.figures.theme import COLOURS

    drawn = [
        json.loads(broker.file(item, "figures", f"{figure}.json").read_bytes()) for item in items
    ]
    joined: dict[str, Any] = {"data": [], "layout": drawn[0]["layout"]}
    for place, (item, one) in enumerate(zip(items, drawn, strict=True)):
        name = html.escape(item.name)
        line = one["data"][0]
        line["name"], line["showlegend"] = name, True
        line["line"]["color"] = COLOURS[place % len(COLOURS)]
        line["hovertemplate"] = line["hovertemplate"].split("<extra>")[0] + f"<extra>{name}</extra>"
        joined["data"].append(line)
    note = "" if len(items) == 1 else "the higher the line, the better"
    joined["layout"]["title"]["subtitle"] = {"text": note}
    return joined
