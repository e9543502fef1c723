"""Disks that are full: for everybody by a limit on files, for root a real one of 64 KiB."""

from __future__ import annotations

import contextlib
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file of this process grows past some bytes: the system refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def tiny_disk(size: str = "64k") -> Iterator[Path]:
    """A file system of some kilobytes; skips where it may not be made."""
    with tempfile.TemporaryDirectory() as name:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "onega-test", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            pytest.skip("no file system may be mounted here; a limit on files is tested instead")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)
