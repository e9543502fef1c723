"""Logs that the model tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from contract import example_log


@pytest.fixture(scope="session")
def log():
    return example_log()
