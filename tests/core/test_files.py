"""The one way in which files are written: whole or not at all, with one clear line."""

from __future__ import annotations

import errno
import os
import pickle
import re
import stat
import subprocess
import sys

import polars as pl
import pytest

from full_disk import full_disk, tiny_disk
from onega.core.errors import FileError
from onega.core.files import atomic_writer, atomic_writers, write_table, write_text
from places import ROOT

TABLE = pl.DataFrame({"a": range(20_000), "b": [0.1 * k * k for k in range(20_000)]})


def write_much(path):
    """Write more than a tiny disk holds, as text or as a table."""
    if path.suffix == ".txt":
        write_text(path, "x" * 100_000)
    else:
        write_table(TABLE, path)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "txt"])
def test_a_full_disk_leaves_the_old_file_and_no_rubbish(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"old")
    with full_disk(1000), pytest.raises(FileError) as caught:
        write_much(path)
    assert str(caught.value) == f"{path}: can't be written: {os.strerror(errno.EFBIG)}"
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "txt"])
def test_a_filesystem_that_is_full(suffix):
    with tiny_disk() as folder:
        path = write_text(folder / f"x.{suffix}", "old")
        with pytest.raises(FileError, match="No space left on device") as caught:
            write_much(path)
        assert caught.value.errno == errno.ENOSPC
        assert path.read_text() == "old"
        assert list(folder.iterdir()) == [path]


def test_an_error_midway_leaves_the_old_file(tmp_path):
    path = write_text(tmp_path / "x.html", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\ud800")
    with pytest.raises(ZeroDivisionError), atomic_writer(path) as out:
        out.write(b"half" * (1 // 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_belong_together_appear_together(tmp_path):
    paths = [write_text(tmp_path / name, "old") for name in ("a", "b", "c")]
    much, little = b"x" * 2000, b"short"  # in Python's buffer: refused when all are finished
    with (
        full_disk(1000),
        pytest.raises(FileError, match="can't be written"),
        atomic_writers(*paths) as files,
    ):
        [file.write(text) for file, text in zip(files, (much, little, little), strict=True)]
    assert [path.read_text() for path in paths] == ["old"] * 3
    assert sorted(tmp_path.iterdir()) == paths
    with atomic_writers(*paths) as files:
        for name, file in zip("abc", files, strict=True):
            file.write(name.encode())
            assert [path.read_text() for path in paths] == ["old"] * 3
    assert [path.read_text() for path in paths] == ["a", "b", "c"]


def test_permissions_stay(tmp_path):
    path = write_text(tmp_path / "x", "old")
    path.chmod(0o600)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_as_long_as_can_be(tmp_path):
    assert write_text(tmp_path / ("x" * 255), "whole").read_text() == "whole"


def test_two_writers_of_one_file_do_not_meet(tmp_path):
    path = tmp_path / "x"
    with atomic_writer(path) as first, atomic_writer(path) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_of_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"), atomic_writer(tmp_path / "x"):
        (tmp_path / "nowhere").read_text()


def test_a_reader_who_goes_away_is_a_broken_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(BrokenPipeError), atomic_writer(pipe) as out:
        os.close(out.write(b"x") and end)


def test_killed_midway_the_old_file_stands(tmp_path):
    path = write_text(tmp_path / "x", "old")
    code = (
        "import os, sys; from onega.core.files import atomic_writer\n"
        "with atomic_writer(sys.argv[1]) as out:\n"
        "    out.write(b'half'); out.flush(); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    assert path.read_text() == "old"


def test_the_error_can_be_sent_between_processes():
    error = FileError("can't be written: no", path="x", errno=28)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.errno) == ("x: can't be written: no", "x", 28)


def test_nothing_else_writes_files():
    """In the source there is no other way to a file than through `onega.core.files`."""
    writes = re.compile(
        r"""\.write_(text|bytes)\(  # pathlib
        | \.write_(csv|parquet)\((?!\s*(\)|out\b|external|internal|include_)) # polars, by a path
        | open\([^)\n]*["'][wax]b?\+?["'] """,
        re.VERBOSE,
    )
    allowed = {
        "traces/archive/fetching.py",  # a part that is resumed
        "core/files.py",
        "web/store.py",  # the lock
        "web/workers.py",  # a log of messages
        "comparison/virtual_slurm/keeper.py",  # the same, of daemons
        "comparison/virtual_slurm/clock.py",  # a number that processes share
        "comparison/virtual_slurm/slurm.py",  # the key of munge, its owner's alone
    }
    source = ROOT / "src" / "onega"
    found = {
        str(path.relative_to(source)): hits
        for path in source.rglob("*.py")
        if (hits := [hit[0] for hit in writes.finditer(path.read_text(encoding="utf-8"))])
    }
    assert {path: hits for path, hits in found.items() if path not in allowed} == {}
