"""`make bench`: every benchmark, or those named, one after the other; what they say is kept.

Timings are ratios within one run, because machines are noisy; nothing here is part of the tests.
Every line that is printed goes into ``bench/history.csv`` too, with the day and the commit, so that
`grep "nodes of four" bench/history.csv` shows how a figure has moved.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib.util
import io
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

HERE = Path(__file__).parent
HISTORY = HERE / "history.csv"
BENCHMARKS = (
    "reading",
    "describe",
    "simulator",
    "detailed",
    "first_run",
    "queueing",
    "models",
    "users",
    "replicates",
    "sweep",
    "adequacy",
    "report",
    "web",
)


class Both(io.TextIOBase):
    """Writes to the terminal and remembers."""

    def __init__(self) -> None:
        self.terminal, self.text = sys.stdout, ""

    def write(self, text: str) -> int:
        self.text += text
        return self.terminal.write(text)

    def flush(self) -> None:
        self.terminal.flush()


def run(name: str) -> list[str]:
    """Run one benchmark and return the lines that it printed."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    with redirect_stdout(Both()) as said:
        module.main()
    return [line.strip() for line in said.text.splitlines() if line.strip()]


def keep(name: str, lines: list[str]) -> None:
    """Append to the history: day, commit (``+`` if the tree has changed since), benchmark, line."""
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+"]
    found = subprocess.run(git, capture_output=True, text=True, check=False)
    commit, day = found.stdout.strip() or "unknown", datetime.date.today().isoformat()
    new = not HISTORY.exists()
    with HISTORY.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        if new:
            rows.writerow(("day", "commit", "benchmark", "line"))
        rows.writerows((day, commit, name, line) for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"any of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--forget", action="store_true", help="don't append to the history")
    given = parser.parse_args()
    unknown = [name for name in given.name if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for name in given.name or BENCHMARKS:
        print(f"\n=== {name} ===", flush=True)
        lines = run(name)
        if not given.forget:
            keep(name, lines)


if __name__ == "__main__":
    main()
