"""Tasks on processes: the same answers, what is shared sent once, deaths survived."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from onega.core.errors import ExperimentError, OnegaWarning
from onega.experiment.workers.processes import Processes
from onega.experiment.workers.workers import Threads, WorkerDied, heartbeat, run_all, run_each

TOOLS = '''
"""Functions that worker processes import."""
import os, signal, time
from pathlib import Path

from onega.experiment.workers.workers import heartbeat


class Parcel:
    """Says in a file whenever it arrives somewhere."""

    def __init__(self, folder, much):
        self.folder, self.much = folder, much

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)
        (Path(self.folder) / f"arrived-{os.getpid()}-{time.monotonic_ns()}").touch()


def square(number):
    return number * number


def add(number, parcel):
    time.sleep(0.01)
    return number + parcel.much, os.getpid()


def die_once(number, folder):
    """The process that gets 5 kills itself the first time."""
    mark = Path(folder) / "died"
    if number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_at_five(number):
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise ValueError("seven")
    return number


def endless(number, folder):
    (Path(folder) / f"began-{os.getpid()}").touch()
    while True:
        heartbeat()
        time.sleep(0.01)
'''


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A module that worker processes find: on sys.path, which spawning passes on."""
    folder = tmp_path_factory.mktemp("tools")
    (folder / "worker_tools.py").write_text(TOOLS)
    sys.path.insert(0, str(folder))
    import worker_tools

    yield worker_tools
    sys.path.remove(str(folder))


def test_same_values_as_without(tools):
    assert run_all(tools.square, range(20), workers=Processes(2)) == [n * n for n in range(20)]


def test_what_is_shared_is_sent_once_to_each_process(tools, tmp_path):
    parcel = tools.Parcel(str(tmp_path), 10)
    found = run_all(tools.add, range(40), shared=parcel, workers=Processes(2))
    assert [value for value, _ in found] == [n + 10 for n in range(40)]
    arrived = [name.split("-")[1] for name in os.listdir(tmp_path)]
    assert len(arrived) == len(set(arrived)) == 2
    assert {str(pid) for _, pid in found} <= set(arrived)


def test_a_process_that_dies_is_replaced_and_nothing_is_lost(tools, tmp_path):
    with pytest.warns(OnegaWarning, match="a worker process died"):
        found = run_all(tools.die_once, range(12), shared=str(tmp_path), workers=Processes(2))
    assert found == list(range(12))


def test_a_task_that_kills_its_process_is_given_up_alone(tools):
    with pytest.warns(OnegaWarning, match="a worker process died"):
        found = sorted(run_each(tools.die_at_five, range(10), workers=Processes(2)))
    assert [place for place, _, _ in found] == list(range(10))
    assert [value for _, value, error in found if error is None] == [0, 1, 2, 3, 4, 6, 8, 9]
    assert isinstance(found[5].error, WorkerDied)
    assert isinstance(found[7].error, ValueError)


@pytest.mark.parametrize("workers", [Processes(1), Threads(1)], ids=str)
def test_ctrl_c_ends_the_loop_and_the_workers(tools, tmp_path, workers):
    import polars as pl

    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert pl.Series([1]).sum() == 1  # with its handler of Ctrl-C, waiting is taken up again
    running = run_each(tools.endless, range(4), shared=str(tmp_path), workers=workers)

    before = threading.active_count()

    def stop_soon():
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=stop_soon).start()
    with pytest.raises(KeyboardInterrupt):
        next(running)
    assert threading.active_count() == before
    pid = int(next(tmp_path.iterdir()).name.split("-")[1])
    assert pid == os.getpid() or not alive(pid)


def alive(pid):
    """Whether a process runs; one that ended and wasn't collected doesn't."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_processes_do_not_outlive_a_killed_driver(tools, tmp_path):
    code = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(tools.__file__).parent)!r})
        from worker_tools import endless
        from onega.experiment.workers.processes import Processes
        from onega.experiment.workers.workers import run_all
        if __name__ == "__main__":
            run_all(endless, range(4), shared={str(tmp_path)!r}, workers=Processes(2))
    """)
    script = tmp_path.parent / "driver.py"
    script.write_text(code)
    driver = subprocess.Popen([sys.executable, str(script)])
    deadline = time.monotonic() + 240
    while len(list(tmp_path.iterdir())) < 2:
        assert time.monotonic() < deadline
        assert driver.poll() is None
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    pids = [int(path.name.split("-")[1]) for path in tmp_path.iterdir()]
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_processes_that_cannot_start_are_an_error_not_a_loop(tools, tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        textwrap.dedent("""
        from onega.core.errors import ExperimentError
        from onega.experiment.workers.processes import Processes
        from onega.experiment.workers.workers import run_all
        try:
            run_all(abs, range(3), workers=Processes(1))
        except ExperimentError as error:
            print(error)
        """)
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "__main__" in done.stdout


@pytest.mark.parametrize("count", [0, -1])
def test_a_wrong_number_of_processes_is_refused(count):
    with pytest.raises(ExperimentError, match="number of processes is at least 1"):
        Processes(count)


def test_processes_say_what_they_are():
    assert str(Processes(1)) == "1 process"
    assert str(Processes(3)) == "3 processes"


def test_a_heartbeat_here_is_not_disturbed_by_workers():
    heartbeat()
