"""The model of Slurm's scheduler: a workload through `onega.kernels.slurm.run`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster
from onega.core.machine.laws import Law, draw_durations
from onega.core.machine.overheads import OVERHEADS, Overheads
from onega.core.policy import Policy
from onega.core.rng import Rng, child, describe_seed, generator, seed_sequence
from onega.core.schedule.history import RateHistory
from onega.core.schedule.schedule import Schedule
from onega.core.slurm.parameters import SlurmParameters
from onega.core.types import Floats, Progress
from onega.core.workload.workload import Workload
from onega.simulation.pool.run import PORTION_SECONDS

if TYPE_CHECKING:
    from onega.kernels.slurm.state import State

PHASES = 0.5, 0.25, 0.5, 0.0
"""If not drawn: where in the second the background loop beats and the backfill cycle wakes; how
long ago the last full pass and look were, and how far the log's zero is beyond a time to which
plans are rounded, as parts of what lies between two of them."""

LEAST_LOOK, MOST_LOOK = 10, 60
"""Bounds of the seconds between two looks for jobs that ended ``min_job_age`` ago."""

FARTHEST = 2.0**42
"""Seconds that a run may come to: ticks can be added to them exactly, and millions of them."""

STREAMS = {
    "launch": 1,
    "completion": 2,
    "submission": 5,
    "release": 6,
    "report": 7,
    "beat": 8,
    "cycle": 9,
}
"""Child streams of the overheads; launch and completion draw what they do on other machines."""

TURNS = 1000
"""Draws of what the loops' turns take, of which the mean counts."""

SLEEPS = 10
"""Sleeps in a second of the background loop, each as late as the one of a waking in vain."""

MOST_MEMORY = 2 << 30
"""Bytes that sets of nodes may take."""


@dataclass(frozen=True, slots=True, eq=False)
class SlurmDelays:
    """Seconds that the real system adds, one value for each row of the workload.

    Attributes
    ----------
    submission
        What it takes to submit the job; the next submission waits for it.
    overrun
        From the end of the job's own work until slurmctld notes its end.
    release, reports
        From then on until the first of its nodes has answered that it is done, and from there to
        the last answer. Then its nodes are idle again.
    beat, cycle
        What each beat of the background loop takes beyond its second, and each backfill cycle
        beyond its interval.
    """

    submission: Floats
    overrun: Floats
    release: Floats
    reports: Floats
    beat: float = 0.0
    cycle: float = 0.0

    @classmethod
    def none(cls, jobs: int) -> SlurmDelays:
        """Return no delays."""
        nothing = np.zeros(jobs)
        return cls(nothing, nothing, nothing, nothing)

    @classmethod
    def draw(cls, laws: Overheads, workload: Workload, *, rng: Rng = None) -> SlurmDelays:
        """Draw from laws, job by job; what a launch takes comes on top of the run time."""
        seed, jobs = seed_sequence(rng), len(workload)

        def draw(name: str, count: int = jobs) -> Floats:
            return draw_durations(getattr(laws, name), count, seed, STREAMS[name])

        return cls(
            draw("submission"),
            draw("launch") + draw("completion"),
            draw("release"),
            draw("report") * workload.column("procs"),
            float(draw("beat", TURNS).mean()),
            float(draw("cycle", TURNS).mean()),
        )

    def turns(self) -> tuple[float, float, float]:
        """Return seconds in whole ticks: between beats, between wakings in vain, of a cycle.

        The background loop sleeps ten times in each second, the backfill loop once: so a waking in
        vain is late by a tenth of what a beat is.
        """
        from onega.kernels.slurm.clock import TICK

        late = (self.beat, self.beat / SLEEPS, self.cycle)
        beat, doze, cycle = (TICK * round(seconds / TICK) for seconds in late)
        return 1.0 + beat, 1.0 + doze, cycle


def limit_seconds(workload: Workload, *, perfect: bool) -> Floats:
    """Return what the scheduler takes for each job's time: whole minutes, rounded up."""
    runtime = workload.column("runtime")
    estimate = workload.column("estimate").astype(np.float64)
    known = runtime if perfect else np.where(estimate > 0, estimate, runtime)
    return np.maximum(np.ceil(known / 60.0), 1.0) * 60.0


