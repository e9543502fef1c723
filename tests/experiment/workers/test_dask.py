"""Tasks on a real Dask cluster of separate processes on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from experiment.dask_cluster import dask_cluster
from onega.core.errors import ExperimentError, OnegaWarning
from onega.experiment.workers.dask import Dask
from onega.experiment.workers.workers import WorkerDied, run_all, run_each

TOOLS = '''
import os, signal, time
from pathlib import Path


class Parcel:
    """Says in a file whenever it arrives somewhere."""

    def __init__(self, folder, much):
        self.folder, self.much = folder, much

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)
        (Path(self.folder) / f"arrived-{os.getpid()}-{time.monotonic_ns()}").touch()


def add(number, parcel):
    time.sleep(0.01)
    return number + parcel.much, os.getpid()


def slow(number, shared):
    time.sleep(0.05)
    return number * shared["factor"]


def picky(number):
    if number == 3:
        raise ValueError("three")
    return number
'''


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    (folder / "dask_tools.py").write_text(TOOLS)
    sys.path.insert(0, str(folder))
    import dask_tools

    yield dask_tools
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, tools):
    with dask_cluster(tmp_path_factory.mktemp("dask"), 2, [os.path.dirname(tools.__file__)]) as one:
        yield one


def test_what_is_shared_arrives_once_at_each_worker(cluster, tools, tmp_path):
    parcel = tools.Parcel(str(tmp_path), 10)
    found = run_all(tools.add, range(60), shared=parcel, workers=Dask(cluster.address))
    assert [value for value, _ in found] == [n + 10 for n in range(60)]
    assert {pid for _, pid in found} == {worker.pid for worker in cluster.workers}
    arrived = [int(name.split("-")[1]) for name in os.listdir(tmp_path)]
    for worker in cluster.workers:
        assert arrived.count(worker.pid) == 1


def test_a_task_that_fails_does_not_stop_the_others(cluster, tools):
    found = sorted(run_each(tools.picky, range(6), workers=Dask(cluster.address)))
    assert [value for _, value, error in found if error is None] == [0, 1, 2, 4, 5]
    assert isinstance(found[3].error, ValueError)


def test_a_scheduler_file_is_an_address_too(cluster, tools):
    path = str(cluster.folder / "scheduler.json")
    assert run_all(tools.picky, [1, 2], workers=Dask(path)) == [1, 2]


def test_workers_that_die_are_replaced_even_if_all_that_is_shared_dies_with_them(
    tools, tmp_path, tmp_path_factory
):
    """Both are killed, and a third one comes: nothing is lost."""
    with dask_cluster(tmp_path, 2, [os.path.dirname(tools.__file__)]) as cluster:
        running = run_each(
            tools.slow, range(120), shared={"factor": 3}, workers=Dask(cluster.address)
        )
        found = [next(running) for _ in range(5)]
        cluster.workers[0].kill()
        cluster.workers[1].kill()
        cluster.add_worker()
        with pytest.warns(OnegaWarning, match="is gone"):
            found += running
    assert sorted(found) == [(n, 3 * n, None) for n in range(120)]


def test_work_waits_for_the_first_worker(tools, tmp_path):
    with dask_cluster(tmp_path, 0, [os.path.dirname(tools.__file__)]) as cluster:

        def come_late():
            time.sleep(0.5)
            cluster.add_worker()

        thread = threading.Thread(target=come_late)
        thread.start()
        with pytest.warns(OnegaWarning, match="no worker yet"):
            assert run_all(tools.picky, [1, 2], workers=Dask(cluster.address)) == [1, 2]
        thread.join()


def test_a_worker_of_another_version_is_refused(cluster, tools, monkeypatch):
    monkeypatch.setattr("onega.experiment.workers.dask.__version__", "99.0")
    with pytest.raises(ExperimentError, match=r"has onega \d.*this is 99.0"):
        run_all(tools.picky, [1], workers=Dask(cluster.address))


def test_what_a_killed_driver_left_is_taken_away(cluster, tools, tmp_path):
    code = f"""
import sys
sys.path.insert(0, {os.path.dirname(tools.__file__)!r})
from dask_tools import slow
from onega.experiment.workers.dask import Dask
from onega.experiment.workers.workers import run_each
for _ in run_each(slow, range(1000), shared={{"factor": 1}}, workers=Dask({cluster.address!r})):
    open({str(tmp_path / "began")!r}, "w").close()
"""
    driver = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / "began").exists():
        assert driver.poll() is None
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    from distributed import Client

    from onega.experiment.workers.dask_plugin import abandoned

    with Client(cluster.address, set_as_default=False) as client:

        def plugins():
            found = client.run_on_scheduler(lambda dask_scheduler: [*dask_scheduler.worker_plugins])
            return [name for name in found if "onega" in name]

        assert len(plugins()) == 1
        while not client.run_on_scheduler(abandoned):  # until the scheduler has noticed
            time.sleep(0.05)
        assert run_all(tools.picky, [1, 2], workers=Dask(cluster.address)) == [1, 2]
        assert plugins() == []


def test_nobody_at_the_address():
    pytest.importorskip("distributed")
    with pytest.raises(ExperimentError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        run_all(abs, [1], workers=Dask("tcp://127.0.0.1:9", timeout=0.5))


def test_an_address_that_is_none():
    pytest.importorskip("distributed")
    with pytest.raises(ExperimentError, match="no Dask scheduler answers at nonsense"):
        run_all(abs, [1], workers=Dask("nonsense://x", timeout=0.5))


def test_without_dask_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ExperimentError, match=r"pip install 'onega\[dask\]'"):
        run_all(abs, [1], workers=Dask("tcp://127.0.0.1:9"))


def test_dask_says_what_it_is():
    assert str(Dask("tcp://a:1")) == "Dask at tcp://a:1"
    assert issubclass(WorkerDied, RuntimeError)
