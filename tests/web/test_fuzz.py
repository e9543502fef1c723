"""The API fuzzed from its own OpenAPI description: no server error, and answers as described."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from onega.web.app import make_app
from onega.web.settings import Settings

schemathesis = pytest.importorskip("schemathesis")

from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
FEW_JOBS = 200
"""Drawing a million jobs a time is allowed, and would keep the worker busy for long."""

turns = itertools.count()


@pytest.fixture(scope="module")
def fuzzed(make_client, tmp_path_factory):
    """A page of its own, with one of everything."""
    page = make_client(tmp_path_factory.mktemp("fuzzed"))
    log = page.make_log(jobs=FEW_JOBS)
    page.known = {
        "logs": log["id"],
        "runs": page.run(log)["id"],
        "models": page.wait("models", page.post("/api/models", json={"log": log["id"]}))["id"],
        "plans": page.wait(
            "plans", page.post("/api/plans", json={"log": log["id"], "target": "mean(wait)<9d"})
        )["id"],
    }
    return page


def described():
    """The description that the page gives of itself."""
    app = make_app(Settings(state=Path("nowhere")), writing=False)
    return schemathesis.openapi.from_dict(app.openapi())


OPERATIONS = {one.ok().label: one.ok() for one in described().get_all_operations()}


def ask(case, page):
    """Send a case; three of four name items that exist, to get further than "not found"."""
    if next(turns) % 4:
        kind = case.path.split("/")[2]
        if case.method != "DELETE" and "id" in (case.path_parameters or {}):
            case.path_parameters["id"] = page.known[kind]
        if isinstance(case.body, dict) and "log" in case.body:
            case.body["log"] = page.known["logs"]
        if "log" in (case.query or {}):
            case.query["log"] = page.known["logs"]
        if "runs" in (case.query or {}):
            case.query["runs"] = page.known["runs"]
    if isinstance(case.body, dict) and isinstance(case.body.get("jobs"), int | float):
        case.body["jobs"] = min(case.body["jobs"], FEW_JOBS)
    # The first answer of a kind may have to be compiled, beside other tests.
    answer = case.call(base_url=page.address, timeout=120)
    if answer.status_code == 503 and "are waiting already" in answer.text:
        # On a slow machine hundreds of orders pile up; to be told so is a right answer.
        while page.get("/api/health").json()["waiting"] > 100:
            time.sleep(0.5)
        answer = case.call(base_url=page.address, timeout=120)
    case.validate_response(answer, checks=CHECKS)


def fuzz(label, page, examples):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[label].as_strategy())
    def try_it(case):
        ask(case, page)

    try_it()
    assert page.get("/api/health").status_code == 200


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_breaks_the_page(fuzzed, label):
    fuzz(label, fuzzed, 12)


DEEP = 20_000
MALFORMED = {
    "empty": b"",
    "cut short": b'{"log": "',
    "no JSON": b"log=1&policy=easy",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "half a surrogate": b'{"name": "\\ud800", "log": "\\udfff", "target": "\\ud800<1"}',
    "NUL": b'{"name": "a\\u0000b", "log": "\\u0000", "target": "\\u0000"}',
    "a list": b"[]",
    "null": b"null",
    "a number of thousands of digits": b'{"jobs": ' + b"9" * 10_000 + b', "seed": 1}',
    "numbers that are none": b'{"jobs": NaN, "load": Infinity, "procs": -Infinity, "seed": 1e999}',
    "nested lists": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"log":' * DEEP + b"1" + b"}" * DEEP,
    "keys twice": b'{"log": "0123456789abcdef", "log": 5, "log": null}',
    "many keys": b"{" + b",".join(b'"k%d": %d' % (n, n) for n in range(20_000)) + b"}",
    "a long text": b'{"policy": "' + b"a" * 500_000 + b'", "cluster": "' + b"[" * 300_000 + b'"}',
    "binary": bytes(range(256)) * 100,
}
"""Bodies that no description would lead to."""
CONTENT_TYPES = (
    "application/json",
    "application/json; charset=utf-16",
    "text/plain",
    "multipart/form-data",
    "",
)


@pytest.mark.parametrize("body", MALFORMED)
def test_no_malformed_body_breaks_the_page(fuzzed, body):
    content = MALFORMED[body]
    for label, operation in OPERATIONS.items():
        if operation.method.lower() != "post" or label.endswith("/api/logs"):
            continue
        path = operation.path.replace("{id}", fuzzed.known["models"])
        for kind in CONTENT_TYPES:
            answer = fuzzed.post(path, content=content, headers={"content-type": kind})
            assert 400 <= answer.status_code < 500, (label, kind, answer.text)
            assert isinstance(answer.json()["error"], str)
            assert len(answer.text) < 2000
    item = fuzzed.post("/api/logs", params={"name": "x"}, content=content)
    assert item.status_code in (202, 400, 422)
    assert fuzzed.get("/api/health").status_code == 200


REQUESTS = {
    "no request": b"\x00\x01\x02\r\n\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two lengths": b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
    b"Content-Length: 2\r\n\r\nab",
    "a length below nothing": b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: -1\r\n\r\n",
    "length and chunks": b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "broken chunks": b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a long head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    "a broken query": b"GET /api/runs?log=%ff%00&%zz=1 HTTP/1.1\r\nHost: localhost\r\n"
    b"Connection: close\r\n\r\n",
    "a broken path": b"GET /api/runs/%ff%fe%00 HTTP/1.1\r\nHost: localhost\r\n"
    b"Connection: close\r\n\r\n",
    "broken cookies": b'GET / HTTP/1.1\r\nHost: localhost\r\nCookie: \xff=;;="\r\n'
    b"Connection: close\r\n\r\n",
    "an unknown method": b"BREW / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: upgrade\r\n\r\n",
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_no_malformed_request_breaks_the_page(fuzzed, request_):
    place = ("127.0.0.1", fuzzed.base_url.port)
    with socket.create_connection(place, timeout=60) as wire, contextlib.suppress(ConnectionError):
        wire.sendall(REQUESTS[request_])
        answer = b"".join(iter(lambda: wire.recv(1 << 16), b""))
        assert not answer.startswith(b"HTTP/1.1 5"), answer
    assert fuzzed.get("/api/health").status_code == 200


@pytest.mark.verification
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("label", OPERATIONS)
def test_many_requests_do_not_break_the_page(fuzzed, label):
    fuzz(label, fuzzed, 300)
