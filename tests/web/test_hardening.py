"""What a full disk, a kill, a slow machine or a hostile client can do to the page: not much."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import queue
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import httpx
import polars as pl
import pytest

from onega.cli.views.serve import _choose_token
from onega.core import files as core_files
from onega.core.errors import OnegaError, SimulationError
from onega.web import downloads, job_broker, sharing
from onega.web.settings import GIB, MIB, Settings
from onega.web.store import Store
from onega.web.worker import COMPILING, Teller
from onega.web.workers import Task, Workers, _Process

PATIENCE = 60.0


def until(condition):
    """Wait for something that has to come."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


class TestMachines:
    """A described machine is looked at by a process with limits, not by the page's own."""

    @pytest.fixture
    def elsewhere(self, monkeypatch):
        def refuse(*given):
            raise AssertionError("checked in the page's process")

        monkeypatch.setattr(job_broker, "machine_of", refuse)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (f"[[partitions]]\nname = 'a'\nnodes = '{','.join(['1-1000000'] * 40)}'", "40,000,000"),
            ("a." * 9000 + "a = 1", "more than 32 parts"),
            ("[[nodes]]\ncount = 2000000000", "at most 1,000,000 nodes"),
            ("prcs = 4", "prcs"),
            ("x = [", "not a TOML file"),
        ],
    )
    def test_one_that_can_not_be_is_refused_at_once(self, client, log, elsewhere, text, message):
        known = len(client.get("/api/runs").json())
        answer = client.post("/api/runs", json={"log": log["id"], "cluster": text})
        assert answer.status_code == 422
        assert message in answer.json()["error"]
        assert len(client.get("/api/runs").json()) == known

    def test_one_that_is_only_odd_is_taken(self, client, log):
        """Idle processors that draw more than busy ones: a warning, and no refusal."""
        run = client.run(log, power={"busy": [1.0], "idle": [2.0]})
        assert run["result"]["energy"] > 0

    def test_one_that_takes_too_long_is_refused(self, make_client, tmp_path, monkeypatch):
        monkeypatch.setattr(job_broker, "CHECK_SECONDS", 0.001)
        page = make_client(tmp_path)
        made = page.make_log(jobs=100)
        answer = page.post("/api/runs", json={"log": made["id"], "cluster": "procs = 4"})
        assert answer.status_code == 422
        assert "stopped after" in answer.json()["error"]
        assert page.get("/api/health").status_code == 200


@pytest.mark.parametrize("path", ["/static/onega.css", "/plotly.js"])
def test_a_file_without_a_port(tmp_path, path):
    """It used to wait for ever for a client that had no reason to go."""
    code = "from onega.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--state", str(tmp_path), "--get", path]
    done = subprocess.run(command, capture_output=True, timeout=2 * PATIENCE, check=True)
    assert len(done.stdout) > 1000


class TestUploads:
    def bomb(self):
        one = pl.select(pl.lit(1.0).repeat_by(4_000_000).explode().alias("x"))
        out = io.BytesIO()
        names = ("submit", "runtime", "procs")
        one.select(pl.col("x").alias(name) for name in names).write_parquet(out)
        return out.getvalue()

    def test_a_bomb_of_parquet_is_refused(self, client):
        bomb = self.bomb()
        assert len(bomb) < MIB
        item = client.upload(bomb, fails=True, name="bomb.parquet")
        assert "grows more than 200 times when decoded" in item["error"]

    @pytest.mark.parametrize("content", [b"1 2 x\n", b"\x1f\x8b broken", b"PAR1PAR1"])
    def test_one_that_fails_leaves_its_reason_only(self, client, content):
        item = client.upload(content, fails=True)
        folder = client.settings.state / "logs" / item["id"]
        assert [path.name for path in folder.iterdir()] == ["item.json"]
        assert item["size"] == 0

    def test_one_that_is_read_leaves_no_copy(self, client):
        item = client.upload(b"1 0 0 10 1\n2 5 0 10 1\n")
        folder = client.settings.state / "logs" / item["id"]
        assert not list(folder.glob("upload*"))
        assert item["size"] == sum(
            path.stat().st_size for path in folder.rglob("*") if path.name != "item.json"
        )


def no_room(*given, **more):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret/place")


