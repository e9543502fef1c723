"""Repeated rows: extracts that overlap are told from tasks of an array that share an id."""

from __future__ import annotations

import pytest

import onega
from onega.traces.repeats import repeated_rows
from places import shared

HEAD = "job,submit,runtime,procs"
SINGLE = [f"{job},{100 * job},50,{job % 3 + 1}" for job in range(1, 9)]
ARRAY = ["20,500,60,1", "20,500,60,1", "20,500,70,1", "20,500,60,1"]
PAIR = ["30,900,60,1", "30,900,60,1"]


def read(tmp_path, rows):
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return onega.read(path)


@pytest.mark.parametrize(
    ("rows", "kept", "dropped"),
    [
        (SINGLE, 8, 0),
        (SINGLE + SINGLE[4:], 8, 4),  # the second extract begins at job 5
        (sorted(SINGLE + SINGLE[4:]), 8, 4),
        (SINGLE[:5] + SINGLE[5:] + SINGLE, 8, 8),
        (SINGLE + ARRAY, 12, 0),  # three tasks of 60 s are three jobs
        (SINGLE + ARRAY + PAIR, 14, 0),  # ids are shared by tasks here: equal ones, too
        (SINGLE + ARRAY + SINGLE[6:], 12, 2),
    ],
)
def test_what_is_a_repeat(tmp_path, rows, kept, dropped):
    log = read(tmp_path, rows)
    assert (len(log), log.meta.report.count("repeated_rows")) == (kept, dropped)
    assert not repeated_rows(log.table).any()
    cleaned, report = onega.clean(log)
    assert (len(cleaned), report.dropped) == (kept, 0)  # every command counts the same jobs
    if dropped:
        assert log.meta.report.findings[0].rule == "repeated_rows"  # before all other remarks


def test_array_tasks_and_components_that_stand_twice_in_sacct_s_output(tmp_path):
    """9 and 8 processors of a heterogeneous job are 17, however often it is printed."""
    head = "JobID|Submit|Start|ElapsedRaw|AllocCPUS"
    rows = ["5_1|0|0|9|1", "5_2|0|0|9|1", "7+0|10|10|5|9", "7+1|10|10|5|8", "8|20|20|5|1"]
    rows = [row.replace("|0|", "|1700000000|").replace("|10|10|", "|1700000010|1700000010|")
            .replace("|20|20|", "|1700000020|1700000020|") for row in rows]  # fmt: skip
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([head, *rows, *rows]) + "\n")
    log = onega.read(path)
    assert log.table["procs"].to_list() == [1, 1, 17, 1]
    assert log.meta.report.count("repeated_rows") == 5


def test_the_extract_of_eagle_keeps_all_tasks_of_its_array():
    log = onega.read(shared("traces", "nrel-eagle-sample.csv"))
    assert len(log) == len(onega.clean(log)[0]) == 1000
    assert log.table["job"].to_list().count(532939) == 452
