"""Policies of a sweep: one name each, objects as well as names."""

from __future__ import annotations

import pytest

import onega
from experiment.sweeps import same, small_log, write_sweep
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


CONF = "SchedulerParameters=bf_interval={}\n"


def test_a_changed_slurm_conf_is_noticed(tmp_path, monkeypatch):
    """From its own folder, where its name alone would find the new one, and from another."""
    spec = write_sweep(tmp_path, 'seed = 1\n[vary]\npolicy = ["slurm:s.conf", "easy"]\n')
    conf = tmp_path / "s.conf"
    (tmp_path / "else").mkdir()
    for folder, file in ((tmp_path, spec.name), (tmp_path / "else", f"../{spec.name}")):
        monkeypatch.chdir(folder)
        conf.write_text(CONF.format(1))
        first = onega.sweep(file, "out").to_polars()
        assert first["policy"].to_list() == ["slurm:s.conf", "fcfs+easy"]
        conf.write_text(CONF.format(10_000))
        with pytest.raises(
            ExperimentError, match=r"slurm:s\.conf holds something else than it did"
        ):
            onega.sweep(file, "out")
        second = onega.sweep(file, "out", replace_spec=True).to_polars()
        expected = onega.simulate(small_log(), None, f"slurm:{conf}", rng=1).summary()
        assert second["mean_wait"][0] == expected["mean_wait"] != first["mean_wait"][0]
        assert second["mean_wait"][1] == first["mean_wait"][1]


def test_a_changed_file_of_laws_makes_its_runs_again(tmp_path):
    spec = write_sweep(tmp_path, 'policy = "easy"\n[vary]\noverheads = ["none", "laws.json"]\n')
    laws = tmp_path / "laws.json"
    laws.write_text('{"completion": 1}')
    first = onega.sweep(spec, tmp_path / "out").to_polars()
    laws.write_text('{"completion": 1000}')
    with pytest.raises(ExperimentError, match=r"laws\.json holds something else than it did"):
        onega.sweep(spec, tmp_path / "out")
    second = onega.sweep(spec, tmp_path / "out", replace_spec=True).to_polars()
    assert second["mean_wait"][1] > first["mean_wait"][1]


def test_two_sites_slurm_confs_are_two_policies(tmp_path):
    for site in ("one", "other"):
        (tmp_path / site).mkdir()
        (tmp_path / site / "slurm.conf").write_text(CONF.format(30))
    spec = write_sweep(
        tmp_path, '[vary]\npolicy = ["slurm:one/slurm.conf", "slurm:other/slurm.conf"]\n'
    )
    table = onega.sweep(spec, tmp_path / "out").to_polars()
    assert table["policy"].to_list() == ["slurm:one/slurm.conf", "slurm:other/slurm.conf"]
    assert table["mean_wait"].n_unique() == 1  # the same settings


def test_a_policy_that_knows_more_than_its_name_says_why_it_differs(tmp_path):
    knows = {"vary": {"policy": [onega.Policy("fcfs", "easy", "runtime")]}}
    onega.sweep(knows, tmp_path / "out", workload=LOG)
    with pytest.raises(ExperimentError, match=r"fcfs\+easy holds something else than it did"):
        onega.sweep({"vary": {"policy": ["easy"]}}, tmp_path / "out", workload=LOG)


def test_a_changed_map_of_columns_is_noticed(tmp_path):
    rows = "".join(f"{10 * n},{20 + n},{40 + n},1\n" for n in range(40))
    (tmp_path / "jobs.csv").write_text("t,short,long,n\n" + rows)
    spec = tmp_path / "sweep.toml"
    spec.write_text(
        '[fixed]\ntrace = "jobs.csv"\nprocs = 2\n[vary]\npolicy = ["fcfs"]\n'
        '[read]\nformat = "csv"\ncolumns = "map.toml"\n'
    )
    columns = '[columns]\nsubmit = "t"\nprocs = "n"\nruntime = "{}"\n'
    waits = []
    for runtime in ("short", "long"):
        (tmp_path / "map.toml").write_text(columns.format(runtime))
        if waits:
            with pytest.raises(ExperimentError, match=r"map\.toml holds something else"):
                onega.sweep(spec, tmp_path / "out")
        found = onega.sweep(spec, tmp_path / "out", replace_spec=True)
        waits.append(found.to_polars()["mean_wait"][0])
    assert waits[0] < waits[1]