def simulate_slurm(
    workload: Workload,
    cluster: Cluster,
    policy: Policy,
    *,
    delays: SlurmDelays | None = None,
    enforce_limits: bool = False,
    rng: Rng = None,
    progress: Progress | None = None,
) -> Schedule:
    """Run a workload through a model of Slurm's scheduler.

    Parameters
    ----------
    workload, cluster
        Each processor is a node.
    policy
        Its ``slurm`` holds the parameters, its ``knowledge`` what the limits are taken from.
    delays
        What the real system adds, job by job; drawn from the cluster's overheads by default.
    enforce_limits
        End a job at its limit.
    rng
        Where in the second Slurm's loops stand, fixed if None; and the overheads.
    """
    rates = cluster.rates
    if rates.kind != "none" or rates.rates[0] != 1:
        raise SimulationError("the model of Slurm knows no service rates; use rate control none")
    parameters = policy.slurm or SlurmParameters()
    laws = None if cluster.overheads is None else Overheads.of(cluster.overheads)
    seed, drawn = None if rng is None else seed_sequence(rng), "where the loops stand"
    if laws is not None and delays is None:
        seed = seed or seed_sequence()
        delays = SlurmDelays.draw(laws, workload, rng=seed)
        drawn += f", overheads ({_tell(laws)})"
    delays = delays or SlurmDelays.none(len(workload))
    limit = limit_seconds(workload, perfect=policy.knowledge == "runtime")
    runtime = np.array(workload.column("runtime"))
    limited = np.zeros(len(workload), dtype=bool)
    if enforce_limits:
        limited = runtime > limit
        runtime = np.where(limited, limit, runtime)
    order = np.argsort(workload.column("submit"), kind="stable")
    jobs = _make_jobs(workload, order, runtime, limit, delays)
    phases = np.array(PHASES) if seed is None else generator(child(seed, 0)).random(len(PHASES))
    rules = _make_rules(cluster.procs, parameters, delays.turns())
    rules["grid"] = -_past_grid(workload.meta.epoch, phases[3], parameters.bf_resolution)
    clock = _make_clock(float(jobs["submit"][0]), parameters, phases)
    start, end, by = _run(jobs, clock, rules, progress)
    row = np.argsort(order)
    start, end = start[row], end[row]
    first = float(workload.column("submit").min())
    backfilled = int(np.count_nonzero(by == 2))
    notes = [
        f"simulated: a model of Slurm's scheduler, {parameters.name} parameters, "
        f"knowledge={policy.knowledge}, enforce_limits={enforce_limits}",
        f"{backfilled} of {order.size} jobs started by backfill",
    ]
    if seed is not None:
        notes.append(f"drawn: {drawn}; rng={describe_seed(seed)}")
    if parameters.ignored:
        notes.append(f"given, but not in the model: {', '.join(parameters.ignored)}")
    return Schedule(
        workload,
        cluster,
        policy,
        start,
        end,
        end - start,
        limited,
        RateHistory.constant(first),
        provenance=tuple(notes),
    )


def _tell(laws: Overheads) -> str:
    told = ((name, getattr(laws, name)) for name in OVERHEADS)
    return ", ".join(f"{name} {law}" for name, law in told if law != Law("fixed", 0.0))


def one_by_one(due: Floats, takes: Floats) -> Floats:
    """Return when each of a row of requests is heard: t_i = max(due_i, t_(i−1)) + takes_i."""
    total = np.cumsum(takes)
    heard: Floats = total + np.maximum.accumulate(due - (total - takes))
    return heard


def _make_jobs(
    workload: Workload,
    order: npt.NDArray[np.int64],
    runtime: Floats,
    limit: Floats,
    delays: SlurmDelays,
) -> npt.NDArray[np.void]:
    from onega.kernels.slurm.state import JOB

    jobs = np.zeros(order.size, JOB)
    jobs["submit"] = one_by_one(workload.column("submit")[order], delays.submission[order])
    jobs["runtime"] = runtime[order]
    jobs["limit"] = limit[order]
    jobs["procs"] = workload.column("procs")[order]
    jobs["release"] = delays.release[order]
    jobs["reports"] = delays.reports[order]
    jobs["overrun"] = delays.overrun[order]
    return jobs


