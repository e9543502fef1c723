"""The page on a loopback port, in a thread of this process; a log with runs to look at."""

from __future__ import annotations

import threading
import time

import httpx
import pytest
import uvicorn

from onega.web.app import make_app
from onega.web.server import configure, listen
from onega.web.settings import Settings

PATIENCE = 120.0
"""Seconds; the first task compiles on a machine that may have other things to do."""


class Client(httpx.Client):
    """A page and a client of it that can wait for what it ordered."""

    def __init__(self, settings):
        self.settings = settings
        self.app = make_app(settings)
        opened = listen("127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{opened.getsockname()[1]}"
        super().__init__(base_url=self.address, timeout=PATIENCE)
        self.server = uvicorn.Server(configure(self.app, settings))
        self.thread = threading.Thread(target=self.server.run, args=([opened],), daemon=True)
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.01)

    def stop(self):
        self.close()
        self.server.should_exit = True
        self.thread.join(timeout=20)
        assert not self.thread.is_alive()

    def wait(self, kind, answer, *, fails=False):
        assert answer.status_code == 202, answer.text
        item = answer.json()
        until = time.monotonic() + PATIENCE
        while item["status"] not in ("done", "failed"):
            assert time.monotonic() < until, item
            time.sleep(0.05)
            item = self.get(f"/api/{kind}/{item['id']}").json()
        assert item["status"] == ("failed" if fails else "done"), item["error"]
        return item

    def make_log(self, jobs=300, procs=64, **more):
        given = {"jobs": jobs, "procs": procs, "load": 0.8, "seed": 3, **more}
        return self.wait("logs", self.post("/api/logs/sample", json=given))

    def upload(self, content, *, fails=False, **query):
        answer = self.post("/api/logs", params={"name": "log", **query}, content=content)
        return self.wait("logs", answer, fails=fails)

    def run(self, log, policy="easy", **more):
        answer = self.post("/api/runs", json={"log": log["id"], "policy": policy, **more})
        return self.wait("runs", answer)


@pytest.fixture(scope="session")
def make_client():
    """A function that starts a page over a state folder; all are stopped at the end."""
    opened = []

    def make(state, **changes):
        client = Client(Settings(state=state, workers=1, **changes))
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.stop()


@pytest.fixture(scope="session")
def client(make_client, tmp_path_factory):
    """One page for all tests that only look."""
    return make_client(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def log(client):
    """A log of 300 jobs on 64 processors."""
    return client.make_log()


@pytest.fixture(scope="session")
def runs(client, log):
    """FCFS and EASY on it."""
    return [client.run(log, "fcfs"), client.run(log, "easy")]
