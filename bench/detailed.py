"""The detailed machine against the plain one: each mechanism alone, all together, and its growth.

Budget: whole runs of `simulate` with one mechanism at most 8 × the plain EASY run on KTH and HPC2N
(nodes of one processor 15 ×), with all of them at most 30 ×; cost per job that doesn't grow with
the number of jobs. Plain and detailed runs alternate, the least CPU time of each counts. What runs
of one log share (columns, numbers of users) is made before the first reading,
for the plain run too: the very first run of a log takes longer than these figures. Archive logs are
taken from ``../shared/traces`` where there are any, else a made log stands in for them.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import onega
from onega.core.policy import Policy
from onega.core.rng import seed_sequence
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.run import run

TRACES = [Path(__file__).parents[up] / "shared" / "traces" for up in (2, 3)]
LOGS = {"KTH": "KTH-SP2-1996-2.1-cln.swf.gz", "HPC2N": "HPC2N-2002-2.2-cln.swf.gz"}
ONE, OF_ONE, ALL = 8.0, 15.0, 30.0
TWO = "fair-share and limits"
"""Two mechanisms that sites have together: shown, without a budget of its own."""


def archive_log(name: str) -> onega.Workload | None:
    for folder in TRACES:
        if (folder / LOGS[name]).exists():
            log = onega.read(folder / LOGS[name])
            return log.select((pl.col("runtime") > 0) & (pl.col("procs") > 0)).sorted()
    return None


def made_log(jobs: int, procs: int = 256, load: float = 0.8, seed: int = 1) -> onega.Workload:
    """Powers of two up to a quarter of the machine, log-normal run times, padded estimates."""
    rng = np.random.default_rng(seed)
    width = 2 ** rng.integers(0, int(np.log2(procs)) - 1, jobs)
    runtime = np.round(np.exp(rng.normal(6.5, 1.5, jobs))) + 1
    estimate = np.ceil(runtime * rng.uniform(1, 5, jobs) / 60) * 60
    gap = float((width * runtime).mean()) / (load * procs)
    columns = {
        "submit": np.floor(np.cumsum(rng.exponential(gap, jobs))),
        "runtime": runtime,
        "procs": width,
        "estimate": estimate,
        "user": rng.integers(1, 60, jobs),
        "queue": rng.integers(1, 4, jobs),
    }
    return onega.Workload(columns, onega.Meta(procs=procs, epoch=0.0))


def with_people(log: onega.Workload) -> onega.Workload:
    """Give a log three queues and two partitions, whatever it has."""
    rng = np.random.default_rng(1)
    size = len(log)
    return onega.Workload(
        log.table.with_columns(
            pl.Series("queue", rng.integers(1, 4, size), dtype=pl.Int32),
            pl.Series("partition", rng.integers(1, 3, size), dtype=pl.Int32),
        ),
        log.meta,
    )


def under_cap(log: onega.Workload) -> onega.Workload:
    """Leave out the few jobs that are too wide for a power cap that is felt."""
    return log.select(pl.col("procs") <= 0.9 * (log.meta.procs or 1))


def machine_parts(procs: int, log: onega.Workload) -> dict[str, dict[str, object]]:
    """Arguments of `Cluster` for each mechanism."""
    states = (
        onega.SleepState(timeout=600, power=5, delay=60, wake_power=80),
        onega.SleepState(timeout=7200, power=1, delay=300, wake_power=80),
    )
    power = onega.Power(busy=100, idle=40)
    queues = [
        onega.Queue(1, priority=2, max_procs_per_user=procs),
        onega.Queue(2, priority=1, max_jobs=4 * procs),
        onega.Queue(3, max_jobs_per_user=50, default=True),
    ]
    cap = 95.0 * procs  # some 92 of 100 processors at work, the others idle
    return {
        "sleep in a pool": {"sleep": onega.Sleep(states), "power": power},
        "sleep, waking ahead": {"sleep": onega.Sleep(states, wake_ahead=True), "power": power},
        "power cap": {"power_cap": cap, "power": power},
        "power cap by day": {"power_cap": {"08:00": cap, "20:00": 100.0 * procs}, "power": power},
        "licences": {"resources": {"licence": procs // 16}},
        "nodes of one": {"nodes": [onega.NodeGroup(procs)]},
        "nodes of four": {"nodes": [onega.NodeGroup(procs // 4, 4, memory="64GB")]},
        "nodes, best fit": {"nodes": [onega.NodeGroup(procs // 4, 4)], "placement": "best-fit"},
        "nodes, spread": {"nodes": [onega.NodeGroup(procs // 4, 4)], "placement": "spread"},
        "whole nodes": {"nodes": [onega.NodeGroup(procs // 2, 2)], "whole_nodes": True},
        "queues and limits": {"queues": queues},
        "fair-share": {"multifactor": onega.Multifactor()},
        TWO: {"multifactor": onega.Multifactor(), "queues": queues},
        "failures": {"failures": onega.Failures("exponential(1e7)", "exponential(7200)")},
        "overheads": {"overheads": onega.Overheads("exponential(2)", "exponential(3)")},
    }


def run_parts(log: onega.Workload, procs: int) -> dict[str, dict[str, object]]:
    """Arguments of `simulate` for each mechanism."""
    first, last = float(log.column("submit").min()), float(log.column("submit").max())
    begins = np.arange(first + 86400, last, 7 * 86400)
    reserve = pl.DataFrame(
        {
            "time": begins,
            "event": ["reserve"] * begins.size,
            "procs": [procs // 2] * begins.size,
            "until": begins + 8 * 3600,
        }
    )
    return {
        "people who cancel": {"patience": "exponential(1e5)"},
        "reservations": {"events": reserve},
        # With a larger serial share wide shapes waste so much that the machine is overloaded.
        "moldable": {"moldable": onega.AmdahlSpeedup(0.001)},
    }


def licences(log: onega.Workload) -> pl.DataFrame:
    """Let every fourth job need a licence, of which there are few."""
    some = log.table["job"].gather_every(4)
    return pl.DataFrame({"job": some, "licence": np.ones(some.len())})


def seconds(task: Callable[[], object]) -> float:
    began = time.process_time()
    task()
    return time.process_time() - began


def runs_of(log: onega.Workload) -> tuple[Callable[[], object], dict[str, Callable[[], object]]]:
    """Return the plain run and those with each mechanism."""
    procs = log.meta.procs or 1
    people = with_people(log)
    cases: dict[str, Callable[[], object]] = {}
    for label, given in machine_parts(procs, log).items():
        cluster = onega.Cluster(procs, **given)
        policy = "multifactor+easy" if "multifactor" in given else "easy"
        jobs = under_cap(people) if "power_cap" in given else people
        more = {"demands": licences(jobs)} if label == "licences" else {}
        cases[label] = lambda j=jobs, c=cluster, p=policy, m=more: onega.simulate(
            j, c, p, rng=1, **m
        )
    for label, given in run_parts(log, procs).items():
        cases[label] = lambda g=given: onega.simulate(people, procs, "easy", rng=1, **g)
    everything, jobs = _everything(procs, log), under_cap(people)
    everything["demands"] = licences(jobs)
    cases["all together"] = lambda: onega.simulate(jobs, **everything)
    return lambda: onega.simulate(people, procs, "easy"), cases


def compare(name: str, log: onega.Workload, repeats: int = 3) -> None:
    plain, cases = runs_of(log)
    print(f"{name}: {len(log):,} jobs on {log.meta.procs} processors, EASY; times of whole runs")
    for label, task in cases.items():
        try:
            task()
        except onega.OnegaError as error:
            print(f"  {label:21} not run: {str(error)[:100]}")
            continue
        ours, theirs = np.inf, np.inf
        for _ in range(repeats):
            theirs = min(theirs, seconds(plain))
            ours = min(ours, seconds(task))
        budget = {
            "all together": f"budget {ALL:.0f} ×",
            "nodes of one": f"budget {OF_ONE:.0f} ×",
            TWO: "two mechanisms",
        }
        print(
            f"  {label:21} {ours / len(log) * 1e9:7.0f} ns/job, plain "
            f"{theirs / len(log) * 1e9:5.0f}: {ours / theirs:6.2f} × "
            f"({budget.get(label, f'budget {ONE:.0f} ×')})",
            flush=True,
        )


def _everything(procs: int, log: onega.Workload) -> dict[str, object]:
    parts = machine_parts(procs, log)
    given: dict[str, object] = {}
    for label in ("sleep, waking ahead", "power cap by day", "licences", "nodes of four"):
        given |= parts[label]
    for label in (TWO, "failures", "overheads"):
        given |= parts[label]
    given["interruption"] = onega.Interruption("checkpoint", interval=3600)
    first, last = float(log.column("submit").min()), float(log.column("submit").max())
    begins = np.arange(first + 86400, last, 30 * 86400)
    reserve = {
        "time": begins,
        "event": ["reserve"] * begins.size,
        "node": ["1-5"] * begins.size,
        "until": begins + 8 * 3600,
    }
    return {
        "cluster": onega.Cluster(procs, **given),
        "policy": "multifactor+easy",
        "events": pl.DataFrame(reserve),
        "patience": "exponential(1e6)",
        "rng": 1,
    }


def growth() -> None:
    print("\ncost per job at load 0.8 on 256 processors, kernel only:")
    for label, policy, given in (
        ("pool", "easy", {"overheads": onega.Overheads("exponential(2)", "exponential(3)")}),
        ("nodes of four, asleep", "easy", _asleep()),
        ("fair-share", "multifactor+easy", {"multifactor": onega.Multifactor()}),
    ):
        for jobs in (10**4, 10**5, 10**6):
            log = made_log(jobs)
            rule = Policy.parse(policy).knowing("estimate")
            cluster = onega.Cluster(256, **given)
            given_now = RunInputs()
            seed = seed_sequence(1)
            ready = prepare(log, cluster, rule, given_now, enforce_limits=False, seed=seed)
            problem = ready.problem(ready.first_horizon())
            spent = min(seconds(lambda p=problem: run(p)) for _ in range(2))
            print(f"  {label:22} {jobs:>9,} jobs: {spent / jobs * 1e9:6.0f} ns/job", flush=True)


def _asleep() -> dict[str, object]:
    state = onega.SleepState(timeout=600, power=5, delay=60, wake_power=80)
    return {
        "nodes": [onega.NodeGroup(64, 4)],
        "sleep": onega.Sleep(state),
        "power": onega.Power(busy=100, idle=40),
    }


def compile_all() -> None:
    """Run everything once, so that it is compiled."""
    plain, cases = runs_of(made_log(500))
    for task in (plain, *cases.values()):
        task()


def main() -> None:
    if sys.argv[1:] == ["compile"]:
        compile_all()
        return
    # In another process: what runs in the one that has compiled it is slower by some 8 per cent.
    subprocess.run([sys.executable, __file__, "compile"], check=True)
    logs = {name: log for name in LOGS if (log := archive_log(name)) is not None}
    if not logs:
        logs["made"] = made_log(100_000)
    for name, log in logs.items():
        # The least of few readings still has the machine's noise in it.
        compare(name, log, repeats=20 if len(log) < 50_000 else 6)
    growth()


if __name__ == "__main__":
    main()
