"""Fuzz everything that reads what people and programs wrote: mutate small files of every kind.

Whatever is read, only two things may happen: it is taken, or it is refused by an error of ours in
one line. A traceback, a crash of the process, or ten seconds of CPU for one input is a bug.

    python bench/fuzz.py [--inputs 20000] [--workers 1] [--seed 1] [--only swf,model] [--keep DIR]

Every worker process takes its inputs one after the other, with a CPU limit that is set anew for
each; when it dies, the input that it had in hand is the finding, and another one goes on. Inputs
follow from the seed and their number alone, so that a finding can be made again
(``--first N --inputs 1``). A million inputs take hours; twenty thousand, minutes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzz_mutations import mutated
from fuzz_targets import TARGETS, Target

from onega.core.errors import OnegaError
from onega.core.machine.cluster import OnegaWarning

CPU_SECONDS = 10.0
"""What one input may take; compiling and importing is done before."""


def attempt(target: Target, data: bytes, folder: Path) -> str:
    """Give one input to one reader; return what came of it, or raise."""
    path = folder / target.file
    path.write_bytes(data)
    try:
        target.use(path)
    except OnegaError as error:
        if len(str(error).splitlines()) > 1:
            raise AssertionError(f"more than one line: {error!r}") from error
        return "refused"
    except OSError as error:  # the command tells these in a line: "No such file …"
        return f"refused ({type(error).__name__})"
    return "taken"


def warm(folder: Path, chosen: list[Target]) -> None:
    """Import and compile what is needed, outside of any limit."""
    for target in chosen:
        for seed in target.seeds:
            attempt(target, seed, folder)


def selected(given) -> list[Target]:
    wanted = set(filter(None, given.only.split(",")))
    return [one for one in TARGETS if not wanted or one.name in wanted]


def worker(numbers, given, told) -> None:
    """Take inputs one by one; say beforehand which, and afterwards what came of it."""
    chosen = selected(given)
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", OnegaWarning)  # the command says these in a line

    def out_of_time(*_: object) -> None:
        raise TimeoutError(f"more than {CPU_SECONDS:g} s of CPU")

    signal.signal(signal.SIGVTALRM, out_of_time)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm(folder, chosen)
        told.send(("ready", -1, "", ""))
        for number in numbers:
            rng = random.Random(f"{given.seed} {number}")
            target = rng.choice(chosen)
            data = mutated(rng.choice(target.seeds), rng, target.seeds)
            told.send(("begun", number, target.name, ""))
            signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
            try:
                result, trace = attempt(target, data, folder), ""
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                result, trace = "FAILED", "\n".join(traceback.format_exc().splitlines()[-10:])
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            told.send((result, number, target.name, trace))


class Findings:
    """What came of the inputs, and each kind of failure once."""

    def __init__(self, given, chosen) -> None:
        self.given, self.chosen = given, chosen
        self.counts: Counter[str] = Counter()
        self.kinds: dict[str, int] = {}
        self.began = time.monotonic()

    def add(self, result: str, number: int, target: str, trace: str) -> None:
        self.counts[f"{target}: {result}"] += 1
        if result not in ("FAILED", "CRASHED"):
            return
        key = target + "\n".join(trace.splitlines()[-4:])
        if key not in self.kinds:
            self.kinds[key] = number
            print("-" * 80, f"input {number}, {target}: {result}", trace, sep="\n", flush=True)
            if self.given.keep:
                rng = random.Random(f"{self.given.seed} {number}")
                one = rng.choice(self.chosen)
                data = mutated(rng.choice(one.seeds), rng, one.seeds)
                Path(self.given.keep, f"{number}-{one.file}").write_bytes(data)

    def tell(self) -> int:
        total = sum(self.counts.values())
        bad = sum(n for name, n in self.counts.items() if name.endswith(("FAILED", "CRASHED")))
        for name in sorted(self.counts):
            print(f"{self.counts[name]:9,}  {name}")
        took = time.monotonic() - self.began
        print(f"{total:,} inputs in {took:.0f} s: {bad} failures of {len(self.kinds)} kinds")
        return 1 if bad else 0


def run_worker(share: range, given, findings: Findings):
    """Generate once for every message; start a new process where one has died."""
    left = share
    # Forked, a process would wait for threads of Polars that it doesn't have.
    fresh = multiprocessing.get_context("spawn")
    while len(left):
        here, there = multiprocessing.Pipe(duplex=False)
        process = fresh.Process(target=worker, args=(left, given, there), daemon=True)
        process.start()
        there.close()
        begun = None
        try:
            while True:
                result, number, target, trace = here.recv()
                if result == "begun":
                    begun = (number, target)
                elif result != "ready":
                    findings.add(result, number, target, trace)
                    left, begun = left[left.index(number) + 1 :], None
                yield
        except EOFError:
            process.join()
            if begun is not None:
                findings.add("CRASHED", *begun, f"exit code {process.exitcode}")
                left = left[left.index(begun[0]) + 1 :]
            elif process.exitcode:
                raise SystemExit("a worker died before its first input") from None


def fuzz() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    given = parser.parse_args()
    if given.keep:
        Path(given.keep).mkdir(parents=True, exist_ok=True)
    findings = Findings(given, selected(given))
    shares = [
        range(given.first + offset, given.first + given.inputs, given.workers)
        for offset in range(given.workers)
    ]
    workers = [run_worker(share, given, findings) for share in shares]
    told = time.monotonic()
    while workers:
        for one in list(workers):
            if next(one, workers) is workers:
                workers.remove(one)
        if time.monotonic() - told > 60:
            told = time.monotonic()
            total = sum(findings.counts.values())
            print(f"{total:,} inputs, {len(findings.kinds)} kinds of failure", flush=True)
    return findings.tell()


if __name__ == "__main__":
    sys.exit(fuzz())
