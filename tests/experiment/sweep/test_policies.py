"""Policies of a sweep: one name each, objects as well as names."""

from __future__ import annotations

import pytest

import onega
from experiment.sweeps import same, small_log
from onega.core.errors import ExperimentError
from onega.experiment.sweep.sweep import Sweep

LOG = small_log()


def narrow_first(now, submit, estimate, procs):
    """Order by width."""
    return procs


def test_a_policy_has_one_name_in_sweep_and_replicate(tmp_path):
    swept = onega.sweep({"vary": {"policy": ["easy", "SPF+easy"]}}, tmp_path / "a", workload=LOG)
    compared = onega.compare_policies(LOG, None, ["easy", "SPF+easy"], resample="none")
    assert swept.to_polars()["policy"].to_list() == list(compared.replicates.policies)
    with pytest.raises(ExperimentError, match=r"'fcfs\+easy' twice"):
        onega.sweep({"vary": {"policy": ["easy", "fcfs+easy"]}}, tmp_path / "b", workload=LOG)


def test_policy_objects_are_swept(tmp_path):
    rules = [onega.Policy("fcfs", "easy"), onega.Policy(narrow_first, "easy"), narrow_first]
    spec = {"vary": {"policy": rules, "procs": [16, 20]}}
    found = onega.sweep(spec, tmp_path / "out", workload=LOG)
    table = found.to_polars()
    assert table["policy"].unique(maintain_order=True).to_list() == [
        "fcfs+easy", "narrow_first+easy", "narrow_first",
    ]  # fmt: skip
    for row, rule in zip(table.to_dicts(), [one for one in rules for _ in (1, 2)], strict=True):
        expected = onega.simulate(LOG, row["procs"], rule).summary()
        assert row["mean_wait"] == expected["mean_wait"]
    assert same(Sweep.load(tmp_path / "out").to_polars(), table)  # the folder needs no objects


def test_another_function_of_the_same_name_is_another_policy(tmp_path):
    def ordered(factor):
        def mine(now, submit, estimate, procs):
            return factor * procs

        return onega.Policy(mine)

    onega.sweep({"vary": {"policy": [ordered(1.0)]}}, tmp_path / "out", workload=LOG)
    with pytest.raises(ExperimentError, match="holds another sweep"):
        onega.sweep({"vary": {"policy": [ordered(-1.0)]}}, tmp_path / "out", workload=LOG)
    both = {"vary": {"policy": [ordered(1.0), ordered(-1.0)]}}
    with pytest.raises(ExperimentError, match="two different policies are called 'mine'"):
        onega.sweep(both, tmp_path / "two", workload=LOG)
