"""The simulator against a hand-written C++ of the same, and how its cost grows.

Budget: EASY and FCFS kernels within 1.5 × of `yardstick.cpp` (g++ -O3) on archive logs and on a
made log of a million jobs on 4096 processors; within 3 × with rate control and energy; conservative
at 50 000 jobs/s; flat cost per job from 10⁵ to 10⁷ jobs; no quadratic cost in long queues; 10⁷ jobs
on 10⁵ processors under 4 GiB. Archive logs are taken from ``../shared/traces`` where there are any.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import onega
from onega.core.policy import Policy
from onega.simulation.pool import setup
from onega.simulation.pool.run import Task

HERE = Path(__file__).parent
TRACES = HERE.parent.parent / "shared" / "traces"
LOGS = {"KTH": "KTH-SP2-1996-2.1-cln.swf.gz", "HPC2N": "HPC2N-2002-2.2-cln.swf.gz"}


def made_log(jobs: int, procs: int, load: float, seed: int = 1) -> onega.Workload:
    """Powers of two up to a quarter of the machine, log-normal run times, padded estimates."""
    rng = np.random.default_rng(seed)
    width = 2 ** rng.integers(0, int(np.log2(procs)) - 1, jobs)
    runtime = np.round(np.exp(rng.normal(7.0, 1.8, jobs))) + 1
    estimate = np.ceil(runtime * rng.uniform(1, 5, jobs) / 60) * 60
    gap = float((width * runtime).mean()) / (load * procs)
    submit = np.floor(np.cumsum(rng.exponential(gap, jobs)))
    columns = {"submit": submit, "runtime": runtime, "procs": width, "estimate": estimate}
    return onega.Workload(columns).with_machine(procs)


def archive_log(name: str) -> onega.Workload | None:
    path = TRACES / LOGS[name]
    if not path.exists():
        return None
    log = onega.read(path)
    return log.select((pl.col("runtime") > 0) & (pl.col("procs") > 0)).sorted()


def best(run: Callable[[], float], repeats: int) -> float:
    return min(run() for _ in range(repeats))


def kernel_seconds(log: onega.Workload, policy: str, **machine: object) -> float:
    """Seconds in the kernels: not reading, not the tables of results."""
    cluster = onega.Cluster(log.meta.procs or 1, **machine)  # type: ignore[arg-type]
    rule = Policy.parse(policy).knowing("estimate")
    columns = setup.make_columns(log, np.array(log.column("runtime")), rule, None)
    task = Task(columns, cluster, rule, "instant", 1)
    began = time.perf_counter()
    task.run()
    return time.perf_counter() - began


def compile_yardstick(folder: Path) -> Path | None:
    binary = folder / "yardstick"
    command = ["g++", "-O3", "-march=native", "-std=c++17", "-o", str(binary)]
    try:
        subprocess.run([*command, str(HERE / "yardstick.cpp")], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no C++ yardstick ({error}); ratios are left out")
        return None
    return binary


def write_yardstick_log(log: onega.Workload, path: Path) -> None:
    runtime, estimate = log.column("runtime"), log.column("estimate")
    expect = np.where(estimate > 0, estimate, runtime)
    with path.open("wb") as file:
        np.array([len(log), log.meta.procs], np.int64).tofile(file)
        for column in (log.column("submit"), runtime, expect):
            np.ascontiguousarray(column, np.float64).tofile(file)
        np.ascontiguousarray(log.column("procs"), np.int64).tofile(file)


def yardstick_seconds(binary: Path, data: Path, policy: str) -> float:
    command = [str(binary), str(data), policy, "3"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(json.loads(answer)["seconds_best"])


def against_cpp(logs: dict[str, onega.Workload]) -> None:
    print("kernel time against C++ (interleaved, best of several):")
    control = onega.RateControl("queue", rates=(0.8, 1.0), k_low=5, k_high=20)
    power = onega.Power(busy=(80, 120), idle=(30, 40))
    with tempfile.TemporaryDirectory() as folder:
        binary = compile_yardstick(Path(folder))
        if binary is None:
            return
        for name, log in logs.items():
            data = Path(folder) / "log.bin"
            write_yardstick_log(log, data)
            repeats = 12 if len(log) < 500_000 else 4
            kernel_seconds(log, "easy", rates=control, power=power)  # compiled by now
            for policy, limit in (("fcfs", 1.5), ("easy", 1.5), ("easy + rates", 3.0)):
                plain = policy.split(" ")[0]
                extra = {"rates": control, "power": power} if "rates" in policy else {}
                theirs = ours = np.inf
                for _ in range(repeats):
                    theirs = min(theirs, yardstick_seconds(binary, data, plain))
                    ours = min(ours, kernel_seconds(log, plain, **extra))
                print(
                    f"  {name:14} {policy:13} {len(log) / ours / 1e6:6.2f} M jobs/s, C++ "
                    f"{len(log) / theirs / 1e6:6.2f}: {ours / theirs:5.2f} × (budget {limit} ×)"
                )


def orders(log: onega.Workload, name: str) -> None:
    def like_saf(now: float, submit: float, estimate: float, procs: float) -> float:
        return estimate * procs

    def like_xf(now: float, submit: float, estimate: float, procs: float) -> float:
        return -(now - submit + estimate) / estimate

    print(f"\nother policies on {name}:")
    rules: dict[str, object] = {
        "conservative": "conservative",
        "spf+easy": "spf+easy",
        "saf+easy": "saf+easy",
        "own saf+easy": Policy(onega.Priority(like_saf, static=True), "easy"),
        "xf+easy": "xf+easy",
        "own xf+easy": Policy(like_xf, "easy"),
        "spf-pr": "spf-pr",
        "lcfs-pr": "lcfs-pr",
    }
    for label, rule in rules.items():
        policy = Policy.parse(rule)  # type: ignore[arg-type]

        def once(policy: Policy = policy) -> float:
            began = time.perf_counter()
            onega.simulate(log, log.meta.procs or 1, policy)
            return time.perf_counter() - began

        once()
        print(f"  {label:14} {len(log) / best(once, 3):12,.0f} jobs/s, with result tables' arrays")


def growth() -> None:
    print("\ncost per job at load 0.85 on 4096 processors, EASY:")
    for jobs in (10**5, 10**6, 10**7):
        log = made_log(jobs, 4096, 0.85)
        seconds = best(lambda log=log: kernel_seconds(log, "easy"), 3)
        print(f"  {jobs:>10,} jobs: {seconds / jobs * 1e9:6.0f} ns/job")
    kernel_seconds(made_log(50_000, 1024, 1.5), "easy")  # compiles what a long queue needs
    print("long queues: load 1.2 on 1024 processors, EASY:")
    for jobs in (10**5, 3 * 10**5, 10**6):
        log = made_log(jobs, 1024, 1.2)
        seconds = kernel_seconds(log, "easy")
        print(f"  {jobs:>10,} jobs: {seconds / jobs * 1e9:6.0f} ns/job")


_LARGE = """
import sys
sys.path.insert(0, sys.argv[1])
from simulator import made_log
import onega
log = made_log(10**7, 10**5, 0.8)
schedule = onega.simulate(log, 10**5, "easy")
print(schedule.start[-1])
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 2**20)
"""


def large() -> None:
    began = time.perf_counter()
    command = [sys.executable, "-c", _LARGE, str(HERE)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    print(
        f"\n10⁷ jobs on 10⁵ processors, EASY, the log made in the same process: "
        f"{float(answer[1]):.2f} GiB at the peak (budget 4), {time.perf_counter() - began:.0f} s"
    )


def recursion() -> None:
    print("\nKiefer–Wolfowitz recursion, a million customers of mean width 0.5 % of the servers:")
    rng = np.random.default_rng(1)
    for servers in (10**2, 10**4, 10**6):
        widths = rng.integers(1, max(2, servers // 100), 10**6)
        service = rng.exponential(1.0, 10**6)
        gaps = rng.exponential(widths.mean() / (0.8 * servers), 10**6)

        def once(s: int = servers, g=gaps, x=service, w=widths) -> float:
            began = time.perf_counter()
            onega.workload_recursion(g, x, w, servers=s)
            return time.perf_counter() - began

        once()
        print(f"  {servers:>9,} servers: {best(once, 3) * 1e3:6.0f} ns per customer")


def start_up() -> None:
    print("\nstart-up, whole processes:")
    for label, command in {
        "import onega": [sys.executable, "-c", "import onega"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }.items():
        print(f"  {label:24} {best(lambda c=command: _wall(c), 5):.2f} s")
    path = TRACES / LOGS["KTH"]
    if path.exists():
        script = Path(sys.executable).with_name("onega")
        command = [str(script), "simulate", str(path), "--policy", "easy", "--json"]
        _wall(command)
        print(
            f"  {'onega simulate KTH easy':24} {best(lambda: _wall(command), 3):.2f} s (budget 2)"
        )


def _wall(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def main() -> None:
    logs = {name: log for name in LOGS if (log := archive_log(name)) is not None}
    logs["made 1M/4096"] = made_log(10**6, 4096, 0.85)
    against_cpp(logs)
    name = "HPC2N" if "HPC2N" in logs else "made 1M/4096"
    orders(logs[name], name)
    recursion()
    start_up()
    growth()
    large()


if __name__ == "__main__":
    main()
