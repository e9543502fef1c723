"""Onega models supercomputers from their job logs.

Read a log, describe it, fit a workload model to it and generate more of it, simulate a scheduler
and its energy on it, ask queueing theory whether the machine is stable and how large it has to be.

Names are loaded on first use, so that ``import onega`` is quick and nobody waits for a compiler
who only wants to read a log.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Adequacy": "onega.comparison.adequacy",
    "AmdahlSpeedup": "onega.core.speedup",
    "Cluster": "onega.core.cluster",
    "Comparison": "onega.comparison.compare",
    "Dask": "onega.experiment.worker_dask",
    "Description": "onega.traces.description",
    "DowneySpeedup": "onega.core.speedup",
    "Events": "onega.core.events",
    "ExperimentError": "onega.core.errors",
    "Failures": "onega.core.faults",
    "Feedback": "onega.experiment.feedback",
    "Interruption": "onega.core.faults",
    "Interval": "onega.core.intervals",
    "Law": "onega.core.laws",
    "Meta": "onega.core.meta",
    "ModelError": "onega.core.errors",
    "Multifactor": "onega.core.queues",
    "NodeGroup": "onega.core.nodes",
    "OnegaError": "onega.core.errors",
    "Overheads": "onega.core.faults",
    "Partition": "onega.core.nodes",
    "Plan": "onega.experiment.planning",
    "Policy": "onega.core.policy",
    "PolicyComparison": "onega.experiment.policies",
    "Power": "onega.core.cluster",
    "PowerCap": "onega.core.sleep",
    "Priority": "onega.core.policy",
    "Processes": "onega.experiment.worker_processes",
    "Queue": "onega.core.queues",
    "QueueingError": "onega.core.errors",
    "RateControl": "onega.core.cluster",
    "ReactiveUsers": "onega.experiment.closed_loop_users",
    "Replicates": "onega.experiment.replicates",
    "Report": "onega.core.report",
    "Schedule": "onega.core.schedule",
    "SimulationError": "onega.core.errors",
    "SiteReport": "onega.report.site",
    "Sleep": "onega.core.sleep",
    "SleepState": "onega.core.sleep",
    "Sweep": "onega.experiment.sweep",
    "Threads": "onega.experiment.workers",
    "TraceError": "onega.core.errors",
    "TradeOff": "onega.experiment.pareto",
    "UserLimits": "onega.core.queues",
    "Workload": "onega.core.workload",
    "adequacy": "onega.comparison.adequacy",
    "batch_means": "onega.core.intervals",
    "calibrate": "onega.experiment.closed_loop",
    "clean": "onega.traces.cleaning",
    "closed_loop": "onega.experiment.closed_loop",
    "compare": "onega.comparison.compare",
    "compare_models": "onega.comparison.compare_models",
    "compare_policies": "onega.experiment.policies",
    "describe": "onega.traces.description",
    "feedback": "onega.experiment.feedback",
    "limits": "onega.queueing.limits",
    "loss": "onega.queueing.loss",
    "mean_interval": "onega.core.intervals",
    "plan": "onega.experiment.planning",
    "read": "onega.traces.reading",
    "read_events": "onega.traces.named",
    "replicate": "onega.experiment.replicates",
    "resample": "onega.experiment.resampling",
    "simulate": "onega.simulation.simulate",
    "site_report": "onega.report.site",
    "stability": "onega.experiment.stability",
    "sweep": "onega.experiment.sweep",
    "trade_off": "onega.experiment.pareto",
    "virtual": "onega.comparison.virtual",
    "waiting": "onega.queueing.waiting",
    "workload_recursion": "onega.simulation.recursion",
    "write": "onega.traces.writing",
}
"""Public name → the module it lives in."""

_MODULES: tuple[str, ...] = ("models",)
"""Public modules, reached as attributes."""

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"onega.{name}")
    raise AttributeError(f"module 'onega' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__version__"])
