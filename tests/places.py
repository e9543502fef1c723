"""Where things are: the repository, and the material beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared(*parts: str) -> Path:
    """A file of the material beside the repository (logs, golden answers); skips if absent."""
    places = [ROOT.parent / "shared", ROOT.parent.parent / "shared"]
    if "ONEGA_SHARED" in os.environ:
        places.insert(0, Path(os.environ["ONEGA_SHARED"]))
    for place in places:
        path = place.joinpath(*parts)
        if path.exists():
            return path
    pytest.skip(f"{'/'.join(parts)} is not beside the repository")
