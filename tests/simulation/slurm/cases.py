"""Workloads for the model of Slurm, and its naive twin on the same problem."""

from __future__ import annotations

import numpy as np

import onega
from onega.core.rng import child, generator, seed_sequence
from onega.core.slurm.parameters import SlurmParameters
from onega.simulation.slurm.run import SlurmDelays, limit_seconds, simulate_slurm
from reference import slurm as naive

FINE = SlurmParameters.parse("fine")

LAWS = onega.Overheads(
    "exponential(0.4)", "gamma(mean=2, sd=1)",
    submission="exponential(3)", release="lognormal(mean=1, sd=2)", report="exponential(0.05)",
)  # fmt: skip

PARAMETERS = [
    SlurmParameters(),
    FINE,
    SlurmParameters(bf_interval=7, bf_resolution=30, sched_interval=20),
    SlurmParameters(bf_max_job_test=2, default_queue_depth=1, batch_sched_delay=0),
    SlurmParameters(bf_window=4, bf_interval=5),
    SlurmParameters(bf_window=3, bf_interval=31, sched_interval=7, bf_resolution=1),
    SlurmParameters(bf_resolution=300, sched_interval=0, bf_interval=2),
    SlurmParameters(min_job_age=0),
    SlurmParameters(min_job_age=17, bf_interval=43, sched_interval=90),
]


def policy(parameters):
    return onega.Policy("slurm", knowledge="estimate", slurm=parameters)


def workload(submit, runtime, procs, estimate):
    return onega.Workload(
        {
            "submit": np.asarray(submit, dtype=float),
            "runtime": np.asarray(runtime, dtype=float),
            "procs": procs,
            "estimate": np.asarray(estimate, dtype=float),
        }
    )


def random_problem(seed):
    """A few jobs on a small machine, with or without loops that drift."""
    rng = np.random.default_rng(seed)
    count, procs = int(rng.integers(1, 15)), int(rng.integers(1, 10))
    gaps = np.where(rng.random(count) < 0.7, rng.integers(0, 81, count), 900)
    runtime = np.where(
        rng.random(count) < 0.6, rng.integers(1, 301, count), rng.integers(600, 1501, count)
    )
    jobs = workload(
        np.cumsum(np.where(rng.random(count) < 0.3, 0, gaps)), runtime,
        rng.integers(1, procs + 1, count), rng.integers(1, 401, count),
    )  # fmt: skip
    delays = SlurmDelays(
        np.zeros(count),
        *(rng.choice(values, count) for values in ([0, 0.3, 2.7], [0, 0.1, 3.3], [0, 0.2, 4.1])),
        *(float(rng.choice([0, 0.001, 0.017, 0.4, 2.5])) for _ in range(2)),
    )
    parameters = PARAMETERS[rng.integers(len(PARAMETERS))]
    epoch = float(rng.integers(10**9)) if rng.random() < 0.5 else None
    return onega.Workload(jobs.table, onega.Meta(epoch=epoch)), procs, parameters, delays


def busy_stream(seed, count, procs=None):
    """A long queue, estimates that are wrong, and the processors that it is for."""
    rng = np.random.default_rng(seed)
    procs = procs or int(rng.choice([5, 16, 70]))
    width = np.minimum(procs, 1 + rng.geometric(2.0 / procs, count))
    runtime = rng.choice([30.0, 200.0, 900.0], count) * rng.integers(1, 4, count)
    submit = np.cumsum(rng.choice([0, 1, 7, 60, 400], count)).astype(float)
    estimate = np.maximum(60, runtime * rng.choice([0.3, 1, 1, 2, 9], count))
    return workload(submit, runtime, width, estimate), procs


def twin(jobs, procs, parameters, delays, phases=(0.5, 0.25, 0.5, 0.0)):
    """Return the naive twin's starts."""
    resolution, epoch = parameters.bf_resolution, jobs.meta.epoch
    past = int(phases[3] * resolution) if epoch is None else int(epoch) % resolution
    names = ("submit", "submission", "runtime", "limit", "procs", "overrun", "release", "reports")
    columns = (
        jobs.column("submit"), delays.submission, jobs.column("runtime"),
        limit_seconds(jobs, perfect=False), jobs.column("procs"),
        delays.overrun, delays.release, delays.reports,
    )  # fmt: skip
    plain = [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return naive.simulate(plain, procs, parameters, *phases[:3], past, delays.turns())


def check(jobs, procs, parameters, delays=None):
    """Hold the model against the twin, the loops standing where they do without ``rng``."""
    delays = delays or SlurmDelays.none(len(jobs))
    schedule = simulate_slurm(jobs, onega.Cluster(procs), policy(parameters), delays=delays)
    np.testing.assert_array_equal(schedule.start, twin(jobs, procs, parameters, delays))


def check_drawn(jobs, procs, rule, seed):
    """Hold a call of `simulate` with overheads against the twin with the same draws."""
    schedule = onega.simulate(jobs, onega.Cluster(procs, overheads=LAWS), rule, rng=seed)
    source = seed_sequence(seed)
    delays = SlurmDelays.draw(LAWS, jobs, rng=source)
    phases = generator(child(source, 0)).random(4)
    phases[:2] = np.floor(1024 * phases[:2]) / 1024
    starts = twin(jobs, procs, onega.Policy.parse(rule).slurm, delays, phases)
    np.testing.assert_array_equal(schedule.start, starts)
    return schedule
