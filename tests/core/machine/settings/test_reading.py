"""A machine's settings, from a file or put together by somebody else."""

from __future__ import annotations

import tomllib

import pytest

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster, Power, RateControl
from onega.core.machine.settings.description import setting_names
from onega.core.machine.settings.making import make_cluster
from onega.core.machine.settings.reading import check_settings, read_cluster

TEXT = """
procs = 80
[rate_control]
kind = "workload"
rates = [2.0, 2.66]
k_low = 1e5
k_high = 3e5
[power]
busy = [0.034, 0.041]
"""


def test_a_file_and_its_settings_make_the_same_machine(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(TEXT)
    control = RateControl("workload", rates=(2.0, 2.66), k_low=1e5, k_high=3e5)
    expected = Cluster(80, control, Power((0.034, 0.041)))
    assert read_cluster(path) == expected
    settings = {
        "procs": 80,
        "rate_control": {"kind": "workload", "rates": [2.0, 2.66], "k_low": 1e5, "k_high": 3e5},
        "power": {"busy": [0.034, 0.041]},
    }
    assert make_cluster(check_settings(settings)) == expected


@pytest.mark.parametrize(
    "text",
    ["a." * 9999 + "a = 1", "[" + "a." * 9999 + "a]", "x = {" + '"a" . ' * 3000 + "a = 1}"],
)
def test_a_key_of_very_many_parts_is_refused_unread(tmp_path, monkeypatch, text):
    path = tmp_path / "machine.toml"
    path.write_text(text)
    monkeypatch.setattr(tomllib, "loads", None)  # isn't called
    with pytest.raises(SimulationError, match="a key of more than 32 parts"):
        read_cluster(path)


def test_what_only_looks_like_a_long_key_is_read(tmp_path):
    path = tmp_path / "machine.toml"
    steps = ", ".join(f"[{n}.5, {n + 1}.25]" for n in range(100))
    path.write_text(f"# see 1.2.3.4.5\nprocs = 80\npower.busy = 1.5\npower_cap = [{steps}]\n")
    assert read_cluster(path).procs == 80


def test_settings_are_checked_by_name():
    with pytest.raises(SimulationError, match=r"unknown key 'buzy' in \[power\].*busy"):
        check_settings({"power": {"busy": 1.0, "buzy": 1.0}})
    with pytest.raises(SimulationError, match=r"procs: .*'many'"):
        check_settings({"procs": "many"})


def test_every_setting_has_a_dotted_name():
    names = list(setting_names())
    assert {"procs", "rate_control.kind", "rate_control.k_low", "power.busy"} <= set(names)
    assert len(names) == len(set(names))
    assert "power" not in names


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("procs = 8\n\n[power]\nbusy = 200\nidel = 9\n", 5, "unknown key 'idel'"),
        ('[[nodes]]\ncount = 4\n[[nodes]]\ncount = 2\nmemory = "lots"\n', 5, "memory of a node"),
        ("procs = 8\n[[queues]]\nname = 1\npriority = 'high'\n", 4, "queues 1.priority"),
        ("[[nodes]]\ncount = 4\n[[nodes]]\ncount = 0\n", 4, "nodes 2.count: must be at least 1"),
        ("procs = 8\n[power]\nidle = 9\n", 2, "power.busy"),
        ("procs = 8\n[sleep]\n[[sleep.states]]\ntimeout = 'x'\npower = 1\ndelay = 1\n"
         "wake_power = 1\n", 4, "timeout"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_the_line(tmp_path, text, line, message):
    path = tmp_path / "machine.toml"
    path.write_text(text)
    with pytest.raises(SimulationError) as caught:
        read_cluster(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert message in str(caught.value)
