"""The page killed again and again in the middle of its work: nothing lost, equal results.

    python bench/kill_page.py [--kills N] [--seed S]

Each round starts `onega serve` over the same folder on a free loopback port, orders some work, and
ends the server with SIGKILL at a random moment, sometimes while it is being asked. At the end it is
started once more and left alone. Everything that was ever accepted (status 202) must be there and
done, with the numbers and the table of jobs that the same order has without a kill; no worker may
outlive its server. Leaves with code 1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import sys
import tempfile
import threading
import time

import httpx
import polars as pl
from soak_page import SMALL, done, resident, serving, workers_of

POLICIES = ("fcfs", "easy", "spf+easy", "lcfs-pr", "saf+easy")
LOG = {"jobs": 20_000, "procs": 64, "load": 0.8, "seed": 7}
PATIENCE = 900.0


def orders(log: str, dice: random.Random) -> list[tuple[str, str, dict]]:
    """Work of a round: what kind, where to order it, with which request."""
    runs = [
        ("runs", f"run {policy}", {"json": {"log": log, "policy": policy, "name": f"run {policy}"}})
        for policy in dice.sample(POLICIES, 2)
    ]
    upload = ("logs", "upload", {"params": {"name": "upload"}, "content": SMALL})
    fit = ("models", "fit", {"json": {"log": log, "model": "lublin", "name": "fit"}})
    sample = {"jobs": 3000, "procs": 32, "seed": 5, "name": "sample"}
    drawn = ("logs/sample", "sample", {"json": sample})
    return dice.sample([*runs, upload, fit, drawn], 3)


def order(client: httpx.Client, where: str, request: dict) -> dict | None:
    """Order something; None if the server went before it answered."""
    try:
        answer = client.post(f"/api/{where}", **request)
        answer.raise_for_status()
        return answer.json()
    except httpx.TransportError:
        return None


def outcome(client: httpx.Client, kind: str, item: dict) -> tuple:
    """What a piece of work gave: its numbers and its table."""
    result = item["result"]
    if kind == "models":
        return (client.get(f"/api/models/{item['id']}/download").text,)
    answer = client.get(f"/api/{kind}/{item['id']}/download", params={"format": "parquet"})
    table = pl.read_parquet(io.BytesIO(answer.raise_for_status().content))
    numbers = {k: v for k, v in result.items() if isinstance(v, int | float | str)}
    return numbers, table.write_csv()


def expected(state: str) -> tuple[str, dict[str, tuple]]:
    """Do everything once, undisturbed; return the log and the outcomes by name."""
    with serving(state) as (_, address), httpx.Client(base_url=address, timeout=300) as client:
        log = done(client, "logs", client.post("/api/logs/sample", json=LOG))["id"]
        found = {}
        for seed in range(40):
            for where, name, request in orders(log, random.Random(seed)):
                if name not in found:
                    kind = where.split("/")[0]
                    item = done(client, kind, client.post(f"/api/{where}", **request))
                    found[name] = outcome(client, kind, item)
    return log, found


def killed_round(state: str, log: str, dice: random.Random) -> tuple[list[tuple[str, str]], bool]:
    """Order, kill; return what was accepted, and whether all workers went."""
    accepted = []
    with serving(state) as (server, address):
        # Sometimes before the page is asked, sometimes while it is, mostly while it works.
        timer = threading.Timer(dice.uniform(0.0, dice.choice((0.3, 3.0, 8.0))), server.kill)
        with httpx.Client(base_url=address, timeout=60) as client:
            timer.start()
            for where, _, request in orders(log, dice):
                item = order(client, where, request)
                if item is None:
                    break
                accepted.append((where.split("/")[0], item["id"]))
            workers = workers_of(server.pid)
            while server.poll() is None:
                workers = workers_of(server.pid) or workers
                time.sleep(0.02)
        timer.join()
    until = time.monotonic() + 60
    while any(resident(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.05)
    return accepted, not any(resident(pid) for pid in workers)


def settled(client: httpx.Client, kind: str, id: str) -> dict | None:
    """Wait for an item; None if it isn't there."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        answer = client.get(f"/api/{kind}/{id}")
        if answer.status_code == 404:
            return None
        if answer.json()["status"] in ("done", "failed"):
            return answer.json()
        time.sleep(0.1)
    raise SystemExit(f"{kind} {id} isn't done after {PATIENCE:g} s")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    dice = random.Random(given.seed)
    accepted, left = [], 0
    lost = failed = different = 0
    with tempfile.TemporaryDirectory() as state:
        log, right = expected(state)
        for number in range(given.kills):
            new, gone = killed_round(state, log, dice)
            accepted += new
            left += not gone
            if (number + 1) % 10 == 0:
                print(f"{number + 1} kills, {len(accepted)} orders accepted", flush=True)
        with serving(state) as (_, address), httpx.Client(base_url=address, timeout=300) as client:
            for kind, id in accepted:
                item = settled(client, kind, id)
                if item is None:
                    lost += 1
                elif item["status"] == "failed":
                    failed += 1
                    print(f"  {item['name']}: {item['error']}")
                else:
                    different += outcome(client, kind, item) != right[item["name"]]
    print(f"{given.kills} kills of the page: {len(accepted)} orders accepted, {lost} lost,")
    print(f"{failed} failed, {different} with other results; {left} times a worker stayed")
    sys.exit(1 if lost or failed or different or left else 0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
