"""What other settings of the same machine would give: policies and clocks, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from onega.core.intervals import Interval
from onega.core.machine.assumed import assumed_power
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.policy import MULTIFACTOR, Policy
from onega.core.rng import Rng, child, seed_sequence
from onega.core.schedule.measures import machine_measures
from onega.core.schedule.schedule import Schedule
from onega.core.schedule.window import WHOLE, Window
from onega.core.workload.workload import Workload
from onega.experiment.planning.targets import Measure
from onega.experiment.replicates.draws import Draws, make_draws
from onega.experiment.replicates.replicates import Replicates, collect
from onega.experiment.replicates.resampling import FEWEST_WEEKS, WEEK
from onega.experiment.replicates.runs import Case, Experiment
from onega.models import MODELS
from onega.report.machine import as_told, lost_in, runnable
from onega.simulation.simulate import simulate

POLICIES: Final = ("fcfs", "easy", "spf+easy", "conservative")
"""What is compared if nothing else is asked for."""

BY_WEIGHTS: Final = f"{MULTIFACTOR}+easy"
"""What is compared too if the machine's description has weights for it."""


def default_policies(cluster: Cluster) -> tuple[str, ...]:
    """Return what is compared on a machine if nothing else is asked for."""
    return POLICIES if cluster.multifactor is None else (*POLICIES, BY_WEIGHTS)


MEASURES: Final = tuple(
    Measure.parse(text)
    for text in (
        "mean(wait)",
        "p95(wait)",
        "mean(response)",
        "mean(bounded_slowdown)",
        "energy",
        "window_energy",
        "window_effective_load",
    )
)

SLOW: Final = 0.8
"""The slower clock, as a share of the full one."""

REPLICATES: Final = 20

SHORT_LOG_MODEL: Final = "markov-pair"
"""What makes replicates of a log that is too short to be resampled by weeks."""


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of one machine on the log and on replicates of it.

    Attributes
    ----------
    replicates
        Measures of every setting on replicates of the log; settings are its "policies". The
        replicates are resampled weeks, or samples of a model if the log has too few weeks.
    on_log
        Setting → its schedule on the log itself.
    policies
        Names of the settings that differ by the policy, at the full clock.
    clocks
        Names of the settings that differ by the clock, the full clock first.
    assumed_power, power_words
        Whether the watts are assumed, and where they come from.
    thresholds
        Remaining work, in seconds, below and above which the clock slows down and speeds up.
    window
        Over what time the machine is measured on the log itself.
    counted
        The jobs of the log over which means are taken: those with an observed wait, so that both
        sides are of the same; None for all.
    lost
        What the log tells of its jobs and samples of a model don't, where replicates are such.
    """

    replicates: Replicates
    on_log: dict[str, Schedule]
    policies: tuple[str, ...]
    clocks: tuple[str, ...]
    assumed_power: bool
    thresholds: tuple[float, float]
    power_words: str = ""
    window: Window = WHOLE
    counted: npt.NDArray[np.bool_] | None = None
    lost: tuple[str, ...] = ()

    @property
    def replicated(self) -> str:
        """What the replicates are, in words."""
        count = len(self.replicates)
        if self.replicates.resampled:
            return f"{count} resamples of the log's weeks"
        return f"{count} samples of a model fitted to the log"

    @property
    def why_replicated(self) -> str:
        """Why replicates are drawn from a model; empty if they are the log's weeks."""
        if self.replicates.resampled:
            return ""
        return (
            f" They are samples of a model ({SHORT_LOG_MODEL}), as the log is too short for its "
            "weeks to be resampled."
        )

    def interval(self, measure: str, setting: str) -> Interval:
        """Return a measure's mean and its range over the replicates (`percentile_interval`)."""
        return self.replicates.interval(measure, setting, kind="percentile")

    def value(self, measure: str, setting: str) -> float:
        """Return a measure on the log itself."""
        return Measure.parse(measure).evaluate(self.on_log[setting], self.counted)

    def machine(self, setting: str) -> dict[str, Any]:
        """Return the measures of the machine on the log itself, over the window."""
        schedule = self.on_log[setting]
        window = self.window.within(schedule.begin, schedule.last)
        return machine_measures(schedule, window.since, window.until)

    def saved(self, setting: str) -> Interval:
        """Share of the energy that a setting saves against the full clock, paired.

        Of the energy per work done in the window: a slower clock puts work off beyond its end, and
        what isn't done there isn't saved.
        """
        found = self.replicates
        full, other = (
            found.of("window_energy", name) / found.of("window_effective_load", name)
            for name in (self.clocks[0], setting)
        )
        return found.interval_of(1 - other / full, "percentile")

    def saved_on_log(self, setting: str) -> float:
        """Return what `saved` does of replicates, of the log itself."""
        full, other = (
            found["energy"] / found["effective_load"]
            for found in map(self.machine, (self.clocks[0], setting))
        )
        return float(1 - other / full)

    def later(self, setting: str) -> Interval:
        """Seconds by which jobs are done later on average than at the full clock, paired."""
        return self.difference("mean(response)", setting, self.clocks[0])

    def difference(self, measure: str, setting: str, than: str) -> Interval:
        """Return the mean and the range of a difference, paired by replicate."""
        return self.replicates.difference(measure, setting, than, kind="percentile")

    @property
    def present(self) -> str:
        """The policy that others are compared with: the one that stands for today's."""
        return self.clocks[0]

    @property
    def best(self) -> str:
        """The policy with the least mean wait over the replicates."""
        return min(self.policies, key=lambda one: self.interval("mean(wait)", one).mean)

    def shorter(self, policy: str, than: str | None = None) -> Interval:
        """Seconds by which the mean wait is shorter than under another policy (present), paired."""
        apart = self.difference("mean(wait)", policy, than or self.present)
        return Interval(-apart.mean, -apart.high, -apart.low, apart.level, apart.count)

    def share_gained(self, policy: str, than: str | None = None) -> float:
        """Share by which the mean wait over the replicates is below another policy's (present)."""
        less, wait = (
            self.interval("mean(wait)", name).mean for name in (policy, than or self.present)
        )
        return 1 - less / wait if wait > 0 else 0.0

    def surely_better(self, policy: str, than: str | None = None) -> bool:
        """Whether the mean wait is shorter than under another policy (present) in all the range."""
        return self.shorter(policy, than).low > 0


