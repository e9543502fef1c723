"""Sweeps: two threads against one on 200 runs of KTH, what a run costs beside itself, the store.

The sweep is the one of a planner: policies × machine sizes on an archive log. The overhead is
what a run in a sweep on one thread takes longer than `simulate(…).summary()` alone: handing it out,
storing it, counting. The store alone is measured in processor time, on made-up runs.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import onega

RUNS = 200
POLICIES = ("fcfs", "easy", "spf+easy", "saf+easy", "lpf")
SPEC = {"vary": {"policy": list(POLICIES), "procs": {"from": 100, "to": 139}}}
ROUNDS = 5
LEAST_SPEEDUP = 1.7
MOST_OVERHEAD = 5e-3
STORED = 20_000
MOST_WRITING = 0.2e-3
MOST_READING = 4.0


def traces() -> Path | None:
    here = Path(__file__).resolve().parent
    for parent in here.parents:
        if (parent / "shared" / "traces").is_dir():
            return parent / "shared" / "traces"
    return None


def alone(log: onega.Workload) -> float:
    """Seconds of the runs without a sweep."""
    began = time.perf_counter()
    for policy in POLICIES:
        for procs in range(100, 140):
            onega.simulate(log, procs, policy).summary()
    return time.perf_counter() - began


def swept(log: onega.Workload, workers: object, folder: Path) -> float:
    """Seconds of the sweep, from the call to the last file."""
    began = time.perf_counter()
    onega.sweep(SPEC, folder, workload=log, workers=workers)
    return time.perf_counter() - began


def store(folder: Path) -> None:
    """Print what it takes to store made-up runs one by one, and to read them all."""
    from onega.experiment.sweep.prepare import prepare
    from onega.experiment.sweep.record import encode
    from onega.experiment.sweep.run import perform
    from onega.experiment.sweep.store import Store

    log = onega.models.Lublin().sample(100, rng=1, cluster=64)
    plan = prepare({"vary": {"seed": {"from": 1, "to": STORED}}}, log)
    outcome = perform(next(iter(plan.design)), plan.sources)
    runs = list(plan.design)
    with Store.opened(folder, plan.design, replace_spec=False) as there:
        began = time.process_time()
        for run in runs:
            there.write(run, encode(run, outcome))
        writing = (time.process_time() - began) / STORED
    began = time.process_time()
    assert onega.Sweep.load(folder).to_polars().height == STORED
    reading = time.process_time() - began
    size = (folder / "runs.sqlite").stat().st_size / STORED
    print(f"store: {1e3 * writing:.3f} ms a run (at most {1e3 * MOST_WRITING:g}), {size:.0f} bytes")
    print(f"store: {STORED} runs read in {reading:.2f} s (at most {MOST_READING:g})")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        store(Path(name) / "out")
    folder = traces()
    if folder is None:
        print("sweep: no archive logs beside the repository")
        return
    log, _ = onega.clean(onega.read(folder / "KTH-SP2-1996-2.1-cln.swf.gz"))
    for policy in POLICIES:  # compiles, or loads what was compiled
        onega.simulate(log.head(100), 100, policy).summary()
    # In memory where that is possible: on a disk where many files were deleted a moment ago, ext4
    # takes a millisecond to make a new one, and that would be measured.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        compare(log, Path(name))


def compare(log: onega.Workload, folder: Path) -> None:
    """Print seconds of each round, and the medians."""
    swept(log, onega.Threads(2), folder / "first")  # imports what a sweep needs
    ratios, overheads = [], []
    for number in range(ROUNDS):
        bare = alone(log)
        one = swept(log, onega.Threads(1), folder / f"one-{number}")
        two = swept(log, onega.Threads(2), folder / f"two-{number}")
        ratios.append(one / two)
        overheads.append((one - bare) / RUNS)
        print(f"{RUNS} runs alone {bare:.2f} s, 1 thread {one:.2f} s, 2 threads {two:.2f} s")
    ratio, overhead = statistics.median(ratios), statistics.median(overheads)
    print(f"2 threads: {ratio:.2f} × one (at least {LEAST_SPEEDUP})")
    print(f"overhead: {1e3 * overhead:.2f} ms a run (at most {1e3 * MOST_OVERHEAD:g})")


if __name__ == "__main__":
    main()
