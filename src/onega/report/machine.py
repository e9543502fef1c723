"""The machine of a report: what is described beyond its processors, and what runs on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from onega.core.machine.cluster import Cluster
from onega.core.policy import MULTIFACTOR, Policy
from onega.core.workload.report import Finding, Report
from onega.core.workload.schema import DEMAND, demand_names
from onega.core.workload.workload import Workload
from onega.simulation.machine.fit import CALLED
from onega.simulation.machine.machine import find_misfits

PARTS: Final = {
    "nodes": "nodes",
    "resources": "resources of the whole machine",
    "partitions": "partitions",
    "queues": "queues",
    "user_limits": "limits per user",
    "multifactor": "multifactor weights",
    "sleep": "sleep states",
    "power_cap": "power cap",
    "failures": "failures",
    "overheads": "overheads",
    "interruption": "rule for interrupted jobs",
}
"""Parts of a `Cluster` that a plain pool of processors lacks, and what they are called."""


def described_parts(cluster: Cluster) -> tuple[str, ...]:
    """Name what is described of a machine beyond its processors, rates and power."""
    said = {name: words for name, words in PARTS.items() if getattr(cluster, name)}
    if cluster.nodes:
        kinds = dict.fromkeys(kind for one in cluster.nodes for kind in one.amounts)
        inside = ", ".join(_called(kind) for kind in kinds if kind != "procs")
        said["nodes"] += f" ({inside})" if inside else ""
    return tuple(said.values())


def _called(resource: str) -> str:
    return CALLED.get(resource, resource)


def uses_weights(policies: Sequence[str]) -> bool:
    """Whether one of the policies orders jobs by the weights of ``[multifactor]``."""
    return any(Policy.parse(one).order == MULTIFACTOR for one in policies)


def runnable(log: Workload, cluster: Cluster) -> tuple[Workload, Report]:
    """Leave out the jobs that could never run on the machine as described, and say why."""
    if cluster.is_plain:
        return log, Report()
    findings, gone = [], pl.Series("job", [], dtype=pl.Int64)
    for one in find_misfits(log, cluster):
        jobs = pl.Series("job", one.jobs, dtype=pl.Int64)
        rows = log.table.filter(pl.col("job").is_in(jobs.implode()))
        findings.append(Finding.of(f"unfit_{one.rule}", "dropped", one.why, rows))
        gone = pl.concat([gone, jobs])
    if gone.is_empty():
        return log, Report()
    return log.select(~pl.col("job").is_in(gone.implode())), Report.of(findings)


def as_told(cluster: Cluster, jobs: Workload) -> Cluster:
    """Return the machine without what asks for the users of jobs that don't say theirs."""
    if cluster.is_plain or jobs.has("user"):
        return cluster
    weights = cluster.multifactor
    alike = None if weights is None else replace(weights, fair_share=0.0)
    return replace(cluster, multifactor=alike, user_limits=None)


KNOWN: Final = {
    "user": "users",
    "group": "accounts",
    "queue": "queues",
    "partition": "partitions",
    "requested_memory": "memory",
}
"""Columns by which parts of a machine tell jobs apart, and what they are called."""


def lost_in(sample: Workload, log: Workload) -> tuple[str, ...]:
    """Name what the log tells of its jobs and a sample of a model of it doesn't."""
    columns = KNOWN | {f"{DEMAND}{name}": _called(name) for name in demand_names(log.table.columns)}
    return tuple(
        words
        for name, words in columns.items()
        if log.has(name) and not (name in sample.table.columns and sample.has(name))
    )
