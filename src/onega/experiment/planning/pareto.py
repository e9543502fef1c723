"""`trade_off`: energy against waiting over many machines, and the choices worth naming.

Every machine runs the same workloads (common random numbers). A machine is on the **front** if no
other has both a lower cost and a lower objective, in the means over replicates. On the front:

- **cheapest**: the least cost;
- **quickest**: the least objective, waits by default;
- **balanced**: the knee of the front, the point farthest below the straight line from cheapest to
  quickest, both axes scaled to the front's own range (Das 1999);
- **cheapest within the target**: the least cost among machines that meet the targets with the
  confidence asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Final, Unpack

import numpy as np
import numpy.typing as npt
import polars as pl

from onega.core.errors import ExperimentError, SimulationError
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.machine.sleep import Sleep
from onega.core.plotting import Plottable
from onega.core.policy import Policy
from onega.core.renamed import renamed
from onega.core.rng import Rng
from onega.core.schedule.warmup import Warmup
from onega.core.types import Floats, Progress
from onega.experiment.planning.targets import Measure, Target, parse_targets, whole_run
from onega.experiment.planning.trials import Trial, Trials
from onega.experiment.replicates.draws import Resample, Source, make_draws
from onega.experiment.replicates.replicates import PolicyLike, Replicates, collect
from onega.experiment.replicates.runs import Case, Experiment, SimulateOptions
from onega.experiment.workers.workers import Workers

CHEAPEST: Final = "cheapest"
QUICKEST: Final = "quickest"
BALANCED: Final = "balanced"
WITHIN: Final = "cheapest within the target"


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Plottable):
    """Machines by cost and objective.

    Attributes
    ----------
    machines
        Name → machine, in the order given.
    replicates
        The runs; machines stand where policies do.
    cost, objective
        The two measures; less is better in both.
    targets, trials
        What had to hold, and what was found about it, by machine; empty without a target.
    confidence
        Of the targets and of intervals.
    runs
        Simulations that it took.
    """

    FIGURES: ClassVar[str] = "tradeoff"

    machines: Mapping[str, Cluster]
    replicates: Replicates
    cost: Measure
    objective: Measure
    targets: tuple[Target, ...]
    trials: tuple[Trial, ...]
    confidence: float
    runs: int

    def __repr__(self) -> str:
        return f"<TradeOff: {len(self.machines)} machines, {self.cost} against {self.objective}>"

    @property
    def pain(self) -> Measure:
        """The former name of the objective."""
        return self.objective

    @property
    def names(self) -> tuple[str, ...]:
        """The machines' names, in the order given."""
        return self.replicates.policies

    @property
    def provenance(self) -> tuple[str, ...]:
        """How it came about, a line each."""
        return self.replicates.provenance

    def means(self) -> tuple[Floats, Floats]:
        """Return mean cost and mean objective of each machine."""
        found = self.replicates
        return tuple(  # type: ignore[return-value]
            np.array([found.of(measure, name).mean() for name in self.names])
            for measure in (self.cost, self.objective)
        )

    def front(self) -> tuple[str, ...]:
        """Return the machines that no other beats in both, from the cheapest to the quickest."""
        cost, objective = self.means()
        on = np.flatnonzero(efficient(cost, objective))
        return tuple(self.names[place] for place in on[np.argsort(cost[on], kind="stable")])

    def choices(self) -> dict[str, str]:
        """Return the machines worth naming, by what each is best at."""
        cost, objective = self.means()
        front = self.front()
        places = np.array([self.names.index(name) for name in front])
        result = {
            CHEAPEST: front[0],
            BALANCED: front[knee(cost[places], objective[places])],
            QUICKEST: front[-1],
        }
        good = [place for place, trial in enumerate(self.trials) if trial.met]
        if good:
            result[WITHIN] = self.names[min(good, key=lambda place: cost[place])]
        return result

    @property
    def met(self) -> bool | None:
        """Whether any machine meets the targets; None if there are none."""
        return any(trial.met for trial in self.trials) if self.targets else None

    def best(self) -> str:
        """Return the cheapest machine within the targets; the balanced one without a target.

        Where no machine meets the targets, the one that comes nearest.
        """
        choices = self.choices()
        if not self.targets:
            return choices[BALANCED]
        if WITHIN in choices:
            return choices[WITHIN]
        excess = [trial.excess(self.targets) for trial in self.trials]
        return self.names[int(np.argmin(excess))]

    def to_polars(self) -> pl.DataFrame:
        """One row per machine: its settings, both measures with intervals, whether on the front.

        ``*_change`` is the relative difference from the first machine, paired by replicate.
        """
        front, named = self.front(), self.choices()
        rows = []
        for place, name in enumerate(self.names):
            row: dict[str, Any] = {"machine": name, **settings(self.machines[name])}
            for measure in self._shown:
                here = self.replicates.interval(measure, name)
                key = measure.key
                row |= {key: here.mean, f"{key}_low": here.low, f"{key}_high": here.high}
                change = self.replicates.interval_of(self.changes(measure)[:, place])
                row |= {f"{key}_change": change.mean}
                row |= {f"{key}_change_low": change.low, f"{key}_change_high": change.high}
            row["on_front"] = name in front
            row["met"] = self.trials[place].met if self.trials else None
            row["choice"] = ", ".join(what for what, which in named.items() if which == name)
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def _shown(self) -> list[Measure]:
        """Both measures, and of a cost in the log's window the same of the whole run as well."""
        whole = whole_run(self.cost)
        beside = [whole] if whole in self.replicates.measures and whole != self.cost else []
        return [self.cost, *beside, self.objective]

    def changes(self, measure: Measure) -> Floats:
        """Return changes[replicate, machine] relative to the first machine's mean.

        The difference is taken replicate by replicate; the first machine's mean over replicates is
        what it is relative to, as a single replicate's can be zero.
        """
        values = self.replicates.values[:, :, self.replicates.measures.index(measure)]
        base = float(values[:, 0].mean())
        return (values - values[:, :1]) / base if base else np.full(values.shape, np.nan)

    def summary(self) -> dict[str, Any]:
        """Return the answer with the keys of `Plan.summary`, and the choices."""
        chosen = self.best()
        place = self.names.index(chosen)
        return {
            "target": " and ".join(map(str, self.targets)) or None,
            "vary": "energy",
            "met": self.met,
            "best": None if self.met is False else chosen,
            "nearest": chosen,
            "confidence": self.confidence,
            "support": self.trials[place].joint if self.trials else None,
            "cost": str(self.cost),
            "pain": str(self.objective),
            "runs": self.runs,
            "choices": self.choices(),
            "front": list(self.front()),
            "curve": self.to_polars().to_dicts(),
        }


