"""The page under a crowd for long: no error, and memory that stays where it was.

    python bench/soak_page.py [--minutes M] [--clients N]

Starts `onega serve` on a free loopback port with a state folder of its own. Clients look, size,
compare, download, upload, simulate and send what has to be refused; each deletes what it made, so
that what is kept stays the same. Resident memory of the page and of its workers is read every few
seconds; the medians of the second fifth and of the last fifth of the time are compared. Leaves with
code 1 if there was a server error or memory grew by more than a tenth.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from pathlib import Path

import httpx

LOG = {"jobs": 3000, "procs": 128, "load": 0.7}
SMALL = "".join(f"{n} {10 * n} 0 {20 + n % 50} {1 + n % 8}\n" for n in range(1, 200)).encode()
BAD_MACHINE = f"[[partitions]]\nname = 'a'\nnodes = '{','.join(['1-1000000'] * 40)}'"
WORKERS = 2
KEPT = 3
"""Items that a client keeps at a time."""
GROWTH = 1.1
EXPECTED = {200, 202, 204, 404, 409, 422}
"""Statuses that are no error: some items are deleted while others ask for them."""


@contextlib.contextmanager
def serving(state: str, workers: int = WORKERS):
    """Start the command; yield its process and its address; stop it."""
    code = "from onega.cli import main; main()"
    more = ["--port", "0", "--no-browser", "--token", "none", "--workers", str(workers)]
    with subprocess.Popen(
        [sys.executable, "-c", code, "serve", *more, "--state", state],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            yield server, server.stdout.readline().strip()
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGINT)
                server.wait(timeout=120)


def workers_of(pid: int) -> list[int]:
    """Processes that a process (any of its threads) has started."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(one) for one in (task / "children").read_text().split()]
    return found


