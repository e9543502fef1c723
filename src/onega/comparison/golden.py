"""Golden schedules: starts and ends job by job, with the rules that made them and a checksum.

Two simulators that both say "EASY" seldom give the same waits, and means don't tell why. A golden
schedule is a text file that another program can be held against::

    ; onega golden schedule 1
    ; policy: fcfs+easy
    ; ties: instant
    ; …
    ; sha256: 6c0f…
    1 0 600
    2 15 75

One row a job, in the order of the ids: id, start, end; seconds after the log's zero, as decimal
numbers with as many digits as it takes to get the same 64-bit number back, whole ones without a
point. The checksum is the SHA-256 of the rows, each with its line feed. docs/golden.md defines the
rules.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from onega.core.errors import PolicyError, TraceError
from onega.core.policy import SLURM, Policy
from onega.core.schedule.schedule import Schedule

FORMAT: Final = "onega golden schedule 1"

Rows = dict[int, tuple[float, float]]
"""Start and end of each job by its id."""


@dataclass(frozen=True, slots=True)
class Golden:
    """A schedule as text, and what a reader has to know of it."""

    facts: dict[str, str]
    rows: str

    @property
    def sha256(self) -> str:
        """Checksum of the rows."""
        return hashlib.sha256(self.rows.encode()).hexdigest()

    @property
    def text(self) -> str:
        """The whole file."""
        facts = {**self.facts, "sha256": self.sha256}
        header = [FORMAT, *(f"{name}: {fact}" for name, fact in facts.items())]
        return "".join(f"; {line}\n" for line in header) + self.rows


@dataclass(frozen=True, slots=True)
class GoldenDifference:
    """How far another schedule of the same jobs is from a golden one, job by job.

    ``jobs`` in both, how many of them ``equal``; the first job in time that ``differs`` with its
    two starts; ids that only one side has.
    """

    jobs: int
    equal: int
    differs: int | None
    golden_start: float | None
    other_start: float | None
    only_golden: tuple[int, ...]
    only_other: tuple[int, ...]

    @property
    def same(self) -> bool:
        """Whether both have the same jobs, each with the same start and end."""
        return self.equal == self.jobs and not self.only_golden and not self.only_other

    def summary(self) -> dict[str, object]:
        """Return all as a flat dictionary, ids that only one side has as counts."""
        return {
            "compared": self.jobs,
            "equal": self.equal,
            "same": self.same,
            "first_different_job": self.differs,
            "golden_start": self.golden_start,
            "other_start": self.other_start,
            "only_golden": len(self.only_golden),
            "only_other": len(self.only_other),
        }


def golden_policy(text: str | Policy) -> Policy:
    """Read a policy; refuse the model of Slurm, of which a golden file's rules say too little."""
    policy = Policy.parse(text)
    if policy.order == SLURM:
        raise PolicyError(
            f"{policy} has no golden schedule: parameters and phases of its loops aren't among a "
            "golden file's rules; take fcfs, easy, conservative or another order"
        )
    return policy


def golden(schedule: Schedule, *, ties: str, left_out: int = 0) -> Golden:
    """Make the golden text of a simulated schedule.

    ``ties`` as it was simulated; ``left_out``: jobs of the log without a width or a run time.
    """
    workload, policy = schedule.workload, schedule.policy
    if policy is not None:
        golden_policy(policy)
    ids = workload.table["job"].to_numpy()
    again = workload.table["job"].filter(workload.table["job"].is_duplicated())
    if again.len():
        raise TraceError(f"{again.len()} jobs share ids (the first: {again[0]}); rows go by id")
    order = np.argsort(ids, kind="stable")
    columns = (ids, schedule.start, schedule.end)
    rows = zip(*(column[order].tolist() for column in columns), strict=True)
    facts = {
        "log": workload.meta.source or "made by hand",
        "processors": str(schedule.cluster.procs),
        "policy": str(policy),
        "knowledge": str(policy.knowledge if policy is not None else None),
        "ties": ties,
        "jobs": str(len(schedule)),
        "left out": f"{left_out} without a width or a run time",
        "rows": "job start end, seconds after the log's zero",
    }
    return Golden(facts, "".join(_line(*row) for row in rows))


def _line(job: int, start: float, end: float) -> str:
    return f"{job} {decimal(start)} {decimal(end)}\n"


def decimal(seconds: float) -> str:
    """Write a time with the fewest digits that give it back; whole ones without a point."""
    return str(int(seconds)) if seconds.is_integer() else repr(seconds)


def read_golden(lines: Iterable[str], name: str) -> tuple[dict[str, str], Rows]:
    """Read a golden schedule or any text of rows ``job start end``; ``;`` and ``#`` are comments.

    A checksum that belongs neither to the rows as they stand there, nor to them as `golden` writes
    them, is refused.
    """
    facts: dict[str, str] = {}
    rows: Rows = {}
    standing, written = hashlib.sha256(), hashlib.sha256()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text[:1] in (";", "#"):
            fact, colon, value = text[1:].partition(":")
            if colon:
                facts[fact.strip()] = value.strip()
        elif text:
            job, start, end = _row(text, name, number)
            if job in rows:
                raise TraceError(f"job {job} stands there twice", path=name, line=number)
            rows[job] = start, end
            standing.update(f"{text}\n".encode())
            written.update(_line(job, start, end).encode())
    made_of = (standing.hexdigest(), written.hexdigest())
    if facts.get("sha256", made_of[0]).lower() not in made_of:
        raise TraceError("the rows aren't those that its sha256 was made of", path=name)
    return facts, rows


def _row(text: str, name: str, number: int) -> tuple[int, float, float]:
    words = text.split()
    try:
        job, start, end = int(words[0]), float(words[1]), float(words[2])
    except (ValueError, IndexError):
        start = end = math.nan
    if len(words) != 3 or not (math.isfinite(start) and math.isfinite(end)):
        raise TraceError(f"a row is 'job start end', got {text[:60]!r}", path=name, line=number)
    return job, start, end


RULES: Final = ("processors", "policy", "knowledge", "ties")
"""Facts of a header on which a schedule depends."""


def other_rules(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """Say which rules two headers disagree in; empty if in none that both name."""
    pairs = ((name, ours[name], theirs.get(name, ours[name])) for name in RULES)
    told = (
        f"{name} is {theirs} there, {ours} here" for name, ours, theirs in pairs if theirs != ours
    )
    return ", ".join(told)


def hold_against(schedule: Schedule, other: Rows) -> GoldenDifference:
    """Compare another program's rows with a schedule, job by job; equal means equal numbers."""
    ids = schedule.workload.table["job"].to_list()
    ours = dict(zip(ids, zip(schedule.start.tolist(), schedule.end.tolist()), strict=True))
    both = [job for job in ours if job in other]
    different = [job for job in both if ours[job] != other[job]]
    first = min(different, key=lambda job: (min(ours[job][0], other[job][0]), job), default=None)
    return GoldenDifference(
        jobs=len(both),
        equal=len(both) - len(different),
        differs=first,
        golden_start=None if first is None else ours[first][0],
        other_start=None if first is None else other[first][0],
        only_golden=tuple(job for job in ours if job not in other),
        only_other=tuple(job for job in other if job not in ours),
    )
