"""Digests of whole schedules of the machine in detail, for comparison before and after a change.

One line for each log, mechanism of `detailed.py` and mode: a digest of submissions, starts, ends,
final states, the event log (with nodes) and stretches without a job. ``python
bench/engine_hashes.py > before.txt``, change the engine, run it again, and compare the files.
``made`` instead of the archive logs: ``python bench/engine_hashes.py made``.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from detailed import (
    LOGS,
    _everything,
    archive_log,
    licences,
    machine_parts,
    made_log,
    run_parts,
    under_cap,
    with_people,
)

import onega

MODES = ("easy", "fcfs", "conservative")


def digest(schedule: onega.Schedule) -> str:
    """Return a digest of everything that happened."""
    hasher = hashlib.sha256()
    for column in (schedule.start, schedule.end):
        hasher.update(np.ascontiguousarray(column).tobytes())
    events = schedule.events
    hasher.update(events.fill_null(-1).write_csv().encode())
    if "state" in schedule.jobs.columns:
        hasher.update(",".join(schedule.jobs["state"].cast(pl.String).to_list()).encode())
    summary = {k: v for k, v in schedule.summary().items() if "energy" in k}
    hasher.update(repr(sorted(summary.items())).encode())
    return hasher.hexdigest()[:16]


def cases_of(log: onega.Workload) -> Iterator[tuple[str, onega.Workload, dict[str, Any]]]:
    """Name every case: its jobs and the arguments of `simulate` but for the policy."""
    procs = log.meta.procs or 1
    people = with_people(log)
    for label, given in machine_parts(procs, log).items():
        jobs = under_cap(people) if "power_cap" in given else people
        more: dict[str, Any] = {"cluster": onega.Cluster(procs, **given)}
        if label == "licences":
            more["demands"] = licences(jobs)
        yield label, jobs, more
    for label, given in run_parts(log, procs).items():
        yield label, people, {"cluster": procs, **given}
    jobs, everything = under_cap(people), _everything(procs, log)
    everything.pop("policy")
    yield "all together", jobs, everything | {"demands": licences(jobs)}


def policy_of(mode: str, given: dict[str, Any]) -> str:
    """Return the policy of a mode; multifactor where the machine has it."""
    cluster = given["cluster"]
    factors = getattr(cluster, "multifactor", None) is not None
    order = "multifactor" if factors else "fcfs"
    return order if mode == "fcfs" else f"{order}+{mode}"


def main() -> None:
    """Print a line for each case."""
    logs = {name: log for name in LOGS if (log := archive_log(name)) is not None}
    if sys.argv[1:] == ["made"] or not logs:
        logs = {"made": made_log(5000)}
    for name, log in logs.items():
        few = log if len(log) < 50_000 else log.select(pl.col("job") <= 30_000)
        for mode in MODES:
            jobs_of = log if mode in ("fcfs", "easy") else few
            if mode == "conservative" and name != "made":
                jobs_of = log.select(pl.col("job") <= log.table["job"][min(len(log), 6000) - 1])
            for label, jobs, given in cases_of(jobs_of):
                try:
                    schedule = onega.simulate(
                        jobs, policy=policy_of(mode, given), **{"rng": 1} | given
                    )
                    result = digest(schedule)
                except onega.OnegaError as error:
                    result = f"refused: {str(error)[:60]}"
                print(f"{name} {label} / {mode}: {result}", flush=True)


if __name__ == "__main__":
    main()
