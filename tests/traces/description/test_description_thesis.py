"""Our measures beside Song's (2006) printed ones: the tables of docs/describe.md, computed again.

The page is the source: each row gives where the thesis prints a figure, the measure's key in
``summary()``, the printed figure, ours, and a letter if they differ. A row without a letter has to
agree within one unit of the last printed digit (the thesis cuts digits off at times).

Every measure is also compared with its twin on a small log of our own making, which needs nothing
beside the repository.
"""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

import onega
from places import ROOT, beside, made, shared
from reference.description import thesis

LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.1-cln.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "LANL-CM5": "LANL-CM5-1994-4.1-cln.swf.gz",
}
SMALL = {"KTH-SP2": "made-100.swf", "SDSC-SP2": "made-128.swf", "LANL-CM5": "made-1024.swf"}
"""What stands in for each in small."""

ROW = re.compile(r"\| (Tables? [\d., ]+) \| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]*) ?\|")


def rows():
    page = (ROOT / "docs" / "describe.md").read_text(encoding="utf-8")
    for log in LOGS:
        part = page.split(f"### {log}\n")[1].split("###")[0]
        for match in ROW.finditer(part):
            where, measure, printed, ours, why = (text.strip() for text in match.groups())
            yield pytest.param(log, measure, printed, ours, why, id=f"{log} {where} {measure}")


ROWS = list(rows())


@cache
def workload(log):
    return onega.read(shared("traces", LOGS[log]))


@cache
def summary(log):
    return onega.describe(workload(log)).summary()


def measured(flat, measure):
    """A key of the summary, or ``key[row]`` of one of its tables."""
    key, _, place = measure.removesuffix("]").partition("[")
    if not place:
        return flat[key]
    column = {"frequent_estimates": "estimate", "submissions_per_user": "low"}[key]
    return next((row["share"] for row in flat[key] if row[column] == float(place)), None)


def parse(text):
    """``37.5 %`` → (37.5, 1 digit, factor 100)."""
    number, _, unit = text.partition(" ")
    digits = len(number.partition(".")[2])
    return float(number), digits, {"%": 100, "h": 1 / 3600, "": 1}[unit]


def test_the_page_has_every_table():
    assert len(ROWS) == 110
    assert sum(row.values[0] == "KTH-SP2" for row in ROWS) == 38


@cache
def small(log):
    """The description of a small log, and what its twin says."""
    found = onega.read(made(SMALL[log]))
    return onega.describe(found).summary(), thesis(found.table.to_dicts()) | {
        "procs": int(SMALL[log].removeprefix("made-").removesuffix(".swf"))
    }


@pytest.mark.parametrize(("log", "measure", "printed", "ours", "why"), ROWS)
def test_measures_beside_the_thesis(log, measure, printed, ours, why):
    flat, twin = small(log)
    expected = twin.get(measure)  # None: not among the twenty most frequent
    found = measured(flat, measure)
    assert found == (None if expected is None else pytest.approx(expected, rel=1e-12))
    if beside("traces", LOGS[log]) is None:
        return
    value = measured(summary(log), measure)
    number, digits, factor = parse(printed)
    if ours == "–":
        assert value is None
        return
    assert f"{value * factor:.{digits}f}" == ours.split()[0], "the page's own column is out of date"
    near = abs(value * factor - number) <= (10**-digits if digits else 0.5) + 1e-9
    assert near == (why == ""), f"{value * factor} is printed as {printed}"


def test_an_eighth_width_state_is_the_job_without_a_width():
    # Remark b.
    widths = workload("KTH-SP2").column("procs")
    assert np.isnan(widths).sum() == 1
    assert np.unique(np.floor(np.log2(widths[widths > 0]))).size + 1 == 8


def test_six_seconds_of_grace_give_table_4_2():
    # Remark c.
    log = workload("KTH-SP2")
    width, estimate = log.column("procs"), log.column("estimate")
    forgiven = np.maximum(log.column("runtime") - 6, 0)
    area = np.nan_to_num(log.column("runtime") * width)
    found = []
    for limit in (1, 1.1):
        over = forgiven / estimate > limit
        found += [over.mean(), area[over].sum() / area.sum()]
    assert [round(100 * share, 1) for share in found] == [1.1, 1.8, 0.2, 1.1]


def test_table_5_1_was_cut_at_300():
    # Remark d.
    counts = workload("KTH-SP2").table["user"].value_counts()["count"].to_numpy()
    shares = [((counts >= a) & (counts < b)).mean() for a, b in ((100, 300), (300, 1000))]
    assert [round(100 * share, 2) for share in shares] == [18.22, 12.15]


def test_the_active_users_of_figure_5_1():
    widths = {row["user"]: row["mean_width"] for row in summary("KTH-SP2")["active_users"]}
    narrow, wide = {91, 93}, {18, 67}
    assert narrow | wide <= set(widths)
    ordered = sorted(widths, key=widths.__getitem__)
    assert set(ordered[:2]) == narrow
    assert set(ordered[-2:]) == wide


def test_estimates_of_lanl():
    # Remark e: 91 % of the cleaned log's jobs have one.
    assert summary("LANL-CM5")["estimate_known_share"] == pytest.approx(0.91, abs=0.005)


def test_the_cycles_of_figures_7_1_and_7_2():
    flat = summary("KTH-SP2")
    by_hour, by_day = np.array(flat["jobs_by_hour"]), np.array(flat["jobs_by_weekday"])
    assert by_hour[9:18].min() > by_hour[[*range(8), *range(19, 24)]].max()
    assert by_day[5:].max() < by_day[:5].min()
    runtime = np.array(flat["runtime_by_weekday"])
    assert np.average(runtime[5:], weights=by_day[5:]) > np.average(runtime[:5], weights=by_day[:5])
    hours = np.array(flat["runtime_by_hour"])
    night = [*range(7), *range(19, 24)]
    assert np.average(hours[night], weights=by_hour[night]) > np.average(
        hours[9:18], weights=by_hour[9:18]
    )
    # "The average parallelism is longer at night and in the morning comparing that at noon."
    widths = np.array(flat["procs_by_hour"])
    assert widths[4:9].min() > widths[12]
