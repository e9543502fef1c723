"""Digits of other scripts, and numbers too large: refused in one line, not by a parser."""

from __future__ import annotations

import pytest

import onega
from onega.core.errors import SimulationError, TraceError
from onega.core.slurm.parameters import SlurmParameters, slurm_duration

HEADER = "JobID|Submit|Start|End|State|AllocCPUS|Timelimit|ReqMem"
ROW = "{}|2024-01-01T00:00:0{}|2024-01-01T00:01:00|2024-01-01T01:00:00|COMPLETED|4|{}|{}"


@pytest.mark.parametrize("digits", ["١٢", "１２", "²"])
@pytest.mark.parametrize("field", ["job", "limit", "memory"])
def test_digits_of_other_scripts_are_no_numbers(tmp_path, digits, field):
    cells = {"job": "2", "limit": "60:00", "memory": "4G"}
    cells[field] = digits + ("G" if field == "memory" else "")
    log = tmp_path / "sacct.txt"
    rows = [
        ROW.format("1", 0, "60:00", "4G"),
        ROW.format(cells["job"], 1, *list(cells.values())[1:]),
    ]
    log.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    with pytest.raises(TraceError) as caught:
        onega.read(log)
    assert caught.value.line == 3


def test_a_separator_is_one_character(tmp_path):
    (tmp_path / "log.csv").write_text("submit,runtime,procs\n0,1,1\n")
    (tmp_path / "map.toml").write_text("separator = 1.5\n")
    with pytest.raises(TraceError, match="one character"):
        onega.read(tmp_path / "log.csv", columns=tmp_path / "map.toml")


def test_numbers_of_slurm_are_bounded(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"PriorityType=priority/multifactor\nPriorityWeightAge={'9' * 400}\n")
    with pytest.raises(SimulationError, match="a weight is a whole number"):
        SlurmParameters.parse(str(conf))
    with pytest.raises(SimulationError, match="not a time of Slurm"):
        slurm_duration("9" * 400)


SWF_ROW = "{} 0 1 100 4 90 2048 8 3600 4096 1 3 2 7 1 0 -1 -1\n"


@pytest.mark.parametrize("number", ["9223372036854775808", "9223372036854775808.0", "9.3e18"])
def test_ids_fit_into_64_bits(tmp_path, number):
    (tmp_path / "log.swf").write_text(SWF_ROW.format(1) + SWF_ROW.format(number))
    with pytest.raises(TraceError, match=r"line 2, field job"):
        onega.read(tmp_path / "log.swf")


@pytest.mark.parametrize("amount", ["1e300", "9" * 18 + "P"])
def test_memory_is_below_an_exbibyte(tmp_path, amount):
    rows = [ROW.format("1", 0, "60:00", "4G"), ROW.format("2", 1, "60:00", amount)]
    (tmp_path / "log").write_text("\n".join([HEADER, *rows]) + "\n")
    with pytest.raises(TraceError, match=r"line 3, field ReqMem: .* up to 1.15292e[+]18 bytes"):
        onega.read(tmp_path / "log")


def test_numbers_far_below_zero_are_missing(tmp_path):
    row = "2 0 1 100 4 90 2048 8 3600 4096 1 -1e300 2 7 1 0 -9223372036854775809.0 -1\n"
    (tmp_path / "log.swf").write_text(SWF_ROW.format(1) + row)
    log = onega.read(tmp_path / "log.swf")
    assert log.table.select("user", "after").row(1) == (None, None)
    assert log.meta.report.summary() == {"negative_user": 1, "negative_after": 1}