def resident(pid: int) -> float:
    """Megabytes of a process in memory; 0 of one that has gone."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return 0.0


def done(client: httpx.Client, kind: str, answer: httpx.Response, patience: float = 600) -> dict:
    """Wait for an item."""
    answer.raise_for_status()
    item = answer.json()
    until = time.monotonic() + patience
    while item["status"] not in ("done", "failed") and time.monotonic() < until:
        time.sleep(0.2)
        item = client.get(f"/api/{kind}/{item['id']}").json()
    if item["status"] != "done":
        raise SystemExit(f"{kind} {item['name']}: {item['status']}, {item['error']}")
    return item


class Crowd:
    """Clients, what they were answered, and the page's memory meanwhile."""

    def __init__(self, address: str, log: str, run: dict, seconds: float) -> None:
        self.address, self.log, self.run = address, log, run
        self.until = time.monotonic() + seconds
        self.statuses: Counter[str] = Counter()
        self.lock = threading.Lock()

    def look(self, client: httpx.Client, dice: random.Random) -> httpx.Response:
        begin, end = self.run["result"]["begin"], self.run["result"]["end"]
        at = dice.uniform(begin, end)
        span = dice.choice((3600, 86400, end - begin))
        run = self.run["id"]
        path, query = dice.choice(
            (
                (f"/api/runs/{run}/window", {"from": at, "to": at + span, "width": 1000}),
                ("/api/sizing", {"log": self.log, "procs": dice.randint(128, 1000)}),
                ("/", {}),
                (f"/logs/{self.log}", {}),
                ("/api/compare", {"runs": run}),
                ("/api/runs", {}),
                ("/api/storage", {}),
                (f"/api/runs/{run}/download", {"table": dice.choice(("jobs", "system", "swf"))}),
                (f"/api/logs/{self.log}/download", {"format": dice.choice(("csv", "swf"))}),
                (f"/api/runs/{'0' * 16}", {}),
            )
        )
        return client.get(path, params=query)

    def work(self, client: httpx.Client, dice: random.Random, made: deque[str]) -> httpx.Response:
        """Make something; delete the oldest of what this client made."""
        if len(made) >= KEPT:
            return client.delete(made.popleft())
        chosen = dice.random()
        if chosen < 0.2:
            asked = {"log": self.log, "cluster": BAD_MACHINE}
            return client.post("/api/runs", json=asked)
        if chosen < 0.5:
            kind = "logs"
            answer = client.post("/api/logs", params={"name": "small.swf"}, content=SMALL)
        else:
            kind = "runs"
            asked = {"log": self.log, "policy": dice.choice(("fcfs", "easy", "spf+easy"))}
            answer = client.post("/api/runs", json=asked)
        if answer.status_code == 202:
            made.append(f"/api/{kind}/{answer.json()['id']}")
        return answer

    def rude(self, dice: random.Random) -> None:
        """Open a connection, say half of something, go."""
        port = int(self.address.rstrip("/").rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
            wire.sendall(dice.choice((b"", b"GET /", b"POST /api/logs?name=x HTTP/1.1\r\nHo")))
            time.sleep(dice.uniform(0, 2))

    def one(self, number: int) -> None:
        dice = random.Random(number)
        made: deque[str] = deque()
        with httpx.Client(base_url=self.address, timeout=120) as client:
            while time.monotonic() < self.until:
                try:
                    if number % 10 == 0 and dice.random() < 0.2:
                        answer = self.work(client, dice, made)
                    elif number % 10 == 1 and dice.random() < 0.1:
                        self.rude(dice)
                        continue
                    else:
                        answer = self.look(client, dice)
                    status = str(answer.status_code)
                except (httpx.HTTPError, OSError) as error:
                    status = type(error).__name__
                with self.lock:
                    self.statuses[status] += 1
            for path in made:
                with contextlib.suppress(httpx.HTTPError):
                    client.delete(path)


def settle(server: subprocess.Popen, patience: float = 600) -> None:
    """Wait until the process that compiles in the background has gone: the first of all."""
    first = min(workers_of(server.pid), default=0)
    until = time.monotonic() + patience
    while resident(first) and time.monotonic() < until:
        time.sleep(0.5)
    if resident(first):
        print(f"still compiling after {patience:g} s: that counts as the workers' memory")


def soak(server: subprocess.Popen, address: str, clients: int, seconds: float) -> bool:
    with httpx.Client(base_url=address, timeout=300) as client:
        settle(server)
        log = done(client, "logs", client.post("/api/logs/sample", json=LOG))
        run = done(client, "runs", client.post("/api/runs", json={"log": log["id"]}))
        if hasattr(os, "nice"):
            os.nice(10)  # who asks stands behind the page that is measured
        people = Crowd(address, log["id"], run, seconds)
        threads = [threading.Thread(target=people.one, args=(n,)) for n in range(clients)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        page, whole, when = [], [], []
        while time.monotonic() < people.until:
            time.sleep(min(2.0, seconds / 50))
            page.append(resident(server.pid))
            whole.append(page[-1] + sum(map(resident, workers_of(server.pid))))
            when.append((time.monotonic() - began) / seconds)
        for thread in threads:
            thread.join()
        began = time.monotonic()
        client.get("/").raise_for_status()
        after = time.monotonic() - began
    total = sum(people.statuses.values())
    good = sum(people.statuses[str(status)] for status in EXPECTED)
    print(f"{clients} clients for {seconds / 60:g} min: {total:,} requests, {total - good} errors")
    print(f"  answers {dict(sorted(people.statuses.items()))}; the page right after {after:.2f} s")
    growth = []
    for name, sizes in (("the page", page), ("with its workers", whole)):
        early = statistics.median(s for s, t in zip(sizes, when, strict=True) if 0.2 <= t < 0.4)
        late = statistics.median(s for s, t in zip(sizes, when, strict=True) if t >= 0.8)
        growth.append(late / early)
        print(f"  {name:17} {early:6.0f} MB, then {late:6.0f} MB ({late / early - 1:+.1%}); at most"
              f" {max(sizes):.0f}")  # fmt: skip
    return total == good and max(growth) <= GROWTH


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=50)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as state, serving(state) as (server, address):
        held = soak(server, address, given.clients, 60 * given.minutes)
    print("held" if held else "did not hold")
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
