"""What all tests share."""

from __future__ import annotations

import pytest

from places import shared


@pytest.fixture(name="shared")
def _shared():
    return shared
