"""Observed beside simulated on the page: the same jobs, over the same time, said so."""

from __future__ import annotations

import html
import io

import numpy as np
import polars as pl
import pytest

import onega
from cut_logs import hourly
from onega.traces.writing import WRITERS


def as_swf(log):
    out = io.BytesIO()
    WRITERS["swf"](log, out)
    return out.getvalue()


@pytest.fixture(scope="module")
def cancelled():
    """A log of a month in which every tenth job was cancelled before it ran, after a long wait."""
    log = hourly(days=30)
    tenth = pl.Series(np.arange(len(log)) % 10 == 3)
    return log.with_columns(
        pl.when(tenth).then(0.0).otherwise(pl.col("runtime")).alias("runtime"),
        pl.when(tenth).then(1e6).otherwise(pl.col("wait")).alias("wait"),
        note="some cancelled",
    )


@pytest.fixture(scope="module")
def uploaded(client, cancelled):
    return client.upload(as_swf(cancelled), name="cancelled.swf")


def test_observed_and_simulated_are_of_the_same_jobs(client, uploaded, cancelled):
    observed, easy = client.run(uploaded, "observed"), client.run(uploaded, "easy")
    ran = int((cancelled.column("runtime") > 0).sum())
    assert observed["result"]["jobs"] == easy["result"]["jobs"] == ran
    assert observed["result"]["mean_wait"] == 0.0  # 1e5 s with those that never ran
    assert observed["result"]["left_out"] == len(cancelled) - ran


def test_jobs_without_a_wait_are_left_out_on_both_sides(client, cancelled):
    """Early jobs have no wait: observed means are of the rest, and simulated ones too."""
    log = cancelled.select(cancelled.column("runtime") > 0)
    late = pl.Series(np.arange(len(log)) >= 100)
    some = log.with_columns(pl.when(late).then(pl.col("wait")).alias("wait"), note="some waits")
    item = client.upload(as_swf(some), name="some-waits.swf")
    runs = [client.run(item, policy, procs=10) for policy in ("observed", "fcfs")]
    assert [run["result"]["jobs"] for run in runs] == [len(log) - 100, len(log)]
    ids = ",".join(run["id"] for run in runs)
    found = client.get("/api/compare", params={"runs": ids}).json()
    assert f"over the {len(log) - 100:,} jobs that all these runs have" in found["notes"][0]
    means = {row["key"]: row["values"] for row in found["measures"]}
    schedule = onega.simulate(log, 10, "fcfs")
    assert means["mean_response"][1] == pytest.approx(schedule.jobs["response"][100:].mean())
    page = client.get(f"/compare?runs={runs[0]['id']}&runs={runs[1]['id']}").text
    assert "jobs that all these runs have" in page


def test_the_page_says_over_what_time_a_machine_is_measured(client):
    item = client.upload(as_swf(hourly()), name="hourly.swf")
    assert any("still ran at its last submission" in one for one in item["result"]["warnings"])
    assert "still ran at its last submission" in client.get(f"/logs/{item['id']}").text
    run = client.run(item, "easy")
    assert run["result"]["utilisation"] < 0.32
    assert run["result"]["window_utilisation"] == pytest.approx(0.9)
    page = client.get(f"/compare?runs={run['id']}").text
    assert "1 January 2024 08:00 to 22 January 2024 00:00 (from when the machine had" in page
    assert "90.0 %" in page
    whole = client.run(item, "easy", window="whole")
    assert whole["result"]["window_utilisation"] == whole["result"]["utilisation"]


def test_the_page_says_that_a_size_can_t_be_right(client):
    item = client.upload(as_swf(hourly()), name="hourly.swf", procs=4)
    wrong = "4 processors can't be right, unless jobs shared processors"
    assert item["result"]["sentences"][0].startswith(wrong)
    run = client.run(item, "observed")
    assert run["result"]["size_warning"].startswith(wrong)
    page = html.unescape(client.get(f"/compare?runs={run['id']}").text)
    assert page.index(wrong) < page.index("busy processors")
    assert "225.0 % (more than there is)" in page
    assert client.run(item, "easy", procs=20)["result"]["size_warning"] is None


def test_a_window_that_is_asked_for_is_of_waits_too(client):
    """The first half of the jobs wait, the second doesn't: a window tells them apart."""
    log = hourly(days=20, long_last_job=False)
    early = pl.col("submit") < 10 * 86400
    log = log.with_columns(pl.when(early).then(7200.0).otherwise(0.0).alias("wait"), note="waits")
    item = client.upload(as_swf(log), name="halves.swf")
    first, second, both = (
        client.run(item, "observed", window=window) for window in ("..10d", "10d..", "log")
    )
    assert (first["name"], both["name"]) == ("observed, over ..10d", "observed")

    def waits(*runs):
        found = client.get("/api/compare", params={"runs": ",".join(one["id"] for one in runs)})
        rows = {row["key"]: row["values"] for row in found.json()["measures"]}
        return rows["mean_wait"], found.json()["notes"]

    assert waits(first)[0] == [7200.0]
    means, notes = waits(first, second)
    assert means == [7200.0, 0.0]
    assert "over the 240 jobs and 241 jobs submitted in the time asked for" in notes[0]
    assert "observed, over ..10d: 1 January 2024 00:00 to 11 January" in notes[1]
    assert waits(both)[0] == [pytest.approx(7200 * 240 / 481)]
    page = client.get(f"/logs/{item['id']}").text
    assert page.count('<td class="n">2 h</td>') == 3  # mean and 95 % of the first, 95 % of all


def test_no_gain_over_what_was_observed_is_suggested(client, uploaded):
    """Changes are between simulations; the page says how far they are from what happened."""
    runs = [client.run(uploaded, policy, procs=12) for policy in ("observed", "fcfs", "easy")]
    ids = ",".join(run["id"] for run in runs)
    found = client.get("/api/compare", params={"runs": ids}).json()
    for row in found["measures"]:
        assert row["change"][0] is None, row["key"]  # observed
        assert row["change"][1] in (None, 0.0), row["key"]  # the baseline itself
        assert not row["best"][0]
    page = html.unescape(client.get("/compare?" + "&".join(f"runs={r['id']}" for r in runs)).text)
    assert "change against fcfs, 12 processors" in page
    log = hourly(days=20, long_last_job=False)
    waited = log.with_columns(pl.lit(3600.0).alias("wait"), note="an hour each")
    item = client.upload(as_swf(waited), name="waited.swf")
    pair = [client.run(item, policy) for policy in ("observed", "easy")]
    notes = client.get("/api/compare", params={"runs": ",".join(r["id"] for r in pair)}).json()
    assert any("is 0 times the observed one" in one for one in notes["notes"])
    alone = client.get("/api/compare", params={"runs": pair[0]["id"]}).json()
    assert not any("observed one" in one for one in alone["notes"])
