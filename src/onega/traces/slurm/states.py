"""Slurm's job states, in full and short, and what they are here."""

from __future__ import annotations

from typing import Final

import polars as pl

from onega.core.workload.schema import STATUS
from onega.traces.parsing import Source, text_of

_FINAL: Final = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "BOOT_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "LAUNCH_FAILED": "failed",
    "RECONFIG_FAIL": "failed",
    "CANCELLED": "cancelled",
    "PREEMPTED": "cancelled",
    "REVOKED": "cancelled",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "NODE_FAIL": "node_fail",
    "REQUEUED": "partial",
    "SPECIAL_EXIT": "failed",
}

_UNFINISHED: Final = (
    *("PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "RESIZING", "STOPPED"),
    *("SIGNALING", "STAGE_OUT", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "DEL_RESV"),
    *("POWER_UP_NODE", "UPDATE_DB"),
)

_SHORT: Final = {
    "CD": "COMPLETED",
    "F": "FAILED",
    "BF": "BOOT_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "CA": "CANCELLED",
    "PR": "PREEMPTED",
    "RV": "REVOKED",
    "TO": "TIMEOUT",
    "DL": "DEADLINE",
    "NF": "NODE_FAIL",
    "RQ": "REQUEUED",
    "SE": "SPECIAL_EXIT",
    "PD": "PENDING",
    "CF": "CONFIGURING",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "CG": "COMPLETING",
    "RS": "RESIZING",
    "ST": "STOPPED",
}

UNFINISHED: Final = "unfinished"
ACCEPTED: Final = ", ".join((*_FINAL, *_UNFINISHED))


def read_states(column: pl.Series, source: Source) -> tuple[pl.Series, pl.Series]:
    """Map states to ours; also return the states of jobs that hadn't finished (null: they had).

    ``CANCELLED by 1000`` is cancelled, ``COMPLETED+`` (cut short for a table) completed; a job
    preempted for good counts as cancelled, one that was put back into the queue as partial.
    """
    text = text_of(column)
    word = text.str.to_uppercase().str.extract(r"^([A-Z_]+)", 1)
    words = {**_FINAL, **dict.fromkeys(_UNFINISHED, UNFINISHED)}
    words |= {short: words[full] for short, full in _SHORT.items()}
    for name in word.drop_nulls().unique().to_list():
        if name not in words:
            # sacct's narrow columns cut words: "CANCELLED+", "OUT_OF_ME+".
            full = [known for known in words if len(name) >= 4 and known.startswith(name)]
            if len({words[known] for known in full}) == 1:
                words[name] = words[full[0]]
    mapped = word.replace_strict(words, default=None, return_dtype=pl.String)
    source.refuse(
        column, text.is_not_null() & mapped.is_null(), f"a Slurm job state; accepted: {ACCEPTED}"
    )
    unfinished = (mapped == UNFINISHED).fill_null(value=False)
    state = word.replace(_SHORT).set(~unfinished, None)
    return mapped.set(unfinished, None).cast(STATUS), state
