"""The API fuzzed from its own OpenAPI description: no server error, and answers as described."""

from __future__ import annotations

import itertools
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
    if isinstance(case.body, dict) and isinstance(case.body.get("jobs"), int):
        case.body["jobs"] = min(case.body["jobs"], FEW_JOBS)
    case.validate_response(case.call(base_url=page.address), checks=CHECKS)


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


@pytest.mark.verification
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("label", OPERATIONS)
def test_many_requests_do_not_break_the_page(fuzzed, label):
    fuzz(label, fuzzed, 300)