@renamed(n="replicates", pain="objective")
def trade_off(
    source: Source,
    machines: Mapping[str, Cluster],
    policy: PolicyLike = "fcfs",
    *,
    cost: str | Measure = "window_mean_power",
    objective: str | Measure = "mean(wait)",
    target: str | Iterable[str] | None = None,
    replicates: int = 40,
    confidence: float = 0.95,
    resample: Resample = "weeks",
    jobs: int | None = None,
    warmup: str | float | None = None,
    rng: Rng = None,
    workers: Workers | None = None,
    progress: Progress | None = None,
    **options: Unpack[SimulateOptions],
) -> TradeOff:
    """Run many machines on the same workloads, and name those worth choosing.

    Parameters
    ----------
    source
        As for `onega.replicate`.
    machines
        Name → machine; `energy_machines` makes those of a grid of rates and thresholds. Relative
        changes are from the first.
    policy
        As `onega.simulate` takes it.
    cost, objective
        The two measures, less being better: ``"window_mean_power"`` (in the window that the
        workload supports: its idle ends would make sleep look better than it is; the whole run's
        stands beside it), ``"mean_power"`` or ``"energy"`` against ``"mean(wait)"``,
        ``"p95(wait)"``, ``"mean_workload"`` (Rumyantsev 2018, Figure 3), ….
    target
        What must hold, for the choice "cheapest within the target".
    replicates, confidence, resample, jobs, warmup, rng, workers, progress, options
        As for `onega.plan`.
    """
    if not machines:
        raise ExperimentError("nothing to compare: give at least one machine")
    draws = make_draws(source, resample=resample, jobs=jobs, rng=rng)
    if draws.single:
        raise ExperimentError('bands need replicates: resample by "weeks" or "users"')
    rule = Policy.parse(policy)
    axes = (Measure.parse(cost), Measure.parse(objective))
    targets = () if target is None else parse_targets(target)
    experiment = Experiment(
        draws,
        tuple(Case(name, machine, rule) for name, machine in machines.items()),
        tuple(dict.fromkeys((*axes, whole_run(axes[0])))),
        Warmup.parse(warmup),
        options,
    ).deciding_warmup(replicates, workers)
    trials = Trials(experiment, targets, (True,) * len(targets), replicates, confidence, workers)
    total = replicates * len(machines)
    if progress is not None:
        tell = progress
        trials.progress = lambda done: tell(done / total)
    found = trials.run_cases(experiment.cases)
    together = collect(trials.experiment, found, level=confidence)
    return TradeOff(
        dict(machines), together, *axes, targets, trials.judge_all(found), confidence, trials.runs
    )


