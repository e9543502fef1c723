"""Every setting of a machine: what it is, and an example of it.

The commented file of ``onega cluster init``, the help of the command's flags and the page's API
take their words from here; `tables` has the types. A test holds them against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple


class Key(NamedTuple):
    """One setting: a sentence, and its value in the example (in each, if there are several)."""

    text: str
    examples: tuple[Any, ...]


class Table(NamedTuple):
    """Settings that stand together under ``[name]``, or under ``[[name]]`` if there are several."""

    heading: str
    text: str
    keys: Mapping[str, Key]
    several: bool = False


_CLOCK: Final = "Clock and power, per processor"
_NODES: Final = "Nodes and resources"
_QUEUES: Final = "Partitions, queues, limits"
_TROUBLE: Final = "What goes wrong, what takes longer"

TABLES: Final[Mapping[str, Table]] = {
    "": Table(
        "",
        "",
        {
            "procs": Key(
                "Processors; may be left out where nodes, partitions or the log say it.", (128,)
            ),
            "placement": Key(
                "Which nodes a job gets: first-fit, best-fit or spread.", ("first-fit",)
            ),
            "whole_nodes": Key("Whether a job gets whole nodes.", (False,)),
            "power_cap": Key(
                "Most watts of the machine: a number, times of day with watts, or [s, W] pairs.",
                ({"08:00": 10000.0, "20:00": 12800.0},),
            ),
        },
    ),
    "rate_control": Table(
        _CLOCK,
        "Service rates and the rule that switches between them.",
        {
            "kind": Key("none, random, queue or workload.", ("queue",)),
            "rates": Key(
                "Service rates, increasing; a log's run times are at rate 1.", ([1.0, 1.3],)
            ),
            "k_low": Key("Jobs, or seconds of known work, at which to slow down.", (5,)),
            "k_high": Key("Jobs, or seconds of known work, above which to speed up.", (20,)),
            "p_low": Key("Chance to slow down at a completion.", (None,)),
            "p_high": Key("Chance to speed up at a submission.", (None,)),
        },
    ),
    "power": Table(
        _CLOCK,
        "What a processor draws: one number, or one for each rate.",
        {
            "busy": Key("Watts of a busy processor.", (100.0,)),
            "idle": Key("Watts of an idle processor.", (50.0,)),
        },
    ),
    "sleep": Table(
        _CLOCK,
        "What idle processors do (whole nodes, if nodes are described).",
        {
            "wake_ahead": Key(
                "Wake the processors of the first waiting job's reservation in time.", (False,)
            ),
        },
    ),
    "sleep.states": Table(
        _CLOCK,
        "Sleep states from the lightest to the deepest.",
        {
            "timeout": Key("Idle for so long before it.", ("10m", "1h")),
            "power": Key("Watts per processor asleep.", (10.0, 2.0)),
            "delay": Key("How long waking takes.", ("30s", "3m")),
            "wake_power": Key("Watts per processor while waking.", (80.0, 90.0)),
        },
        several=True,
    ),
    "nodes": Table(
        _NODES,
        "Groups of equal nodes, numbered from 1 in this order; without them processors are a pool.",
        {
            "count": Key("How many nodes.", (12, 4)),
            "procs": Key("Processors of each.", (8, 8)),
            "memory": Key("Memory of each.", ("64GiB", "256GiB")),
            "gpus": Key("GPUs of each.", (None, 4)),
            "resources": Key("Anything else of each, by name.", (None, {"ssd": 2})),
        },
        several=True,
    ),
    "resources": Table(
        _NODES,
        "What the whole machine has, by name; `onega simulate --demands FILE` says what jobs need.",
        {"matlab": Key("", (16,))},
    ),
    "partitions": Table(
        _QUEUES,
        "Dedicated parts of the machine, each with a policy.",
        {
            "name": Key(
                "The number in the log's partition field, or the log's name for it.", (1, 2)
            ),
            "procs": Key("Processors, if no nodes are described.", (None, None)),
            "nodes": Key("Nodes by number, if nodes are described.", ("1-12", "13-16")),
            "policy": Key("ORDER[+BACKFILL].", ("easy", "fcfs+conservative")),
            "placement": Key("As for the machine.", (None, "best-fit")),
            "whole_nodes": Key("As for the machine.", (None, True)),
            "default": Key("Takes the jobs of all other partitions.", (True, None)),
        },
        several=True,
    ),
    "queues": Table(
        _QUEUES,
        "Queues over the machine: higher priority first, whatever the order of the policy.",
        {
            "name": Key("The number in the log's queue field, or the log's name for it.", (1, 2)),
            "priority": Key("Higher first.", (10, 0)),
            "max_time": Key("Longest estimate.", ("1h", None)),
            "max_procs": Key("Most processors at once.", (32, None)),
            "max_jobs": Key("Most jobs at once.", (None, 100)),
            "max_jobs_per_user": Key("Most jobs of a user at once.", (None, 10)),
            "max_procs_per_user": Key("Most processors of a user at once.", (None, 64)),
            "factor": Key("The queue's term in the policy multifactor.", (None, 0.5)),
            "default": Key("Takes the jobs of all other queues.", (None, True)),
        },
        several=True,
    ),
    "user_limits": Table(
        _QUEUES,
        "What each user may have at once, in all queues together.",
        {
            "max_jobs": Key("Most jobs.", (20,)),
            "max_procs": Key("Most processors.", (96,)),
        },
    ),
    "multifactor": Table(
        _QUEUES,
        'Weights of the policy "multifactor", as Slurm\'s priority/multifactor has them.',
        {
            "age": Key("Of the time that a job has waited.", (1000,)),
            "max_age": Key("When the age counts in full.", ("7d",)),
            "size": Key("Of the width.", (1000,)),
            "fair_share": Key("Of the user's share against what was used.", (10000,)),
            "queue": Key("Of the queue's factor.", (1000,)),
            "half_life": Key("After it usage counts half.", ("7d",)),
            "period": Key("Between two evaluations; 0: at every scheduling pass.", ("5m",)),
            "shares": Key("Shares of users by number; 1 for all others.", ({"17": 3.0},)),
        },
    ),
    "failures": Table(
        _TROUBLE,
        "Failures of nodes (of processors, without nodes): exponential(mean=), "
        "weibull(shape=, mean=), lognormal(sigma=, median=), gamma(shape=, mean=), or a fixed "
        "duration. --seed repeats them.",
        {
            "time_to_failure": Key("How long a node works.", ("weibull(shape=0.7, mean=60d)",)),
            "time_to_repair": Key("How long it fails.", ("lognormal(sigma=1.0, median=4h)",)),
        },
    ),
    "interruption": Table(
        _TROUBLE,
        "What becomes of interrupted jobs.",
        {
            "rule": Key("lost, requeue or checkpoint.", ("checkpoint",)),
            "interval": Key("Work between checkpoints.", ("1h",)),
        },
    ),
    "overheads": Table(
        _TROUBLE,
        "Seconds that the job manager adds: a law, or a fixed duration.",
        {
            "launch": Key("Holds the processors before a job's work.", ("gamma(mean=2, sd=1)",)),
            "completion": Key("Holds the processors after a job's work.", ("1s",)),
            "submission": Key(
                "Of a submission; the next one waits for it (policy slurm).", ("0.5s",)
            ),
            "release": Key(
                "From the end until nodes can be used again: release + report · width (slurm).",
                ("0.5s",),
            ),
            "report": Key("See release (slurm).", (0.01,)),
        },
    ),
}
"""Name of a table → its settings, in the order of the commented file; ``""``: outside of tables."""


def text_of(setting: str) -> str:
    """Return the sentence about a setting, ``rate_control.k_low``."""
    table, _, key = setting.rpartition(".")
    return TABLES[table].keys[key].text
