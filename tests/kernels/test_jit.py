"""The kernels' decorator: cached, stamped with all it uses, working where nothing is writable."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onega.kernels import jit, news
from onega.kernels.jit import cache_folder, kernel, part, shift, sources_stamp, unowned


def test_stamp_covers_the_modules_a_kernel_uses(tmp_path, monkeypatch):
    (tmp_path / "outer.py").write_text("from onega.kernels.inner import f\n")
    (tmp_path / "inner.py").write_text("x = 1\n")
    (tmp_path / "other.py").write_text("x = 1\n")
    monkeypatch.setattr(jit, "_HERE", tmp_path)
    sources_stamp.cache_clear()
    before = sources_stamp("outer"), sources_stamp("other")
    (tmp_path / "inner.py").write_text("x = 2\n")
    sources_stamp.cache_clear()
    after = sources_stamp("outer"), sources_stamp("other")
    sources_stamp.cache_clear()
    assert before[0] != after[0]
    assert before[1] == after[1]


def test_cache_folder_is_named():
    assert Path(cache_folder()).is_dir()


def test_without_any_writable_place_kernels_compile_all_the_same(monkeypatch):
    monkeypatch.setattr(jit._implementation, "_locator_classes", [])
    assert cache_folder() is None

    def twice(x):
        return 2 * x

    assert kernel(twice)(21) == 42


def test_listeners_hear_of_compiling_and_only_of_that(monkeypatch):
    heard = []
    # Without a place for the cache: else only the first run of this test compiles anything.
    monkeypatch.setattr(jit._implementation, "_locator_classes", [])
    monkeypatch.setattr(news, "listeners", [lambda: heard.append("compiling")])

    @kernel
    def thrice(x):
        return 3 * x

    assert thrice(14) == 42
    assert heard == ["compiling"]
    assert thrice(15) == 45
    assert heard == ["compiling"]


def test_a_read_only_installation_simulates():
    """No locator at all: what a package on a read-only file system without a home sees."""
    script = (
        "import onega.kernels.jit as jit\n"
        "jit._implementation._locator_classes = []\n"
        "import onega\n"
        "log = onega.Workload({'submit': [0, 0], 'runtime': [2, 3], 'procs': [1, 1]})\n"
        "print(onega.simulate(log, 1, 'fcfs').start.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout.strip() == "[0.0, 2.0]", done.stderr


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


def test_unowned_is_the_same_memory():
    @part
    def write(values):
        values[0] = 7

    @kernel
    def through_a_view(values):
        write(unowned(values))

    values = np.zeros(2)
    through_a_view(values)
    assert values.tolist() == [7, 0]
