"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

from places import shared

# Timings are no tests: a first example compiles, and the machine may be busy.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(name="shared")
def _shared():
    return shared
