"""The kernels' decorator: cached, stamped with all it uses, working where nothing is writable."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from onega.kernels import compile_events as news
from onega.kernels import jit
from onega.kernels.jit import (
    by_reference,
    cache_folder,
    compiled,
    kernel,
    part,
    shift,
    sources_stamp,
)
from onega.kernels.records import REAL, WHOLE, record


def test_stamp_covers_all_sources(tmp_path):
    inner = tmp_path / "b" / "inner.py"
    inner.parent.mkdir()
    (tmp_path / "outer.py").write_text("from b.inner import f\n")
    inner.write_text("x = 1\n")
    before = sources_stamp(tmp_path)
    assert sources_stamp(tmp_path) == before
    inner.write_text("x = 2\n")
    assert sources_stamp(tmp_path) != before


def test_cache_folder_is_named():
    assert Path(cache_folder()).is_dir()
    assert sources_stamp(jit.HERE) in cache_folder()


def test_folders_of_sources_that_are_no_more_are_removed(tmp_path, monkeypatch):
    """Beside the kernels; a folder that the user names may have those of other versions."""
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(jit, "HERE", tmp_path)
    old = tmp_path / "__pycache__" / "kernels-0123"
    old.mkdir(parents=True)
    assert Path(cache_folder()).parent == old.parent
    assert not old.exists()
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(old.parent))
    old.mkdir()
    assert Path(cache_folder()).parent == old.parent
    assert old.exists()


@pytest.fixture
def no_cache(tmp_path, monkeypatch):
    """What a package on a read-only file system without a home sees."""
    nowhere = tmp_path / "a file"
    nowhere.touch()
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(nowhere))
    monkeypatch.setattr(jit, "CACHE", cache_folder())


@pytest.mark.usefixtures("no_cache")
def test_without_any_writable_place_kernels_compile_all_the_same():
    assert cache_folder() is None

    def halves(x):
        return 1.0 / x

    assert kernel(halves)(2) == 0.5
    assert kernel(halves)(0) == np.inf  # the error model is numpy's, cached or not


@pytest.mark.usefixtures("no_cache")
def test_listeners_hear_of_compiling_and_only_of_that(monkeypatch):
    """Without a place for the cache: else only the first run of this test compiles anything."""
    heard = []
    monkeypatch.setattr(news, "listeners", [lambda: heard.append("compiling")])

    @kernel
    def thrice(x):
        return 3 * x

    assert thrice(14) == 42
    assert heard == ["compiling"]
    assert thrice(15) == 45
    assert heard == ["compiling"]


# -- a cache that is damaged, or can't be written


def five(x):
    """Made anew by each test, so that it is looked for in the cache."""
    return x + 5


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with one function in it, and nothing told yet."""
    monkeypatch.setattr(jit, "CACHE", str(tmp_path))
    monkeypatch.setattr(news, "_told", [])
    monkeypatch.setattr(news, "troubles", [])
    assert kernel(five)(1) == 6
    return tmp_path


@pytest.mark.parametrize("kept", [0, 20, 200])
@pytest.mark.parametrize("file", ["nbi", "nbc"])
def test_a_damaged_cache_is_told_and_put_right(cache, file, kept):
    (damaged,) = cache.rglob(f"*.{file}")
    damaged.write_bytes(damaged.read_bytes()[:kept])
    if damaged.suffix == ".nbi" and kept == 200:
        damaged.write_bytes(b"nonsense")
    with pytest.warns(RuntimeWarning, match="can't be used.*remove the folder"):
        assert kernel(five)(2) == 7
    assert kernel(five)(3) == 8  # pytest makes a warning an error: the cache is right again


def test_a_full_disk_is_told_once_and_stops_nothing(cache, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="can't be used.*No space left.*NUMBA_CACHE_DIR"):
        assert kernel(five)(1.5) == 6.5
    assert kernel(five)(2.5) == 7.5


def test_what_numba_says_of_a_kernel_is_no_trouble_of_the_cache(cache):
    @kernel
    def wrong(x):
        return x.nothing

    with pytest.raises(jit.NumbaError, match="nothing"):
        wrong(1)
    assert list(cache.rglob("*.nbi"))


def test_trouble_goes_to_those_who_listen(cache, monkeypatch):
    heard = []
    monkeypatch.setattr(news, "troubles", [heard.append])
    for damaged in cache.rglob("*.nbi"):
        damaged.write_bytes(b"")
    assert kernel(five)(1) == 6
    (line,) = heard
    assert str(cache) in line


def test_the_command_says_so_in_one_line_and_works(tmp_path):
    """An empty file in the cache made it say "stopped"."""
    (tmp_path / "log.swf").write_text(
        "".join(f"{n} {n} -1 5 1 -1 -1 1 9 -1 1 1 1 1 1 1 -1 -1\n" for n in range(1, 9))
    )

    arguments = ["simulate", str(tmp_path / "log.swf"), "--procs", "2", "--policy", "fcfs"]

    def run():
        return subprocess.run(
            [sys.executable, "-c", f"from onega.cli.app import main; main({arguments!r})"],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        )

    assert run().returncode == 0
    for index in (tmp_path / "cache").rglob("*.nbi"):
        index.write_bytes(b"")
    done = run()
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cache of compiled kernels") == 1
    assert run().stderr.count("cache of compiled kernels") == 0


@pytest.mark.parametrize(
    ("target", "source", "count"), [(1, 0, 4), (0, 1, 4), (2, 2, 3), (0, 3, 0)]
)
@pytest.mark.parametrize("dtype", [np.int64, np.float64, [("a", "i8"), ("b", "f8")]])
def test_shift_is_memmove(dtype, target, source, count):
    @kernel
    def move(values, target, source, count):
        shift(values, target, source, count)

    values = np.zeros(6, dtype=np.dtype(dtype))
    if values.dtype.names:
        values["a"], values["b"] = np.arange(6), -np.arange(6.0)
    else:
        values[:] = np.arange(6)
    expected = values.copy()
    expected[target : target + count] = values[source : source + count].copy()
    move(values, target, source, count)
    assert (values == expected).all()


PLACE = record(count=WHOLE, share=REAL)


class Inner(NamedTuple):
    places: np.ndarray
    weight: float


class Outer(NamedTuple):
    inner: Inner
    total: np.ndarray


def test_by_reference_is_the_same_state():
    @compiled
    def add(state, place):
        state.inner.places[place].count += 1
        state.total[0] += state.inner.places[place].share

    @kernel
    def run(state):
        state = by_reference(state)
        for place in range(state.inner.places.size):
            add(state, place)

    state = Outer(Inner(np.zeros(3, PLACE), 1.0), np.zeros(1))
    state.inner.places["share"] = [0.5, 0.25, 2.0]
    run(state)
    assert state.inner.places["count"].tolist() == [1, 1, 1]
    assert state.total.tolist() == [2.75]


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


def test_by_reference_takes_tuples_of_one_type():
    @part
    def write(pair):
        pair.second[0] = pair.first[0] + 7

    @kernel
    def run(pair):
        write(by_reference(pair))

    pair = Pair(np.ones(2), np.zeros(2))
    run(pair)
    assert pair.second.tolist() == [8, 0]


def test_a_record_refuses_names_that_numpy_has_taken():
    with pytest.raises(ValueError, match="size"):
        record(size=WHOLE)
    place = np.zeros(2, PLACE)[1]
    place.count = 3
    assert place["count"] == 3
