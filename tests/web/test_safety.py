"""Who may ask what, how much a request may cost, and that one bad upload doesn't matter."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import socket
import time
from functools import partial

import httpx
import numpy as np
import polars as pl
import pytest

from onega.web.guard import HEADERS, JSON_BODY, Guard
from onega.web.settings import LOOPBACK, MIB, Settings
from onega.web.store import MissingError, Store

TOKEN = "a-token-of-our-own"


def post(client, path="/api/logs/sample", **headers):
    return client.post(path, content=b"{", headers={"content-type": "application/json", **headers})


@pytest.fixture(scope="module")
def guarded(make_client, tmp_path_factory):
    """A page that wants a token."""
    return make_client(tmp_path_factory.mktemp("guarded"), token=TOKEN, hosts=None)


class TestHosts:
    @pytest.mark.parametrize("host", ["localhost", "127.0.0.1:99", "[::1]:8642", "LOCALHOST:1"])
    def test_this_machine_by_its_names(self, client, host):
        assert client.get("/api/health", headers={"host": host}).status_code == 200

    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "", "[::1", "10.0.0.1"]
    )
    def test_a_name_that_was_bent_to_this_machine_is_refused(self, client, host):
        """DNS rebinding: another site's name that resolves to loopback."""
        answer = client.get("/api/health", headers={"host": host})
        assert answer.status_code in (400, 403)


class TestOrigins:
    def test_a_request_from_no_page_is_taken(self, client):
        assert post(client).status_code == 422  # read, and found to be no JSON

    def test_a_request_from_this_page_is_taken(self, client):
        assert post(client, origin=client.address).status_code == 422
        assert post(client, **{"sec-fetch-site": "same-origin"}).status_code == 422

    @pytest.mark.parametrize(
        "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://["]
    )
    def test_a_request_from_another_page_is_refused(self, client, origin):
        answer = post(client, origin=origin)
        assert answer.status_code == 403
        assert "another site" in answer.json()["error"]

    @pytest.mark.parametrize("site", ["cross-site", "same-site"])
    def test_a_browser_that_says_so_is_believed(self, client, site):
        assert post(client, **{"sec-fetch-site": site}).status_code == 403

    def test_deleting_is_changing(self, client, log):
        headers = {"origin": "http://evil.example"}
        assert client.delete(f"/api/logs/{log['id']}", headers=headers).status_code == 403
        assert client.get(f"/api/logs/{log['id']}").status_code == 200

    def test_no_other_site_may_read(self, client):
        answer = client.get("/api/logs", headers={"origin": "http://evil.example"})
        assert not [name for name in answer.headers if name.startswith("access-control")]


class TestToken:
    @pytest.mark.parametrize(
        "path", ["/", "/api/health", "/api/openapi.json", "/static/onega.css", "/plotly.js"]
    )
    def test_nothing_without_it(self, guarded, path):
        assert guarded.get(path).status_code == 401
        assert guarded.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401

    def test_as_a_header(self, guarded):
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert guarded.get("/api/health", headers=headers).status_code == 200

    def test_in_the_address_it_becomes_a_cookie(self, guarded):
        answer = guarded.get("/sizing", params={"log": "x", "token": TOKEN})
        assert answer.status_code == 303
        assert answer.headers["location"] == "/sizing?log=x"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        given = {"cookie": cookie.split(";")[0]}
        assert guarded.get("/sizing", headers=given).status_code == 200
        guarded.cookies.clear()

    def test_the_address_can_not_lead_elsewhere(self, guarded):
        answer = guarded.get(f"{guarded.address}//evil.example/?token={TOKEN}")
        assert answer.headers["location"] == "/evil.example/"
        guarded.cookies.clear()