def compare_settings(
    log: Workload,
    cluster: Cluster,
    policies: Sequence[str] | None = None,
    *,
    present: str | None = None,
    power: Power | None = None,
    node_watts: tuple[float, float] | None = None,
    window: Window | str = "log",
    n: int = REPLICATES,
    rng: Rng = None,
    progress: Callable[[float], None] | None = None,
) -> Settings:
    """Run a log, and replicates of it, under policies and clocks.

    Parameters
    ----------
    log
        Jobs that can be simulated.
    cluster
        The machine, with all that is described of it. Its own rate control, if it has one, is
        compared in place of ours.
    policies
        At the full clock, the highest of the machine's rates; `default_policies` by default.
    present
        What the others, and slower clocks, are compared with: the policy that stands for today's;
        EASY if it isn't said.
    power
        Watts of a processor, at the slow and at the full clock; the machine's own by default, else
        assumed by the machine's kind (`onega.core.machine.assumed`). One number for both clocks:
        nothing is known of a slower one, none is compared.
    node_watts
        Watts of a busy and of an idle node, in place of ``power``.
    window
        Over what time the machine is measured on the log itself; replicates have their own.
    n
        Replicates: resampled weeks, or samples of a model where the log is shorter than two.

    Notes
    -----
    The clock is slowed down to `SLOW` while the remaining work of all jobs in the system is low
    (Rumyantsev et al. 2018): below half its mean it goes down, above its mean it goes up.
    """
    rng = seed_sequence(rng)
    known = None if node_watts is not None else power or cluster.power
    guess, words = assumed_power(cluster.procs, log.meta.nodes, node_watts)
    watts = known or guess
    full = RateControl(rates=cluster.rates.rates[-1:])
    machine = replace(cluster, rates=full, power=Power(watts.busy[-1], watts.idle[-1]))
    names = list(dict.fromkeys(policies or default_policies(cluster)))
    wanted = str(Policy.parse(present or "easy"))
    base = next((one for one in names if str(Policy.parse(one)) == wanted), names[0])
    low, high = _thresholds(log, machine, base)
    cases = [Case(name, machine, Policy.parse(name)) for name in names]
    cases += _clock_cases(cluster, watts, base, (low, high))
    draws = _draws(log, machine, rng)
    first = log if draws.resampled else draws.workload(0)
    tried = (replace(case, cluster=as_told(case.cluster, first)) for case in cases)
    experiment = Experiment(draws, tuple(tried), MEASURES)

    def tell(done: int) -> None:
        if progress is not None:
            progress(done / n)

    found = experiment.run(range(n), progress=tell)
    replicates = collect(experiment, found, level=0.95)
    on_log = {case.name: simulate(log, case.cluster, case.policy, rng=0) for case in cases}
    return Settings(
        replicates,
        on_log,
        tuple(names),
        (base, *(case.name for case in cases[len(names) :])),
        known is None and node_watts is None,
        (low, high),
        words if known is None else "",
        Window.of(window, log),
        _counted(log),
        lost_in(first, log),
    )