class TestFullDisk:
    @pytest.fixture
    def page(self, make_client, tmp_path):
        return make_client(tmp_path)

    def refused(self, page, answer):
        assert answer.status_code == 507
        said = answer.json()["error"]
        assert "No space left" in said or "is full" in said
        assert "secret" not in said
        assert str(page.settings.state) not in said
        assert page.get("/api/logs").json() == []
        assert list((page.settings.state / "logs").iterdir()) == []

    def test_nothing_is_left_waiting(self, page, monkeypatch):
        monkeypatch.setattr(core_files.os, "fsync", no_room)
        for _ in range(8):
            self.refused(page, page.post("/api/logs/sample", json={"jobs": 100}))

    def test_nor_of_an_upload(self, page, monkeypatch):
        monkeypatch.setattr("onega.web.api.anyio.open_file", no_room)
        self.refused(page, page.post("/api/logs", params={"name": "x"}, content=b"1 0 0 1 1\n"))

    def test_a_result_that_can_not_be_noted_is_there_all_the_same(self, tmp_path, monkeypatch):
        """And the folder still says that it is to be made, for the next start."""
        kept = Store(tmp_path)
        item = kept.create("runs", "a", {}, task="simulate")
        monkeypatch.setattr(core_files.os, "fsync", no_room)
        kept.finish(item, status="done", result={"jobs": 1})
        assert kept.get("runs", item.id).status == "done"
        kept.close()
        assert Store(tmp_path, writing=False).get("runs", item.id).status == "waiting"


class TestRoom:
    def test_nothing_new_is_taken_when_all_is_used_and_the_oldest_are_offered(
        self, make_client, tmp_path
    ):
        page = make_client(tmp_path, store=400_000)
        made = [page.make_log(jobs=100, seed=seed, name=f"log {seed}") for seed in range(4)]
        answer = page.post("/api/logs/sample", json={"jobs": 100})
        while answer.status_code == 202:
            made.append(page.wait("logs", answer))
            answer = page.post("/api/logs/sample", json={"jobs": 100})
        assert answer.status_code == 507
        assert "/storage" in answer.json()["error"]
        upload = page.post("/api/logs", params={"name": "x"}, content=b"1 0 0 1 1\n")
        assert upload.status_code == 507
        told = page.get("/api/storage").json()
        assert told["most"] == 400_000
        assert told["used"] == sum(item["size"] for item in made)
        assert [one["name"] for one in told["oldest"]] == [item["name"] for item in made]
        shown = page.get("/storage").text
        assert told["oldest"][0]["path"] in shown
        assert 'href="/storage"' in page.get("/").text
        for one in told["oldest"][:2]:
            assert page.delete(one["path"]).status_code == 204
        assert page.make_log(jobs=100)["status"] == "done"

    def test_an_upload_counts_before_it_is_there(self, make_client, tmp_path):
        page = make_client(tmp_path, store=1000)
        answer = page.post("/api/logs", params={"name": "x"}, content=b"1 0 0 1 1\n" * 1000)
        assert answer.status_code == 507
        assert list((tmp_path / "logs").iterdir()) == []