def _run(
    jobs: npt.NDArray[np.void],
    clock: npt.NDArray[np.void],
    rules: npt.NDArray[np.void],
    progress: Progress | None,
) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Run the kernel in portions: Ctrl-C and progress live here."""
    from onega.kernels.slurm import run as kernel

    state = _make_state(jobs, clock, rules)
    rounds = 4096
    while True:
        began = time.perf_counter()
        reason = kernel.run_slurm(state, rounds)
        if reason == kernel.DONE:
            break
        if reason == kernel.STUCK:
            raise SimulationError("jobs wait that can never start: please report this as a bug")
        took = max(time.perf_counter() - began, 1e-6)
        rounds = int(max(64, min(1 << 30, rounds * min(8.0, max(0.1, PORTION_SECONDS / took)))))
        if progress is not None:
            progress(float(clock["over"][0]) / jobs.size)
    return jobs["start"], jobs["end"], jobs["by"]


def _make_state(
    jobs: npt.NDArray[np.void],
    clock: npt.NDArray[np.void],
    rules: npt.NDArray[np.void],
) -> State:
    """Lay out the machine with all nodes idle, and an empty queue."""
    from onega.kernels.slurm.state import PLAN, Plan, State

    # Of more nodes than twice what all jobs take together, some are never touched.
    nodes = min(int(rules["procs"][0]), 2 * sum(jobs["procs"].tolist()))
    rules["nodes"] = nodes
    words = (nodes + 63) // 64
    slots = 2 * min(jobs.size, int(rules["bf_max_job_test"][0])) + 2
    _check_extent(jobs, words, slots)
    every = np.full(words, ~np.uint64(0))
    every[-1] >>= np.uint64(64 * words - nodes)
    plan = Plan(
        np.zeros(1, PLAN),
        np.zeros(slots + 1),
        np.zeros((slots, words), np.uint64),
        np.zeros(jobs.size, np.int64),
        *(np.zeros(words, np.uint64) for _ in range(5)),
    )
    return State(
        rules,
        clock,
        jobs,
        np.zeros(jobs.size, np.int64),
        np.zeros(jobs.size, np.int64),
        every.copy(),
        np.zeros(words, np.uint64),
        np.zeros((jobs.size, words), np.uint64),
        every,
        np.zeros(jobs.size),
        plan,
    )


def _check_extent(jobs: npt.NDArray[np.void], words: int, slots: int) -> None:
    """Refuse what the clock can't count in seconds, or memory can't hold."""
    longest = sum(float(jobs[name].sum()) for name in ("runtime", "overrun", "release", "reports"))
    farthest = float(np.abs(jobs["submit"]).max()) + longest + float(jobs["limit"].max())
    if not farthest < FARTHEST:
        raise SimulationError(
            f"the model of Slurm counts seconds, up to {FARTHEST:g} of them; this log comes to "
            f"{farthest:g} s: look at its times (onega describe), or take another policy"
        )
    wanted = 8 * words * (jobs.size + slots)
    if wanted > MOST_MEMORY:
        raise SimulationError(
            f"the model of Slurm keeps a bit for every job and node: {jobs.size:,} jobs and "
            f"{64 * words:,} nodes take {wanted / 2**30:,.0f} GiB, and it takes at most "
            f"{MOST_MEMORY >> 30}; give fewer processors, or take another policy"
        )


def _make_rules(
    procs: int, parameters: SlurmParameters, turns: tuple[float, float, float]
) -> npt.NDArray[np.void]:
    from onega.kernels.slurm.state import RULES

    rules = np.zeros(1, RULES)
    rules["beat"], rules["doze"], cycle = turns
    rules["nap"] = parameters.bf_interval + cycle
    for name in ("bf_resolution", "bf_max_job_test", "sched_interval", "batch_sched_delay"):
        rules[name] = getattr(parameters, name)
    for name in ("weight_age", "weight_size", "max_age", "favour_small"):
        rules[name] = getattr(parameters, name)
    rules["procs"] = procs
    rules["bf_interval"] = parameters.bf_interval if parameters.backfill else np.inf
    rules["bf_window"] = 60.0 * parameters.bf_window
    rules["queue_depth"] = parameters.default_queue_depth
    rules["min_job_age"] = parameters.min_job_age
    # A controller whose jobs are forgotten at once has none to look for.
    rules["look_interval"] = _look_interval(parameters) if parameters.min_job_age else np.inf
    return rules


def _look_interval(parameters: SlurmParameters) -> int:
    """Return the seconds between two looks for jobs that ended long ago, as slurmctld has them."""
    return max(LEAST_LOOK, min(MOST_LOOK, parameters.min_job_age))


def _past_grid(epoch: float | None, phase: float, resolution: int) -> float:
    """Return the seconds from a time to which plans are rounded to the log's zero.

    slurmctld rounds Unix times. Where a log doesn't say what its zero is, it may be any second.
    """
    return float(np.floor(phase * resolution if epoch is None else epoch % resolution))


def _make_clock(first: float, parameters: SlurmParameters, phases: Floats) -> npt.NDArray[np.void]:
    """Stand the loops, at whole ticks, where they are in the second before the first submission."""
    from onega.kernels.slurm.clock import TICK
    from onega.kernels.slurm.state import CLOCK

    beat, wake = TICK * np.floor(phases[:2] / TICK)
    clock = np.zeros(1, CLOCK)
    second = np.floor(first)
    clock["beat"] = second - 1 + beat
    clock["wake"] = second - 1 + wake if parameters.backfill else np.inf
    clock["last_full"] = second - np.floor(phases[2] * max(parameters.sched_interval, 1))
    clock["last_pass"] = clock["last_full"]
    clock["last_look"] = second - np.floor(phases[2] * _look_interval(parameters))
    clock["last_cycle"] = second - parameters.bf_interval
    clock["planned"], clock["quiet"], clock["remember"] = -1, -np.inf, 1
    return clock
