"""Fuzz everything that reads what people and programs wrote: mutate small files of every kind.

Whatever is read, only two things may happen: it is taken, or it is refused by an error of ours in
one line. A traceback, a crash of the process, or ten seconds of CPU for one input is a bug.

    python bench/fuzz.py [--inputs 20000] [--workers 1] [--seed 1] [--only swf,model] [--keep DIR]

Every worker process takes its inputs one after the other, with a CPU limit that is set anew for
each; when it dies, the input that it had in hand is the finding, and another one goes on. Inputs
follow from the seed and their number alone, so that a finding can be made again
(``--first N --inputs 1``). A million inputs take half an hour of CPU or so.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing import sharedctypes
from pathlib import Path

# Before Polars is imported, here and in the workers: tables of a few rows need no threads.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzz_mutations import mutated
from fuzz_targets import TARGETS, Target

from onega.core.errors import OnegaError
from onega.core.machine.cluster import OnegaWarning

CPU_SECONDS = 10
"""What one input may take; compiling and importing is done before."""

TAKEN, REFUSED, FAILED, CRASHED = range(4)
OUTCOMES = ("taken", "refused", "FAILED", "CRASHED")


def attempt(target: Target, data: bytes, folder: Path, rng: random.Random) -> int:
    """Give one input to one reader; return what came of it, or raise."""
    path = folder / target.file
    path.write_bytes(data)
    try:
        target.use(path, rng)
    except OnegaError as error:
        if len(str(error).splitlines()) > 1:
            raise AssertionError(f"more than one line: {error!r}") from error
        return REFUSED
    except OSError:  # the command tells these in a line: "No such file …"
        return REFUSED
    return TAKEN


def warm(folder: Path, chosen: list[Target]) -> None:
    """Import and compile what is needed, outside of any limit; what is mutated has to be right."""
    for target in chosen:
        for seed in target.seeds:
            for number in range(12):  # whatever is done with it by chance
                try:
                    outcome = attempt(target, seed, folder, random.Random(number))
                except Exception as error:
                    raise SystemExit(f"{target.name}: {seed[:80]!r} breaks: {error!r}") from error
                if outcome != TAKEN and target.name != "any log":  # of another format
                    raise SystemExit(f"{target.name}: {seed[:80]!r} is refused by itself")


def selected(given: argparse.Namespace) -> list[Target]:
    wanted = set(filter(None, given.only.split(",")))
    return [one for one in TARGETS if not wanted or one.name in wanted]


def made(given: argparse.Namespace, chosen: list[Target], number: int):
    """Return the input of a number: its target, its bytes, and what else is left to chance."""
    rng = random.Random(f"{given.seed} {number}")
    which = rng.randrange(len(chosen))
    target = chosen[which]
    return which, mutated(rng.choice(target.seeds), rng, target.seeds), rng


def worker(numbers: range, given, shared, told) -> None:
    """Take inputs one by one: which is in hand and what came of all stands in shared memory."""
    chosen = selected(given)
    in_hand, counts = shared
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", OnegaWarning)  # the command says these in a line

    def out_of_time(*_: object) -> None:
        raise TimeoutError(f"more than {CPU_SECONDS} s of CPU")

    signal.signal(signal.SIGVTALRM, out_of_time)
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        warm(folder, chosen)
        gc.freeze()
        parent = os.getppid()
        for number in numbers:
            if os.getppid() != parent:
                return  # nobody listens any more
            in_hand[0] = number
            which, data, rng = made(given, chosen, number)
            # The timer ends a loop in Python; the limit, one that never comes back to Python.
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            last = int(time.process_time()) + 2 * CPU_SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (last, hard))
            signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
            try:
                outcome = attempt(chosen[which], data, folder, rng)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                outcome = FAILED
                told.send((number, "\n".join(traceback.format_exc().splitlines()[-10:])))
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            counts[which * len(OUTCOMES) + outcome] += 1
        in_hand[0] = -1


class Findings:
    """What came of the inputs, and each kind of failure once."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.chosen = given, selected(given)
        self.shared = [self._counters() for _ in range(given.workers)]  # each has one writer
        self.kinds: dict[str, int] = {}
        self.began = time.monotonic()

    def _counters(self):
        return sharedctypes.RawArray("q", len(self.chosen) * len(OUTCOMES))

    @property
    def counts(self) -> list[int]:
        """How many inputs of each target had each outcome, over all workers."""
        return [sum(one) for one in zip(*self.shared, strict=True)]

    def add(self, number: int, trace: str) -> None:
        which, data, _ = made(self.given, self.chosen, number)
        target = self.chosen[which]
        key = target.name + "\n".join(trace.splitlines()[-4:])
        if key not in self.kinds:
            self.kinds[key] = number
            print("-" * 80, f"input {number}, {target.name}", trace, sep="\n", flush=True)
            if self.given.keep:
                Path(self.given.keep, f"{number}-{target.file}").write_bytes(data)

    def crashed(self, number: int, exitcode: int | None, counts) -> None:
        which = made(self.given, self.chosen, number)[0]
        counts[which * len(OUTCOMES) + CRASHED] += 1
        self.add(number, f"the process ended with {exitcode}")

    def tell(self) -> int:
        counts = self.counts
        rows = [counts[at : at + 4] for at in range(0, len(counts), 4)]
        for target, row in sorted(zip(self.chosen, rows, strict=True), key=lambda one: one[0].name):
            said = ", ".join(f"{n:,} {name}" for n, name in zip(row, OUTCOMES, strict=True) if n)
            print(f"{target.name:12} {said}")
        bad = sum(row[FAILED] + row[CRASHED] for row in rows)
        took = time.monotonic() - self.began
        total = sum(map(sum, rows))
        print(f"{total:,} inputs in {took:.0f} s: {bad} failures of {len(self.kinds)} kinds")
        return 1 if bad else 0


def run_worker(share: range, given, findings: Findings, counts) -> Iterator[None]:
    """Follow a worker; start a new one behind the input that one has died of."""
    # Forked, a process would wait for threads of Polars that it doesn't have.
    fresh = multiprocessing.get_context("spawn")
    while len(share):
        in_hand = sharedctypes.RawArray("q", [-2])
        here, there = multiprocessing.Pipe(duplex=False)
        task = (share, given, (in_hand, counts), there)
        process = fresh.Process(target=worker, args=task, daemon=True)
        process.start()
        there.close()
        try:
            while True:
                if here.poll(1.0):
                    findings.add(*here.recv())
                yield
        except EOFError:
            process.join()
        if in_hand[0] == -2:
            raise SystemExit("a worker died before its first input")
        if in_hand[0] == -1:
            return
        findings.crashed(in_hand[0], process.exitcode, counts)
        share = share[share.index(in_hand[0]) + 1 :]


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
    findings = Findings(given)
    last = given.first + given.inputs
    shares = [range(given.first + at, last, given.workers) for at in range(given.workers)]
    pairs = zip(shares, findings.shared, strict=True)
    workers = [run_worker(share, given, findings, counts) for share, counts in pairs]
    told = time.monotonic()
    while workers:
        workers = [one for one in workers if next(one, workers) is not workers]
        if time.monotonic() - told > 60:
            told = time.monotonic()
            total = sum(findings.counts)
            print(f"{total:,} inputs, {len(findings.kinds)} kinds of failure", flush=True)
    return findings.tell()


if __name__ == "__main__":
    sys.exit(fuzz())
