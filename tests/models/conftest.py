"""Logs that the model tests share."""

from __future__ import annotations

import pytest

from models.contract import example_log


@pytest.fixture(scope="session")
def log():
    return example_log()
