"""The page: many clients at once, first paint, windows of a large schedule, refusals.

    python bench/web.py [--seconds S] [--clients N]

Starts `onega serve` on a free loopback port with a state folder of its own. A paint is measured in
a headless Chromium, where there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

import httpx

MB = 1 << 20
LOG = {"jobs": 2000, "procs": 128, "load": 0.7}


@contextlib.contextmanager
def page():
    """Start the command; yield its address."""
    with tempfile.TemporaryDirectory() as state:
        code = "from onega.cli import main; main()"
        command = [sys.executable, "-c", code, "serve", "--port", "0", "--no-browser"]
        began = time.perf_counter()
        with subprocess.Popen(
            [*command, "--token", "none", "--state", state],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            try:
                address = server.stdout.readline().strip()
                print(f"the page answers after      {time.perf_counter() - began:8.2f} s")
                yield address
            finally:
                server.send_signal(signal.SIGINT)
                server.wait(timeout=60)


def wait(client: httpx.Client, kind: str, answer: httpx.Response) -> dict:
    answer.raise_for_status()
    item = answer.json()
    while item["status"] not in ("done", "failed"):
        time.sleep(0.05)
        item = client.get(f"/api/{kind}/{item['id']}").json()
    if item["status"] == "failed":
        raise SystemExit(f"failed: {item['error']}")
    return item


class Crowd:
    """Clients that look, compare, size, and now and then simulate."""

    def __init__(self, address: str, log: str, run: dict, seconds: float) -> None:
        self.address, self.log, self.run, self.seconds = address, log, run, seconds
        self.taken: dict[str, list[float]] = {}
        self.statuses: Counter[int | str] = Counter()
        self.lock = threading.Lock()

    def requests(self, dice: random.Random) -> tuple[str, str, dict]:
        begin, end = self.run["result"]["begin"], self.run["result"]["end"]
        at = dice.uniform(begin, end)
        query = {"from": at, "to": at + dice.choice((3600, 86400, 30 * 86400)), "width": 1000}
        chosen = dice.random()
        if chosen < 0.35:
            return "window", f"/api/runs/{self.run['id']}/window", query
        if chosen < 0.55:
            return "sizing", "/api/sizing", {"log": self.log, "procs": dice.randint(128, 1000)}
        if chosen < 0.7:
            return "page", "/", {}
        if chosen < 0.8:
            return "page", f"/logs/{self.log}", {}
        if chosen < 0.9:
            return "compare", "/api/compare", {"runs": self.run["id"]}
        return "list", "/api/runs", {}

    def one(self, number: int) -> None:
        dice = random.Random(number)
        until = time.perf_counter() + self.seconds
        with httpx.Client(base_url=self.address, timeout=60) as client:
            while time.perf_counter() < until:
                began = time.perf_counter()
                try:
                    if number % 10 == 0 and dice.random() < 0.05:
                        what = "simulate"
                        asked = {
                            "log": self.log,
                            "policy": dice.choice(("fcfs", "easy", "spf+easy")),
                        }
                        status = client.post("/api/runs", json=asked).status_code
                    else:
                        what, path, query = self.requests(dice)
                        status = client.get(path, params=query).status_code
                except httpx.HTTPError as error:
                    what, status = "broken", type(error).__name__
                with self.lock:
                    self.statuses[status] += 1
                    self.taken.setdefault(what, []).append(time.perf_counter() - began)

    def meet(self, clients: int) -> None:
        threads = [threading.Thread(target=self.one, args=(n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def crowd(address: str, clients: int, seconds: float) -> None:
    with httpx.Client(base_url=address, timeout=300) as client:
        log = wait(client, "logs", client.post("/api/logs/sample", json=LOG))
        run = wait(client, "runs", client.post("/api/runs", json={"log": log["id"]}))
        people = Crowd(address, log["id"], run, seconds)
        people.meet(clients)
        total = sum(people.statuses.values())
        good = people.statuses[200] + people.statuses[202]
        print(f"{clients} clients for {seconds:g} s: {total:,} requests, {total - good} errors,")
        print(f"  statuses {dict(people.statuses)}")
        for what, taken in sorted(people.taken.items()):
            p95 = sorted(taken)[int(0.95 * len(taken))]
            print(f"  {what:10} {len(taken):6,} ×  median {1000 * statistics.median(taken):7.0f} ms"
                  f"  95 % {1000 * p95:7.0f} ms")  # fmt: skip
        began = time.perf_counter()
        client.get("/").raise_for_status()
        print(f"the page right after        {1000 * (time.perf_counter() - began):8.0f} ms")


def large_schedule(address: str, jobs: int) -> None:
    """Windows of a schedule of many jobs over about two years, from all of it to an hour."""
    with httpx.Client(base_url=address, timeout=600) as client:
        asked = {"jobs": jobs, "procs": 512, "load": 0.8}
        began = time.perf_counter()
        log = wait(client, "logs", client.post("/api/logs/sample", json=asked))
        print(f"{jobs:,} jobs drawn and described   {time.perf_counter() - began:6.1f} s")
        began = time.perf_counter()
        run = wait(client, "runs", client.post("/api/runs", json={"log": log["id"]}))
        print(f"  simulated, measured, placed {time.perf_counter() - began:6.1f} s")
        begin, end = run["result"]["begin"], run["result"]["end"]
        middle = (begin + end) / 2
        for length in (end - begin, (end - begin) / 5, 30 * 86400, 7 * 86400, 86400, 3600):
            query = {
                "from": middle - length / 2,
                "to": middle + length / 2,
                "width": 1200,
                "rows": 120,
            }
            taken = []
            for _ in range(5):
                began = time.perf_counter()
                answer = client.get(f"/api/runs/{run['id']}/window", params=query)
                taken.append(time.perf_counter() - began)
            found = answer.json()
            print(f"  {length / 86400:7.2f} d: {found['jobs']:8,} jobs as {found['kind']:5}"
                  f"  median {1000 * statistics.median(taken):6.0f} ms"
                  f"  {len(answer.content) / 1024:6.0f} KiB")  # fmt: skip


def refusals(address: str) -> None:
    port = int(address.rstrip("/").rsplit(":", 1)[1])
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port)) as wire:
        head = "POST /api/logs?name=x HTTP/1.1\r\nHost: localhost\r\n"
        wire.sendall(f"{head}Content-Length: {500 * MB}\r\n\r\n".encode())
        first = wire.recv(100).decode().splitlines()[0]
    print(f"500 MB announced: {first!r} in {1000 * (time.perf_counter() - began):.0f} ms")
    bomb = b"".join(gzip.compress(b"1 0 0 10 1\n" * 10 * MB, 9) for _ in range(10))
    with httpx.Client(base_url=address, timeout=60) as client:
        began = time.perf_counter()
        item = client.post("/api/logs", params={"name": "bomb.swf.gz"}, content=bomb).json()
        while item["status"] not in ("done", "failed"):
            time.sleep(0.02)
            item = client.get(f"/api/logs/{item['id']}").json()
        print(f"a gzip of {len(bomb) / MB:.1f} MB that holds 1.1 GB: {item['status']} in "
              f"{time.perf_counter() - began:.2f} s ({item['error']})")  # fmt: skip


def _paint(driver, address: str) -> tuple[float, float]:
    """Open a page without its cache; milliseconds to its first and largest paint."""
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    driver.get(address)
    largest = driver.execute_async_script(
        "const done = arguments[0]; new PerformanceObserver((list) => {"
        "const last = list.getEntries().at(-1); if (last) done(last.startTime);})"
        ".observe({type: 'largest-contentful-paint', buffered: true});"
    )
    return driver.execute_script(
        "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
    ), largest


def paint(address: str) -> None:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        print("first paint: no Chromium with its driver here")
        return
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    with tempfile.TemporaryDirectory() as profile:
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--disable-background-networking", f"--user-data-dir={profile}"):  # fmt: skip
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(chromedriver))
        try:
            driver.get("about:blank")
            for path in ("", "", "runs", "sizing"):
                taken = [_paint(driver, f"{address}{path}") for _ in range(5)]
                first, largest = (statistics.median(part) for part in zip(*taken, strict=True))
                print(f"/{path:7} first contentful paint {first:5.0f} ms, largest {largest:5.0f} ms"
                      f"  (of 5; slowest {max(max(one) for one in taken):.0f})")  # fmt: skip
        finally:
            driver.quit()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=300_000)
    given = parser.parse_args(arguments if arguments is not None else [])
    with page() as address:
        refusals(address)
        paint(address)
        large_schedule(address, given.jobs)
        crowd(address, given.clients, given.seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
