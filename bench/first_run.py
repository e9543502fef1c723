"""What a newcomer waits for: the first run, which compiles, beside the second, which doesn't.

Whole processes with an empty cache of compiled kernels, then with what the first has left there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onega

WAYS = {
    "a plain machine, EASY": ("--policy", "easy"),
    "a plain machine, conservative": ("--policy", "conservative"),
    "a detailed machine, EASY": ("--policy", "easy", "--moldable", "amdahl(0.05, most=16)"),
}


def seconds(command: list[str], cache: Path) -> float:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return time.perf_counter() - began


def main() -> None:
    script = str(Path(sys.executable).with_name("onega"))
    with tempfile.TemporaryDirectory() as name:
        log = Path(name, "jobs.swf")
        onega.write(onega.models.Lublin().sample(1000, rng=1), log)
        for place, (label, flags) in enumerate(WAYS.items()):
            command = [script, "simulate", str(log), *flags, "--json"]
            cache = Path(name, f"cache-{place}")
            first, second = (seconds(command, cache) for _ in range(2))
            print(f"{label}: {first:.1f} s the first time, {second:.1f} s the second")


if __name__ == "__main__":
    main()
