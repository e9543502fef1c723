"""Does a machine meet the targets, and how sure is that? The fewest runs that tell.

A trial is one machine, policy and load on up to n replicates, the same workloads for every trial.

- **Resamples of a log**: the targets are met with confidence γ if they hold, all at once, in at
  least a share γ of the n replicates: the bootstrap's one-sided percentile bound. As soon as too
  many have failed the answer is no, and the rest isn't run; that changes no answer.
- **Draws from a model**: each target is met with confidence γ if the one-sided Student bound of its
  measure's expected value is on the right side of the limit. Ten replicates decide alone if the
  99.9 % interval is clear of the limit.
- **One log as it is**: the value itself decides, without a confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from onega.core.errors import ExperimentError
from onega.core.intervals import mean_interval
from onega.core.types import Floats
from onega.experiment.planning.targets import Measure, Target
from onega.experiment.replicates.replicates import FIRST, percentile_interval
from onega.experiment.replicates.runs import Case, Experiment, Replicate
from onega.experiment.workers.workers import Workers

Rule = Literal["percentile", "student", "value"]

CLEAR: Final = 0.999
"""Level at which the first replicates decide alone."""

MEAN_WAIT: Final = Measure("mean", "wait")
"""Measured in every trial: where no job waits, more processors change nothing."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What was found at one place.

    Attributes
    ----------
    at
        The number of processors, the factor of the load, or the policy.
    replicates
        How many were run.
    means, lows, highs
        By target: mean of its measure over replicates, and the interval at the plan's confidence.
    support
        By target: the share of replicates in which it holds, or the confidence that its expected
        value does; 1 or 0 for one log.
    joint
        The support of all targets together: in resamples, the share in which all hold; else the
        least of them.
    searched
        The same of the targets that the search goes by.
    passed
        Whether the targets that the search goes by are met with the confidence asked for.
    met
        Whether all targets are.
    waits
        The mean wait in each replicate.
    offered_load
        The work that comes, as a part of what the machine can do; None if it wasn't looked at.
    """

    at: int | float | str
    replicates: int
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    support: tuple[float, ...]
    joint: float
    searched: float
    passed: bool
    met: bool
    waits: tuple[float, ...]
    offered_load: float | None = None

    @property
    def idle(self) -> bool:
        """Whether no job waited in any replicate."""
        return not any(self.waits)

    @property
    def growing(self) -> bool:
        """Whether the queue would grow without end if the load stayed."""
        return self.offered_load is not None and self.offered_load >= 1

    def waits_as(self, other: Trial) -> bool:
        """Whether mean waits are those of another trial, in every replicate that both had."""
        return all(one == two for one, two in zip(self.waits, other.waits, strict=False))

    def excess(self, targets: tuple[Target, ...]) -> float:
        """How far the worst target is missed on average, as a part of its limit."""
        return max(target.excess(mean) for target, mean in zip(targets, self.means, strict=True))

    def row(self, targets: tuple[Target, ...]) -> dict[str, Any]:
        """Return a flat row: at, replicates, measures with intervals, support, met."""
        row: dict[str, Any] = {"at": self.at, "replicates": self.replicates}
        if self.offered_load is not None:
            row["offered_load"] = self.offered_load
        for place, target in enumerate(targets):
            key = target.measure.key
            row[key] = self.means[place]
            row[f"{key}_low"] = self.lows[place]
            row[f"{key}_high"] = self.highs[place]
        return row | {"support": self.joint, "met": self.met}


@dataclass(eq=False)
class Trials:
    """Runs trials and counts the runs.

    ``searched`` marks the targets that the search is about; a trial stops early on their account
    only.
    """

    experiment: Experiment
    targets: tuple[Target, ...]
    searched: tuple[bool, ...]
    n: int
    confidence: float
    workers: Workers | None = None
    progress: Callable[[int], None] | None = None
    runs: int = field(default=0, init=False)
    _found: dict[int | float | str, list[Replicate]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ExperimentError(
                f"confidence is a probability between 0 and 1, got {self.confidence}"
            )
        if self.rule == "value":
            self.n = 1
        elif isinstance(self.n, bool) or self.n < 2:
            raise ExperimentError(f"n is a number of replicates, at least 2; got {self.n}")
        needed = math.ceil(1 / (1 - self.confidence) - 1e-9)
        if self.targets and self.rule == "percentile" and self.n < needed:
            raise ExperimentError(
                f"a confidence of {self.confidence:g} needs at least {needed} resamples; "
                f"got n={self.n}"
            )
        wanted = (target.measure for target in self.targets)
        measures = (*self.experiment.measures, *wanted, MEAN_WAIT)
        self.experiment = replace(self.experiment, measures=tuple(dict.fromkeys(measures)))

    @property
    def rule(self) -> Rule:
        """How it is decided whether the targets are met."""
        draws = self.experiment.draws
        if draws.single:
            return "value"
        return "percentile" if draws.resampled else "student"

    def run(self, at: int | float | str, case: Case, *, failures: float | None = None) -> Trial:
        """Run a case until it is decided; replicates that this place has had are kept.

        For resamples, ``failures`` is how many may fail before the rest isn't run: by default as
        many as the confidence allows.
        """
        one = replace(self.experiment, cases=(case,))
        found = self._found.setdefault(at, [])
        allowed = (1 - self.confidence) * self.n if failures is None else failures
        for wanted in (min(FIRST, self.n), *range(2 * FIRST, self.n, FIRST), self.n):
            if wanted > len(found):
                found += self._more(one, len(found), wanted)
            values = np.stack([each.values[0] for each in found])
            if self._decided(values, allowed):
                break
        return self.judge(at, values)

    def run_cases(self, cases: tuple[Case, ...]) -> list[Replicate]:
        """Run several cases to the end, on workloads drawn once for all of them."""
        self.experiment = replace(self.experiment, cases=cases)
        return self._more(self.experiment, 0, self.n)

    def judge_all(self, found: list[Replicate]) -> tuple[Trial, ...]:
        """Judge every case that `run_cases` ran; nothing without a target."""
        if not self.targets:
            return ()
        values = np.stack([each.values for each in found])
        cases = self.experiment.cases
        return tuple(self.judge(case.name, values[:, at]) for at, case in enumerate(cases))

    def judge(self, at: int | float | str, values: Floats) -> Trial:
        """Judge the targets by the replicates' values[replicate, measure]."""
        columns = [self._column(values, target.measure) for target in self.targets]
        bounds = [self._bounds(column) for column in columns]
        supports = tuple(map(self._support, self.targets, columns))
        joint = self._joint(values, supports, searched_only=False)
        # A trial of resamples that ended early did so because too many had failed.
        whole = self.rule != "percentile" or len(values) == self.n
        needed = (1.0 if self.rule == "value" else self.confidence) - 1e-12
        searched = self._joint(values, supports, searched_only=True)
        passed = whole and searched >= needed
        return Trial(
            at,
            len(values),
            tuple(float(column.mean()) for column in columns),
            tuple(low for low, _ in bounds),
            tuple(high for _, high in bounds),
            supports,
            joint,
            searched,
            passed,
            passed and joint >= needed,
            tuple(map(float, self._column(values, MEAN_WAIT))),
        )

    def _joint(self, values: Floats, supports: tuple[float, ...], *, searched_only: bool) -> float:
        if self.rule == "percentile":
            return float(np.mean(self._all_hold(values, searched_only=searched_only)))
        kept = self._counting(searched_only=searched_only)
        return min(one for one, counts in zip(supports, kept, strict=True) if counts)

    def _more(self, experiment: Experiment, done: int, wanted: int) -> list[Replicate]:
        before, each = self.runs, len(experiment.cases)
        tell = self.progress
        found = experiment.run(
            range(done, wanted),
            workers=self.workers,
            progress=None if tell is None else lambda more: tell(before + more * each),
        )
        self.runs += each * len(found)
        return found

    def _decided(self, values: Floats, allowed: float) -> bool:
        """Whether the rest of the replicates can't, or will hardly, change the answer."""
        if len(values) >= self.n:
            return True
        if self.rule == "percentile":
            failed = int(np.count_nonzero(~self._all_hold(values, searched_only=True)))
            return failed > allowed + 1e-9
        return all(
            self._clear(target, self._column(values, target.measure))
            for target, searched in zip(self.targets, self.searched, strict=True)
            if searched
        )

    def _clear(self, target: Target, values: Floats) -> bool:
        interval = mean_interval(values, confidence=CLEAR)
        ends = target.holds([interval.low, interval.high])
        return bool(ends[0] == ends[1])

    def _counting(self, *, searched_only: bool) -> tuple[bool, ...]:
        """Mark the targets that count: those of the search, or all where there are none."""
        if searched_only and any(self.searched):
            return self.searched
        return (True,) * len(self.targets)

    def _all_hold(self, values: Floats, *, searched_only: bool) -> npt.NDArray[np.bool_]:
        kept = self._counting(searched_only=searched_only)
        holding = [
            target.holds(self._column(values, target.measure))
            for target, counts in zip(self.targets, kept, strict=True)
            if counts
        ]
        return np.asarray(np.all(holding, axis=0))

    def _support(self, target: Target, values: Floats) -> float:
        if self.rule != "student":
            return float(np.mean(target.holds(values)))
        from scipy.special import stdtr

        error = float(values.std(ddof=1)) / math.sqrt(values.size)
        room = target.limit - float(values.mean())
        if error == 0:
            return float(target.holds(values.mean()))
        return float(stdtr(values.size - 1, (room if target.upper else -room) / error))

    def _bounds(self, values: Floats) -> tuple[float, float]:
        if self.rule == "value":
            return float(values[0]), float(values[0])
        if self.rule == "student":
            interval = mean_interval(values, confidence=self.confidence)
        else:
            few = self.experiment.draws.drawn_from
            interval = percentile_interval(values, level=self.confidence, drawn_from=few)
        return interval.low, interval.high

    def _column(self, values: Floats, measure: Measure) -> Floats:
        return np.asarray(values[:, self.experiment.measures.index(measure)])
