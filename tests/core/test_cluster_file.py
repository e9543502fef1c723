"""A machine's settings, from a file or put together by somebody else."""

from __future__ import annotations

import pytest

from onega.core.cluster import Cluster, Power, RateControl
from onega.core.cluster_file import check_settings, make_cluster, read_cluster, setting_names
from onega.core.errors import SimulationError

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