class TestSizes:
    def announce(self, client, path, length):
        """Send the head of a request only, and return the answer."""
        with socket.create_connection(("127.0.0.1", client.base_url.port), timeout=30) as wire:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
            wire.sendall(head.encode())
            return b"".join(iter(lambda: wire.recv(4096), b"")).decode()

    def test_500_megabytes_are_refused_before_a_byte_is_sent(self, client):
        answer = self.announce(client, "/api/logs?name=x", 500 * MIB)
        assert answer.startswith("HTTP/1.1 413")
        assert "at most 200 MB" in answer

    def test_so_is_a_large_request_of_another_kind(self, client):
        assert self.announce(client, "/api/runs", JSON_BODY + 1).startswith("HTTP/1.1 413")

    def test_a_stream_without_a_length_is_cut_at_the_limit(self, make_client, tmp_path):
        small = make_client(tmp_path, upload=MIB)
        sent = 0

        def endless():
            nonlocal sent
            while sent < 1000 * MIB:
                sent += 1 << 16
                yield bytes(1 << 16)

        # The answer may come too late for a client that is still sending when the door closes.
        with contextlib.suppress(httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
            answer = small.post("/api/logs", params={"name": "x"}, content=endless())
            assert answer.status_code == 413
        assert sent < 100 * MIB
        assert small.get("/api/logs").json() == []
        assert list((tmp_path / "logs").iterdir()) == []

    def test_an_upload_that_breaks_off_leaves_nothing(self, make_client, tmp_path, caplog):
        page = make_client(tmp_path)
        with socket.create_connection(("127.0.0.1", page.base_url.port)) as wire:
            head = "POST /api/logs?name=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n"
            wire.sendall(f"{head}\r\n1 2 3\n".encode())
            while not page.get("/api/logs").json():
                time.sleep(0.01)
        until = time.monotonic() + 60
        while page.get("/api/logs").json():
            assert time.monotonic() < until
            time.sleep(0.01)
        assert list((tmp_path / "logs").iterdir()) == []
        assert [one for one in caplog.records if one.levelname == "ERROR"] == []

    @pytest.mark.parametrize("pack", [gzip.compress, partial(lzma.compress, preset=0)])
    def test_a_bomb_is_refused(self, client, pack):
        bomb = pack(b"1 0 0 10 1\n" * (7 * MIB))
        assert len(bomb) < MIB
        item = client.upload(bomb, fails=True, name="bomb.swf")
        assert "grows more than 200 times" in item["error"]

    def test_a_bomb_of_blocks_is_refused_too(self, client):
        """Concatenated members, each below any ratio that one could look at alone."""
        bomb = gzip.compress(b"1 " * 500_000) * 150
        item = client.upload(bomb, fails=True)
        assert "times when decompressed" in item["error"] or "a line of more" in item["error"]


class TestWorkers:
    def large(self):
        """A Parquet file of 14 MB that needs half a gigabyte in memory, and doesn't look so."""
        out = io.BytesIO()
        values = pl.Series("x", np.random.default_rng(1).integers(0, 4, 14_000_000).astype(float))
        names = ("submit", "runtime", "procs", "estimate", "wait")
        values.to_frame().select(pl.col("x").alias(name) for name in names).write_parquet(out)
        return out.getvalue()

    def test_the_page_outlives_a_task_that_needs_too_much_memory(self, make_client, tmp_path):
        page = make_client(tmp_path, memory=450 * MIB)
        item = page.upload(self.large(), fails=True, name="huge.parquet")
        assert "memory" in item["error"]
        assert page.get("/").status_code == 200
        assert page.make_log(jobs=100)["result"]["jobs"] == 100

    def test_the_page_outlives_a_task_that_takes_too_long(self, make_client, tmp_path):
        page = make_client(tmp_path, seconds=0.01)
        answer = page.post("/api/logs/sample", json={"jobs": 100})
        item = page.wait("logs", answer, fails=True)
        assert "stopped after" in item["error"]
        assert page.get("/api/health").status_code == 200

    def test_a_worker_that_can_not_start_fails_its_task_only(self, make_client, tmp_path):
        page = make_client(tmp_path)
        (tmp_path / "workers.log").mkdir()  # where the worker's words were to go
        item = page.wait("logs", page.post("/api/logs/sample", json={"jobs": 100}), fails=True)
        assert "can't be done now" in item["error"]
        (tmp_path / "workers.log").rmdir()
        assert page.make_log(jobs=100)["status"] == "done"

    def test_too_many_tasks_are_refused(self, make_client, tmp_path):
        page = make_client(tmp_path, queue=2)
        answers = [page.post("/api/logs/sample", json={"jobs": 1000}) for _ in range(8)]
        assert {answer.status_code for answer in answers} == {202, 503}
        assert "try again" in answers[-1].json()["error"]
        assert len(page.get("/api/logs").json()) == [a.status_code for a in answers].count(202)


class TestStore:
    def test_results_survive_a_restart(self, make_client, tmp_path):
        first = make_client(tmp_path)
        made = first.make_log(jobs=100)
        run = first.run(made)
        window = first.get(f"/api/runs/{run['id']}/window").json()
        left = first.post("/api/runs", json={"log": made["id"], "policy": "conservative"}).json()
        first.stop()
        again = make_client(tmp_path)
        assert again.get(f"/api/logs/{made['id']}").json() == made
        assert again.get(f"/api/runs/{run['id']}").json() == run
        assert again.get(f"/api/runs/{run['id']}/window").json() == window
        until = time.monotonic() + 120
        while again.get(f"/api/runs/{left['id']}").json()["status"] != "done":
            assert time.monotonic() < until
            time.sleep(0.05)

    def test_two_pages_do_not_share_a_folder(self, tmp_path):
        first = Store(tmp_path)
        with pytest.raises(Exception, match="another page"):
            Store(tmp_path)
        Store(tmp_path, writing=False)
        first.close()
        Store(tmp_path).close()

    def test_a_damaged_item_is_passed_over(self, tmp_path):
        store = Store(tmp_path)
        item = store.create("logs", "a", {})
        for name, text in (("b" * 16, "{"), ("c" * 16, '{"id": 1}'), ("d" * 16, "[]")):
            (tmp_path / "logs" / name).mkdir()
            (tmp_path / "logs" / name / "item.json").write_text(text)
        store.close()
        again = Store(tmp_path)
        assert [one.id for one in again.list("logs")] == [item.id]
        again.close()

    def test_what_was_half_deleted_goes(self, tmp_path):
        store = Store(tmp_path)
        item = store.create("runs", "a", {})
        store.close()
        (tmp_path / "runs" / item.id / "item.json").unlink()
        (tmp_path / "runs" / "of my own").mkdir()
        Store(tmp_path, writing=False)
        assert (tmp_path / "runs" / item.id).exists()
        Store(tmp_path).close()
        assert [path.name for path in (tmp_path / "runs").iterdir()] == ["of my own"]

    @pytest.mark.parametrize("id", ["..", "../logs", "/etc/passwd", "", "x" * 10_000, "%2e%2e"])
    def test_what_is_not_known_never_becomes_a_path(self, tmp_path, id):
        store = Store(tmp_path)
        with pytest.raises(MissingError):
            store.get("logs", id)
        with pytest.raises(MissingError):
            store.delete("logs", id)
        store.close()


OUTSIDE = [
    "..%2f..%2fitem.json",
    "../../../etc/passwd",
    "%2fetc%2fpasswd",
    "daily.json%00",
    "....//item",
]


class TestPaths:
    @pytest.mark.parametrize("name", OUTSIDE)
    def test_no_path_from_outside_reaches_a_file(self, client, log, name):
        for base in (f"/api/logs/{log['id']}/figures/", "/api/logs/", "/static/", "/logs/"):
            answer = client.get(f"{client.address}{base}{name}")
            assert answer.status_code in (404, 422)
            assert "root:" not in answer.text

    def test_an_uploads_name_is_only_a_name(self, client, tmp_path):
        item = client.make_log(jobs=100, name="../../../tmp/x\r\nSet-Cookie: a=b <b>")
        assert item["name"] == "../../../tmp/x Set-Cookie: a=b <b>"
        answer = client.get(f"/api/logs/{item['id']}/download")
        assert (
            answer.headers["content-disposition"]
            == 'attachment; filename="x-Set-Cookie--a-b--b.swf"'
        )
        assert "set-cookie" not in answer.headers

    def test_the_servers_own_places_are_not_told(self, client):
        text = json.dumps(client.get("/api/logs").json())
        assert str(client.settings.state) not in text
        broken = client.upload(b"1 2 x\n", fails=True, name="bad.swf")
        assert str(client.settings.state) not in broken["error"]


def test_every_answer_carries_the_strict_headers(client, log):
    for path in ("/", f"/logs/{log['id']}", "/api/logs", "/static/onega.css", "/nowhere", "/api/x"):
        answer = client.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    policy = HEADERS["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy


def test_other_kinds_of_traffic_pass_the_guard():
    """Starting and stopping are messages too, without hosts or methods."""
    import asyncio

    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    guard = Guard(app, Settings(state=None, hosts=LOOPBACK))
    asyncio.run(guard({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
