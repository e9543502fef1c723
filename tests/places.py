"""Where things are: the repository, and the material beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def beside(*parts: str) -> Path | None:
    """A file of the material beside the repository (logs, golden answers), if it is there."""
    places = [ROOT.parent / "shared", ROOT.parent.parent / "shared"]
    if "ONEGA_SHARED" in os.environ:
        places.insert(0, Path(os.environ["ONEGA_SHARED"]))
    found = (place.joinpath(*parts) for place in places)
    return next((path for path in found if path.exists()), None)


def shared(*parts: str) -> Path:
    """A file of the material beside the repository; skips if absent."""
    path = beside(*parts)
    if path is None:
        pytest.skip(f"{'/'.join(parts)} is not beside the repository")
    return path


def made(name: str) -> Path:
    """A small log of our own making (``tests/data/make.py``)."""
    return ROOT / "tests" / "data" / name
