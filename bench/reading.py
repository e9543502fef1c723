"""Reading SWF: how much faster than pandas in one run, and how much memory at the peak.

Budget: at least 5 × ``pandas.read_csv(sep=r"\\s+", comment=";", header=None)`` on a million jobs,
peak memory under 4 × the table.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

JOBS = 1_000_000
REPEATS = 5

_PEAK = """
import json, sys
import onega

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

warm, path = sys.argv[1:]
onega.read(warm)
before = peak()
log = onega.read(path)
print(json.dumps({"table": log.table.estimated_size(), "peak": peak() * 1024,
                  "rise": (peak() - before) * 1024}))
"""


def make_log(path: Path, jobs: int) -> None:
    """Write a log that looks like the archive's: aligned columns, −1 for what isn't known."""
    rng = np.random.default_rng(1)
    submit = np.cumsum(rng.exponential(150, jobs)).astype(int)
    wait = rng.exponential(4000, jobs).astype(int)
    run = rng.lognormal(6, 2, jobs).astype(int) + 1
    width = 2 ** rng.integers(0, 9, jobs)
    used = run * rng.uniform(0.5, 1.0, jobs)
    estimate = (run // 3600 + 1) * 3600
    user = rng.integers(1, 400, jobs)
    with path.open("w") as out:
        out.write("; UnixStartTime: 843480031\n; MaxProcs: 512\n")
        for i in range(jobs):
            out.write(
                f"{i + 1:7d} {submit[i]:9d} {wait[i]:6d} {run[i]:7d} {width[i]:4d} {used[i]:9.2f}"
                f" {width[i] * 1000:6d} {width[i]:4d} {estimate[i]:7d}    -1  1 {user[i]:4d}"
                f" {user[i] % 50:3d}  -1  3 -1 -1 -1\n"
            )


def seconds(functions) -> list[float]:
    """Median times of several functions, run in turns so that a busy moment meets them all."""
    times = [[] for _ in functions]
    for _ in range(REPEATS):
        for function, taken in zip(functions, times):
            begin = time.perf_counter()
            function()
            taken.append(time.perf_counter() - begin)
    return [statistics.median(taken) for taken in times]


def main() -> dict[str, float]:
    import pandas as pd

    import onega

    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder, "log.swf"), Path(folder, "small.swf")
        make_log(path, JOBS)
        make_log(small, 60_000)
        onega.read(small)  # compiles, or loads what was compiled before
        ours, theirs = seconds(
            [
                lambda: onega.read(path),
                lambda: pd.read_csv(path, sep=r"\s+", comment=";", header=None),
            ]
        )
        answer = subprocess.run(
            [sys.executable, "-c", _PEAK, str(small), str(path)],
            capture_output=True,
            check=True,
            text=True,
        )
        memory = json.loads(answer.stdout)
        size = path.stat().st_size
    print(f"SWF of {JOBS:,} jobs, {size / 1e6:.0f} MB")
    print(f"  onega.read       {ours:6.2f} s   {size / ours / 1e6:6.0f} MB/s")
    print(f"  pandas.read_csv  {theirs:6.2f} s   {size / theirs / 1e6:6.0f} MB/s")
    print(f"  ratio            {theirs / ours:6.1f}     (budget: at least 5)")
    print(f"  table            {memory['table'] / 1e6:6.0f} MB")
    print(f"  peak of process  {memory['peak'] / memory['table']:6.2f} × table (budget: under 4)")
    print(f"  rise by reading  {memory['rise'] / memory['table']:6.2f} × table")
    return {"ratio": theirs / ours, "peak": memory["peak"] / memory["table"]}


if __name__ == "__main__":
    main()
