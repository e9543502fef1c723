"""A report on a small log, made once."""

from __future__ import annotations

import pytest

import onega
from report.logs import make_log


@pytest.fixture(scope="session", name="make_log")
def _make_log():
    return make_log


@pytest.fixture(scope="session")
def log():
    return make_log()


@pytest.fixture(scope="session")
def made(log):
    return onega.site_report(log, policies=("fcfs", "easy"), replicates=3)