class TestConnections:
    def connect(self, page):
        return socket.create_connection(("127.0.0.1", page.base_url.port), timeout=PATIENCE)

    def open(self, page):
        return page.server.server_state.connections

    def closes(self, wire):
        """Read until the other side has gone; True where it did so by force."""
        try:
            while wire.recv(1 << 16):
                pass
        except ConnectionResetError:
            return True
        return False

    def test_those_that_say_nothing_are_closed(self, make_client, tmp_path):
        page = make_client(tmp_path, header=0.3, connections=30)
        with contextlib.ExitStack() as wires:
            idle = [wires.enter_context(self.connect(page)) for _ in range(100)]
            for wire in idle:
                self.closes(wire)
            assert page.get("/api/health").status_code == 200

    def test_there_are_so_many_at_most(self, make_client, tmp_path):
        page = make_client(tmp_path, connections=5)
        page.close()  # its own kept one
        until(lambda: not self.open(page))
        with contextlib.ExitStack() as wires:
            idle = [wires.enter_context(self.connect(page)) for _ in range(5)]
            until(lambda: len(self.open(page)) == 5)
            head = "POST /api/logs?name=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
            for silent in idle:  # whoever asks takes the place of the one that was silent longest
                wires.enter_context(self.connect(page)).sendall(head.encode())
                self.closes(silent)
            until(lambda: len(page.app.state.broker.store.list("logs")) == 5)
            with self.connect(page) as wire:  # now everybody asks for something
                assert wire.recv(100).startswith(b"HTTP/1.1 503")
        until(lambda: not self.open(page))
        assert httpx.get(f"{page.address}/api/health").status_code == 200

    @pytest.mark.parametrize("start", [b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: "])
    def test_a_head_has_to_come_whole(self, make_client, tmp_path, start):
        page = make_client(tmp_path, header=0.3)
        whole = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for before in (b"", whole):
            with self.connect(page) as wire:
                if before:
                    wire.sendall(before)
                    assert b"200 OK" in wire.recv(4096)
                wire.sendall(start)
                self.closes(wire)

    def test_a_body_has_to_go_on(self, make_client, tmp_path):
        page = make_client(tmp_path, stall=0.3)
        head = "POST /api/logs?name=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n"
        with self.connect(page) as wire:
            wire.sendall(head.encode() + b"1 2 3\n")
            self.closes(wire)
        until(lambda: page.get("/api/logs").json() == [])
        until(lambda: list((tmp_path / "logs").iterdir()) == [])

    def test_an_answer_has_to_be_taken(self, make_client, tmp_path):
        page = make_client(tmp_path, stall=0.3)
        with self.connect(page) as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.sendall(b"GET /plotly.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: len(self.open(page)) == 1)
            until(lambda: not self.open(page))

    def test_a_slow_but_steady_client_is_served(self, make_client, tmp_path):
        page = make_client(tmp_path, header=0.5, stall=0.5)
        body = b"1 0 0 10 1\n2 5 0 10 1\n"

        def slowly():
            for begin in range(0, len(body), 4):
                time.sleep(0.2)
                yield body[begin : begin + 4]

        assert page.upload(slowly())["result"]["jobs"] == 2


class TestDownloads:
    def test_a_table_comes_in_pieces(self, tmp_path, monkeypatch):
        monkeypatch.setattr(downloads, "ROWS", 100)
        table = pl.DataFrame({"a": range(1050), "b": ["x,y", None, 'z"'] * 350})
        table.write_parquet(tmp_path / "x.parquet", row_group_size=64)
        pieces = list(downloads._csv(tmp_path / "x.parquet"))
        assert len(pieces) == 11
        assert b"".join(pieces) == table.write_csv().encode()

    def test_an_empty_table_has_its_head(self, tmp_path):
        pl.DataFrame({"a": [], "b": []}).write_parquet(tmp_path / "x.parquet")
        assert b"".join(downloads._csv(tmp_path / "x.parquet")) == b"a,b\n"

    @pytest.mark.parametrize("query", [{"table": "jobs"}, {"table": "system"}, {"table": "swf"}])
    def test_no_answer_is_made_whole_first(self, client, runs, query):
        answer = client.get(f"/api/runs/{runs[0]['id']}/download", params=query)
        assert answer.headers["transfer-encoding"] == "chunked"
        assert len(answer.content) > 1000

    def test_what_was_deleted_meanwhile_is_not_found(self, make_client, tmp_path):
        page = make_client(tmp_path)
        run = page.run(page.make_log(jobs=100))
        for path in (tmp_path / "runs" / run["id"]).glob("*.parquet"):
            path.unlink()
        answer = page.get(f"/api/runs/{run['id']}/window")
        assert answer.status_code == 404
        assert str(tmp_path) not in answer.text


def test_a_log_of_many_widths_is_not_carried_along(client):
    lines = "".join(f"{n} {n} 0 10 {n}\n" for n in range(1, 3001))
    item = client.upload(lines.encode(), procs=4000)
    kept = client.app.state.broker.store.get("logs", item["id"])
    assert len(json.dumps(dict(kept.result["law"]))) < 2000
    sized = client.get("/api/sizing", params={"log": item["id"], "procs": 4000}).json()
    assert sized["summary"]["procs"] == 4000


class TestToken:
    @pytest.fixture
    def alone(self, monkeypatch):
        for name in sharing.ELSEWHERE:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(sharing, "_with_accounts", lambda: iter(()))
        monkeypatch.setattr(sharing, "_with_processes", lambda: iter(()))

    def test_none_where_nobody_else_is(self, alone):
        assert sharing.why_shared() is None
        assert _choose_token(None, local=True) == (None, None)

    def test_one_where_others_are(self, alone, monkeypatch):
        monkeypatch.setattr(sharing, "_with_processes", lambda: iter(["anna", "boris"]))
        token, why = _choose_token(None, local=True)
        assert len(token) >= 24
        assert why == "others use this machine too (anna, boris)"
        assert _choose_token("none", local=True) == (None, None)
        assert _choose_token("my-own-token", local=True) == ("my-own-token", None)

    @pytest.mark.parametrize("name", sharing.ELSEWHERE)
    def test_one_in_a_session_from_elsewhere(self, alone, monkeypatch, name):
        monkeypatch.setenv(name, "1")
        assert _choose_token(None, local=True)[0] is not None

    def test_always_one_for_other_machines(self, alone):
        assert _choose_token(None, local=False)[0] is not None
        with pytest.raises(OnegaError, match="needs a token"):
            _choose_token("none", local=False)

    def test_people_are_told_from_the_system(self):
        entry = type("Entry", (), {"pw_uid": 10**6, "pw_shell": "/bin/bash"})
        assert sharing._is_other_person(entry)
        assert not sharing._is_other_person(type("Service", (entry,), {"pw_uid": 33}))
        assert not sharing._is_other_person(
            type("Service", (entry,), {"pw_shell": "/usr/sbin/nologin"})
        )
        assert not sharing._is_other_person(type("Me", (entry,), {"pw_uid": os.getuid()}))


class TestState:
    def mode(self, path):
        return stat.S_IMODE(path.stat().st_mode)

    def test_an_open_folder_is_closed(self, tmp_path):
        state = tmp_path / "state"
        (state / "logs").mkdir(parents=True)
        for folder in (state, state / "logs"):
            folder.chmod(0o777)
        Store(state).close()
        assert self.mode(state) == self.mode(state / "logs") == 0o700

    def test_one_with_other_things_in_it_is_not_ours_to_close(self, tmp_path):
        tmp_path.chmod(0o755)
        (tmp_path / "thesis.tex").touch()
        Store(tmp_path).close()
        assert self.mode(tmp_path) == 0o755
        assert self.mode(tmp_path / "logs") == 0o700


class TestRestart:
    def waiting(self, state, kind, task, request):
        kept = Store(state)
        item = kept.create(kind, "left", request, task=task)
        kept.close()
        return item

    def test_what_was_under_way_goes_on(self, make_client, tmp_path):
        first = make_client(tmp_path)
        made = first.make_log(jobs=100)
        policies = ("fcfs", "easy", "spf+easy", "conservative")
        asked = [
            first.post("/api/runs", json={"log": made["id"], "policy": policy}).json()["id"]
            for policy in policies
        ]
        first.stop()
        again = make_client(tmp_path)
        for id, policy in zip(asked, policies, strict=True):
            until(lambda id=id: again.get(f"/api/runs/{id}").json()["status"] == "done")
            found = again.get(f"/api/runs/{id}").json()["result"]
            expected = again.run(made, policy)["result"]
            assert found["mean_wait"] == expected["mean_wait"]

    def test_an_upload_that_came_in_is_read(self, make_client, tmp_path):
        item = self.waiting(tmp_path, "logs", "read", {"procs": None, "format": "swf"})
        (tmp_path / "logs" / item.id / "upload").write_bytes(b"1 0 0 10 1\n")
        page = make_client(tmp_path)
        until(lambda: page.get(f"/api/logs/{item.id}").json()["status"] == "done")

    def test_one_that_did_not_goes(self, make_client, tmp_path):
        item = self.waiting(tmp_path, "logs", "read", {})
        (tmp_path / "logs" / item.id / "upload.part").write_bytes(b"1 0 0 10 1\n")
        page = make_client(tmp_path)
        assert page.get("/api/logs").json() == []
        assert list((tmp_path / "logs").iterdir()) == []

    def test_what_can_not_go_on_says_so(self, make_client, tmp_path):
        gone = self.waiting(tmp_path, "runs", "simulate", {"log": "0" * 16})
        old = self.waiting(tmp_path, "plans", "", {})
        page = make_client(tmp_path)
        found = page.get(f"/api/runs/{gone.id}").json()
        assert (found["status"], "there is no log" in found["error"]) == ("failed", True)
        assert page.get(f"/api/plans/{old.id}").json()["status"] == "failed"


class TestWorkers:
    def children(self, pid):
        found = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(one) for one in file.read().split()]
        return found

    def alive(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    @pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="needs Linux's /proc")
    def test_they_end_with_a_page_that_is_killed(self, tmp_path):
        code = "from onega.cli import main; main()"
        more = ["--port", "0", "--no-browser", "--token", "none", "--state", str(tmp_path)]
        with subprocess.Popen(
            [sys.executable, "-c", code, "serve", *more], stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                address = server.stdout.readline().strip()
                asked = {"jobs": 1_000_000, "procs": 64}
                item = httpx.post(f"{address}api/logs/sample", json=asked, timeout=PATIENCE).json()
                path = f"{address}api/logs/{item['id']}"
                until(lambda: httpx.get(path, timeout=PATIENCE).json()["status"] == "running")
                workers = self.children(server.pid)
                assert workers
            finally:
                server.send_signal(signal.SIGKILL)
        until(lambda: not any(self.alive(pid) for pid in workers))

    def process(self, **limits):
        """A worker's other end, with words put into its ear."""
        made = object.__new__(_Process)
        made.settings = Settings(state=None, **limits)
        made.tasks_left, made.broken, made.heard = 1, False, queue.Queue()
        made.process = type("Fake", (), {"stdin": io.BytesIO()})
        return made

    def hear(self, process, *words, pause):
        for one in words:
            process.heard.put(json.dumps(one).encode())
            time.sleep(pause)

    def test_the_compilers_time_is_not_the_tasks(self):
        process = self.process(seconds=0.4)
        told = []
        said = ({"compiling": True, "stage": COMPILING}, {"compiling": False}, {"result": {}})
        speaker = threading.Thread(target=self.hear, args=(process, *said), kwargs={"pause": 0.8})
        process.heard.put(json.dumps({"progress": 0.1, "stage": "x"}).encode())
        speaker.start()
        process.run(Task("simulate", None, {}, told.append), threading.Event())
        speaker.join()
        # After the compiler's end 0.8 s passed, twice the limit: stopped there, and not before.
        assert {"compiling": False} in told
        assert "stopped after" in told[-1]["error"]

    def test_a_task_that_compiles_for_longer_than_its_limit_is_done(self):
        process = self.process(seconds=0.4)
        told = []
        process.heard.put(json.dumps({"compiling": True}).encode())

        def end():
            time.sleep(1.0)
            self.hear(process, {"compiling": False}, {"result": {}}, pause=0)

        speaker = threading.Thread(target=end)
        speaker.start()
        process.run(Task("simulate", None, {}, told.append), threading.Event())
        speaker.join()
        assert told[-1] == {"result": {}}

    def test_the_compiler_has_a_limit_of_its_own(self):
        process = self.process(compiling=0.3)
        process.heard.put(json.dumps({"compiling": True}).encode())
        told = []
        process.run(Task("simulate", None, {}, told.append), threading.Event())
        assert "stopped after" in told[-1]["error"]

    def test_a_worker_tells_when_it_compiles_and_goes_on_where_it_was(self):
        out = io.StringIO()
        tell = Teller(out)
        tell(0.1, "simulating")
        tell.compiling()
        tell.compiling()  # a function that the first one calls
        tell.compiled()
        tell.compiled()
        assert [json.loads(line) for line in out.getvalue().splitlines()] == [
            {"progress": 0.1, "stage": "simulating"},
            {"compiling": True, "stage": COMPILING},
            {"compiling": False, "stage": "simulating"},
        ]

    def test_a_task_that_can_not_be_followed_leaves_nothing_to_the_next(self, tmp_path):
        workers = Workers(Settings(state=tmp_path, workers=1))
        heard = queue.SimpleQueue()

        def refuse(message):
            if message.get("stage") == "drawing jobs":
                raise OSError(errno.ENOSPC, "no room")
            heard.put(message)

        asked = {"model": "lublin", "seed": 1, "name": "x"}
        workers.submit(Task("sample", tmp_path, {**asked, "jobs": 100}, refuse))
        workers.submit(Task("sample", tmp_path, {**asked, "jobs": 50}, heard.put))
        ends = []
        while len(ends) < 2:
            message = heard.get(timeout=PATIENCE)
            ends += [message] if message.keys() & {"result", "error"} else []
        workers.close()
        assert ends[0] == {"error": "this can't be done now: no room"}
        assert ends[1]["result"]["jobs"] == 50

    def test_nobody_waits_for_the_warming_up(self, make_client, tmp_path):
        page = make_client(tmp_path)
        page.app.state.broker.warm_up()
        assert page.app.state.broker.workers.waiting == 0
        assert page.make_log(jobs=100)["status"] == "done"


def test_limits_are_given_in_the_answer_about_them(client):
    assert client.get("/api/options").json()["limits"]["store"] == 20 * GIB


def test_a_machine_without_a_text_is_checked_here(tmp_path):
    at = job_broker.JobBroker(Settings(state=tmp_path / "none"), writing=False)
    at.check_machine({"procs": 4}, None)
    with pytest.raises(SimulationError, match="give procs"):
        at.check_machine({}, None)