def _counted(log: Workload) -> npt.NDArray[np.bool_] | None:
    """Mark the jobs whose wait is known; None if all are, or none."""
    known = log.table["wait"].is_not_null().to_numpy()
    return known if known.any() and not known.all() else None


def _draws(log: Workload, machine: Cluster, rng: Rng) -> Draws:
    """Resample the log's weeks; draw from a model of it, what can run, if it has too few."""
    if log.span >= FEWEST_WEEKS * WEEK:
        return make_draws(log, resample="weeks", rng=rng)
    model = MODELS[SHORT_LOG_MODEL].fit(log, rng=child(rng, 0))
    if machine.is_plain:
        return make_draws(model, jobs=len(log), rng=child(rng, 1))

    def markov_pair(stream: np.random.Generator) -> Workload:
        sample = model.sample(len(log), rng=stream, cluster=machine)
        return runnable(sample, as_told(machine, sample))[0]

    return make_draws(markov_pair, rng=child(rng, 1))


def _thresholds(log: Workload, machine: Cluster, policy: str) -> tuple[float, float]:
    """Half of, and the whole mean remaining work at the full clock, as far as it is known.

    A job of known work k waits with all of it, and works w until it ends or has done k: its part of
    the integral is k × wait + ∫ (k − x) dx from 0 to min(w, k), at rate 1.
    """
    run = simulate(log, machine, policy)
    known = run.work
    if run.policy is not None and run.policy.knowledge == "estimate":
        estimate = log.column("estimate")
        known = np.where(estimate > 0, estimate, run.work)
    counted = np.minimum(run.work, known)
    idle = run.jobs["response"].to_numpy() - run.jobs["service"].to_numpy()
    served = counted * (known - counted / 2) / machine.rates.rates[0]
    # Jobs that never ran, on a machine whose nodes fail, count for nothing.
    work = float(np.nansum(known * idle + served) / run.summary()["makespan"])
    return work / 2, work


def _clock_cases(
    cluster: Cluster, power: Power, policy: str, thresholds: tuple[float, float]
) -> list[Case]:
    rule = Policy.parse(policy)
    if cluster.rates.kind != "none":
        own = replace(cluster, power=power)
        return [Case(f"{policy}, the machine's own rate control", own, rule)]
    if len(power.busy) != 2:
        return []
    control = RateControl("workload", rates=(SLOW, 1.0), k_low=thresholds[0], k_high=thresholds[1])
    slow = RateControl(rates=(SLOW,))
    return [
        Case(
            f"{policy}, slow clock at low load", replace(cluster, rates=control, power=power), rule
        ),
        Case(
            f"{policy}, slow clock always",
            replace(cluster, rates=slow, power=Power(power.busy[0], power.idle[0])),
            rule,
        ),
    ]
