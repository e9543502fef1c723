"""A small log with users, estimates, waits and dates, made once."""

from __future__ import annotations

import pytest

from reproduce.logs import make_log


@pytest.fixture(scope="session")
def log():
    return make_log()