def efficient(cost: Floats, objective: Floats) -> npt.NDArray[np.bool_]:
    """Mark the points that no other one beats: not dearer, not worse, and better in one.

    Of equal points all are marked.
    """
    order = np.lexsort((objective, cost))
    result = np.zeros(cost.size, dtype=bool)
    least, last = np.inf, (np.nan, np.nan)
    for place in order:
        point = (float(cost[place]), float(objective[place]))
        if point[1] < least or point == last:
            result[place] = True
            least, last = point[1], point
    return result


def knee(cost: Floats, objective: Floats) -> int:
    """Return the point of a front farthest below the line between its ends, axes scaled to it.

    The front goes from the cheapest to the quickest; of two points, or on a straight front, the
    first.
    """
    span_cost, span_objective = cost[-1] - cost[0], objective[0] - objective[-1]
    if cost.size < 3 or span_cost <= 0 or span_objective <= 0:
        return 0
    x, y = (cost - cost[0]) / span_cost, (objective - objective[-1]) / span_objective
    return int(np.argmax(1.0 - x - y))


def energy_machines(
    procs: int,
    *,
    power: Iterable[Power],
    rates: Iterable[tuple[float, ...]] | None = None,
    k_low: Iterable[float] = (),
    k_high: Iterable[float] | None = None,
    sleep: Mapping[str, Sleep | None] | None = None,
    kind: str = "workload",
) -> dict[str, Cluster]:
    """Make the machines of a grid of rates, thresholds and ways to sleep.

    Parameters
    ----------
    procs
        Processors.
    rates, power
        Sets of two rates (low, high), and the power that belongs to each set. Without rates, one
        power, and rate 1 throughout.
    k_low, k_high
        Thresholds; all pairs with k_low ≤ k_high. Without ``k_high``, one threshold for both ways
        (Rumyantsev et al. 2018, Figure 3).
    sleep
        Name → what idle processors do (None: stay awake); they stay awake by default.
    kind
        ``"workload"`` or ``"queue"``: what thresholds are about.
    """
    clocks = _clocks(rates, list(power), list(k_low), k_high, kind)
    result: dict[str, Cluster] = {}
    for (rest, nap), (clock, control, watts) in product((sleep or {"": None}).items(), clocks):
        words = [clock, "" if sleep is None else f"sleep {rest}"]
        name = ", ".join(word for word in words if word)
        try:
            result[name] = Cluster(procs, control, watts, sleep=nap)
        except SimulationError as error:
            raise ExperimentError(f"{name}: {error}") from None
    return result


def _clocks(
    rates: Iterable[tuple[float, ...]] | None,
    powers: list[Power],
    lows: list[float],
    k_high: Iterable[float] | None,
    kind: str,
) -> list[tuple[str, RateControl, Power]]:
    """Return all pairs of rates and thresholds by name, each with its power."""
    speeds = [(1.0,)] if rates is None else list(rates)
    if len(speeds) != len(powers):
        raise ExperimentError(
            f"every set of rates needs its power: {len(speeds)} sets, {len(powers)} powers"
        )
    if rates is None:
        return [("", RateControl(), powers[0])]
    highs = None if k_high is None else list(k_high)
    pairs = [(k, k) for k in lows] if highs is None else list(product(lows, highs))
    result = []
    for (speed, watts), (low, high) in product(zip(speeds, powers, strict=True), pairs):
        if low > high:
            continue
        name = f"k={_short(low)}" if highs is None else f"k={_short(low)}..{_short(high)}"
        name += "" if len(speeds) == 1 else f", rates {speed[0]:g}/{speed[-1]:g}"
        try:
            control = RateControl(kind, rates=speed, k_low=low, k_high=high)  # type: ignore[arg-type]
        except SimulationError as error:
            raise ExperimentError(f"{name}: {error}") from None
        result.append((name, control, watts))
    if not result:
        raise ExperimentError("no pair of thresholds has k_low ≤ k_high; nothing to compare")
    return result


def _short(k: float) -> str:
    """Write a threshold: 300, 4e5, 1.2e6."""
    if k < 1e4:
        return f"{k:g}"
    digits, power = f"{k:e}".split("e")
    return f"{float(digits):g}e{int(power)}"


def settings(machine: Cluster) -> dict[str, Any]:
    """Return the settings in which machines of a grid differ."""
    control = machine.rates
    return {
        "rates": "/".join(f"{rate:g}" for rate in control.rates),
        "k_low": control.k_low[0] if control.k_low else None,
        "k_high": control.k_high[0] if control.k_high else None,
        "sleep_after": machine.sleep.states[0].timeout if machine.sleep else None,
    }
