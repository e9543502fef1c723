"""A real Dask scheduler with workers in processes of their own, on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOST = "127.0.0.1"
START = 180.0
"""Seconds that everything may take to start: machines that run tests are busy."""


class DaskCluster:
    """Scheduler and workers; ended by their own process ids."""

    def __init__(self, folder: Path, path: list[str]) -> None:
        self.folder = folder
        self._environment = dict(os.environ)
        given = [*path, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._environment["PYTHONPATH"] = os.pathsep.join(given)
        self._file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen] = []
        self.workers: list[subprocess.Popen] = []
        self._start(
            "scheduler", "--host", HOST, "--port", "0", "--no-dashboard", "--no-show",
            "--scheduler-file", str(self._file),
        )  # fmt: skip
        self._wait_for(self._file.exists)
        self.address = json.loads(self._file.read_text())["address"]

    def add_worker(self) -> subprocess.Popen:
        count = len(self.workers)
        worker = self._start(
            "worker", self.address, "--host", HOST, "--nthreads", "1", "--no-nanny",
            "--no-dashboard", "--name", f"worker-{count}",
            "--local-directory", str(self.folder / f"worker-{count}"),
        )  # fmt: skip
        self.workers.append(worker)
        return worker

    def wait_for_workers(self, count: int) -> None:
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=START)

    def _start(self, *words: str) -> subprocess.Popen:
        log = (self.folder / f"dask-{len(self.processes)}.log").open("w")
        with log:
            started = subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                stdout=log, stderr=log, env=self._environment,
            )  # fmt: skip
        self.processes.append(started)
        return started

    def _wait_for(self, condition) -> None:
        deadline = time.monotonic() + START
        while not condition():
            assert time.monotonic() < deadline, "Dask's scheduler didn't start"
            time.sleep(0.05)

    def stop(self) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        for process in self.processes:
            process.wait()


@contextlib.contextmanager
def dask_cluster(folder: Path, workers: int = 2, path: list[str] | None = None):
    """Start a cluster and end it; skips where Dask isn't installed."""
    pytest.importorskip("distributed")
    cluster = DaskCluster(folder, path or [])
    try:
        for _ in range(workers):
            cluster.add_worker()
        if workers:
            cluster.wait_for_workers(workers)
        yield cluster
    finally:
        cluster.stop()
