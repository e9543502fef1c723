"""What Slurm's jobs asked for and were given beside processors: TRES, memory, nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from onega.core.workload.schema import DEMAND
from onega.traces.notes import Notes
from onega.traces.parsing import memory, numbers, text_of

if TYPE_CHECKING:
    from onega.traces.slurm.jobs import SlurmTable

MEGABYTE: Final = 2.0**20
MOST_KINDS: Final = 100
"""How many kinds of TRES a log may have; more is a column of something else."""

_KEY: Final = r"(?:^|,)\s*([^=,]{1,200})="


def add_demands(
    jobs: SlurmTable, frame: pl.DataFrame, nodes: pl.Series | None, notes: Notes
) -> pl.DataFrame:
    """Add what jobs need beside processors: GPUs, other generic resources, licences, nodes.

    ``AllocTRES`` tells, and ``ReqTRES`` of jobs that were allocated nothing: ``gres/gpu`` is the
    demand ``gpus``, ``gres/gpu:a100`` is ``gpus:a100``, ``license/x`` and ``gres/x`` are ``x``.
    ``nodes``, where given, is the column of that name.
    """
    given = _kinds(jobs, "alloctres")
    asked = _kinds(jobs, "reqtres")
    found: dict[str, pl.Series] = {}
    unused = []
    for key in dict.fromkeys([*given, *asked]):
        name = _demand_name(key)
        if name is not None:
            found[name] = _amount(jobs, key, given, asked)
        elif key not in ("cpu", "mem", "node"):
            unused.append(key)
    if unused:
        why = f"TRES without use here: {', '.join(unused)}"
        notes.add("unused_tres", "noted", why, count=len(unused))
    found = _with_total(found)
    if nodes is not None:
        found["nodes"] = nodes.cast(pl.Float64)
    kept = {name: amount for name, amount in found.items() if (amount > 0).any()}
    return frame.with_columns(amount.alias(DEMAND + name) for name, amount in kept.items())


def _kinds(jobs: SlurmTable, column: str) -> list[str]:
    """Return the kinds of resources that a column of TRES names."""
    if not jobs.has(column):
        return []
    texts, source = jobs.column(column)
    keys = text_of(texts).str.extract_all(_KEY).explode().drop_nulls()
    kinds = keys.str.strip_chars(", =").unique(maintain_order=True).to_list()
    if len(kinds) > MOST_KINDS:
        wrong = texts.is_not_null()
        source.refuse(texts, wrong, f"a list of at most {MOST_KINDS} kinds of TRES (cpu=4,mem=8G)")
    return kinds


def _demand_name(key: str) -> str | None:
    """Return the demand that a kind of TRES stands for; None if it stands for none."""
    kind, _, name = key.partition("/")
    if kind not in ("gres", "license") or not name:
        return None
    resource, colon, model = name.partition(":")
    return ("gpus" if (kind, resource) == ("gres", "gpu") else resource) + colon + model


def _amount(jobs: SlurmTable, key: str, given: list[str], asked: list[str]) -> pl.Series:
    """Return how much of a kind each job was given, or asked for if it was given nothing."""
    parts = []
    for column, kinds in (("alloctres", given), ("reqtres", asked)):
        if jobs.has(column):
            amount = tres(jobs, column, key) if key in kinds else None
            said = text_of(jobs.column(column)[0]).is_not_null()
            none = pl.select(pl.when(said).then(0.0)).to_series()
            parts.append(none if amount is None else amount.zip_with(amount.is_not_null(), none))
    return pl.select(pl.coalesce(parts)).to_series()


def tres(jobs: SlurmTable, column: str, key: str, *, unit: float = 1.0) -> pl.Series:
    """Return one kind of a column of TRES, ``cpu=4,mem=8G``; null where it isn't named."""
    texts, source = jobs.column(column)
    amount = text_of(texts).str.extract(rf"(?:^|,)\s*{re.escape(key)}=([^,]*)", 1)
    return memory(amount, source, unit=unit)[0]


def _with_total(found: dict[str, pl.Series]) -> dict[str, pl.Series]:
    """Let GPUs of all types be at least those of the single types together."""
    types = [amount for name, amount in found.items() if name.startswith("gpus:")]
    if not types:
        return found
    total = pl.select(pl.sum_horizontal(types)).to_series()
    if "gpus" in found:
        total = pl.select(pl.max_horizontal(found["gpus"], total)).to_series()
    return {"gpus": total} | {name: amount for name, amount in found.items() if name != "gpus"}


def requested_memory(
    jobs: SlurmTable, width: pl.Series, nodes: pl.Series | None
) -> pl.Series | None:
    """Return the memory that jobs asked for, in bytes per processor; None if no column tells.

    ``ReqMem`` counts per node (``4Gn``), per processor (``4Gc``) or for the whole job (``4G``, as
    Slurm from 21.08 on writes it), a bare number in megabytes. Where it says nothing or 0 (all
    that the nodes have), the memory of ``ReqTRES`` or ``AllocTRES`` is taken.
    """
    found = []
    if jobs.has("reqmem"):
        amount, per = memory(*jobs.column("reqmem"), unit=MEGABYTE)
        by_processor = (per == "c").fill_null(value=False)
        by_node = (per == "n").fill_null(value=False)
        times = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(amount))
        if nodes is not None:
            times = nodes.cast(pl.Float64)
        total = (amount * times).zip_with(by_node, amount)
        found.append(amount.zip_with(by_processor, total / width))
    named = [column for column in ("reqtres", "alloctres") if jobs.has(column)]
    found += [tres(jobs, column, "mem", unit=MEGABYTE) / width for column in named]
    if not found:
        return None
    positive = [amount.set((amount <= 0).fill_null(value=False), None) for amount in found]
    return pl.select(pl.coalesce(positive)).to_series()


def used_memory(rows: SlurmTable) -> pl.Series | None:
    """Return the memory that all tasks of each row used together, in bytes; None: no column tells.

    ``TRESUsageInTot`` has it, ``AveRSS`` × ``NTasks`` is it. ``MaxRSS`` is what the largest of the
    tasks used: all of them used at least that, however many processors the job had.
    """
    found = []
    if rows.has("tresusageintot"):
        found.append(tres(rows, "tresusageintot", "mem"))
    if rows.has("averss") and rows.has("ntasks"):
        found.append(memory(*rows.column("averss"))[0] * numbers(*rows.column("ntasks")))
    if rows.has("maxrss"):
        found.append(memory(*rows.column("maxrss"))[0])
    return pl.select(pl.coalesce(found)).to_series() if found else None
