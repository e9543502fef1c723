"""The report on a described machine: simulated where that can be done, said where it can't."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import onega
from cut_logs import hourly
from onega.machine import Multifactor, NodeGroup, Queue, UserLimits
from onega.pages import to_markdown
from onega.report.machine import as_told, described_parts, runnable
from onega.report.settings import default_policies

HOUR = 3600.0
NODES = (NodeGroup(2, 4, memory=1000.0),)


def fours(days=21, **columns):
    """Four jobs every fourth hour: an hour long, one processor, the memory of a whole node."""
    submit = np.repeat(np.arange(6 * days) * 4 * HOUR, 4)
    table = {
        "submit": submit,
        "runtime": np.full(submit.size, HOUR),
        "procs": np.ones(submit.size, int),
        "requested_memory": np.full(submit.size, 1000.0),
        "user": np.tile([1, 1, 2, 2], 6 * days),
        "wait": np.tile([0.0, 0.0, HOUR, HOUR], 6 * days),
    }
    return onega.Workload(table | columns).with_machine(8)


def report(log, cluster, **options):
    return onega.site_report(log, cluster=cluster, replicates=2, **options)


def test_simulations_run_on_the_nodes_that_are_described():
    """Two of four jobs wait for an hour, as the memory of two nodes is taken; a pool has none."""
    made = report(fours(), onega.Cluster(nodes=NODES), policies=("fcfs", "easy"))
    flat = made.summary()
    assert flat["procs"] == 8
    assert flat["described"] == ["nodes (memory)"]
    assert flat["fcfs_mean_wait"] == pytest.approx(HOUR / 2)
    assert flat["fcfs_mean_wait_mean"] == pytest.approx(HOUR / 2)
    assert flat["present_against_observed"] == pytest.approx(1)
    plain = report(fours(), 8, policies=("fcfs", "easy")).summary()
    assert plain["fcfs_mean_wait"] == 0
    assert plain["described"] == []
    page = to_markdown(made.document())
    assert "Simulated on the machine as described, with nodes (memory)." in page
    assert "This section takes the machine as 8 equal processors; left out of it: nodes" in page
    assert "partitions, memory, GPUs and licences" not in page  # of what isn't described


def test_slower_clocks_are_of_the_same_machine():
    made = report(fours(), onega.Cluster(nodes=NODES), policies=("fcfs",))
    found = made.answers.settings
    slow = found.on_log[found.clocks[-1]]
    assert slow.cluster.nodes == NODES
    assert slow.jobs["wait"].mean() == pytest.approx(HOUR / 0.8 / 2)


def test_weights_bring_the_rule_that_uses_them():
    plain, queues = onega.Cluster(8), (Queue("normal", default=True),)
    weighted = onega.Cluster(8, multifactor=Multifactor(), queues=queues)
    assert "multifactor+easy" not in default_policies(plain)
    assert default_policies(weighted) == (*default_policies(plain), "multifactor+easy")
    made = report(fours(), weighted, policies=("fcfs", "easy"))
    page = to_markdown(made.document())
    assert "multifactor weights and the factors of queues aren't used" in page
    assert "Simulated on the machine as described, with queues." in page


def test_a_log_without_users_is_simulated_without_what_needs_them():
    cluster = onega.Cluster(8, multifactor=Multifactor(), user_limits=UserLimits(max_jobs=1))
    unknown = fours(user=np.full(504, None))
    assert as_told(cluster, fours()) is cluster
    told = as_told(cluster, unknown)
    assert told.user_limits is None
    assert told.multifactor.fair_share == 0
    made = report(unknown, cluster)
    assert made.answers.settings is not None
    assert "fair share and limits per user aren't simulated" in to_markdown(made.document())


def test_samples_of_a_short_log_know_less_than_the_log():
    """One job of each user at once: on the log two of four jobs wait, samples have no users."""
    runtime = np.tile([HOUR, HOUR / 2], 60)  # the second of each user waits for the first
    short = fours(days=5, runtime=runtime)
    cluster = onega.Cluster(8, user_limits=UserLimits(max_jobs=1))
    made = report(short, cluster, policies=("fcfs", "easy"))
    assert made.summary()["fcfs_mean_wait"] == pytest.approx(HOUR / 2)
    assert made.answers.settings.lost == ("users", "memory")
    page = to_markdown(made.document())
    assert "Samples of a model don't tell their jobs' users and memory" in page
    assert "Both run on 8 equal processors here; left out of it: limits per user." in page


def test_jobs_that_no_node_can_take_are_left_out_and_said():
    log = fours()
    greedy = log.with_columns(
        pl.when(pl.col("job") == 3)
        .then(2000.0)
        .otherwise("requested_memory")
        .alias("requested_memory"),
        note="one wants more",
    )
    kept, found = runnable(greedy, onega.Cluster(nodes=NODES))
    assert len(kept) == len(log) - 1
    assert found.dropped == 1
    made = report(greedy, onega.Cluster(nodes=NODES), policies=("fcfs", "easy"))
    assert made.summary()["jobs"] == len(log) - 1
    assert "Not counted here: 1 row of the log (" in made.document().sections[0].blocks[2].items[0]


def test_parts_have_names():
    assert described_parts(onega.Cluster(8, onega.RateControl(rates=0.5))) == ()
    assert described_parts(onega.Cluster(8, multifactor=Multifactor())) == ("multifactor weights",)
    gpus = (NodeGroup(1, 4, gpus=2), NodeGroup(1, 4))
    assert described_parts(onega.Cluster(nodes=gpus)) == ("nodes (GPUs)",)


# What is said is of the jobs that are counted.


def test_repeated_rows_prove_nothing_about_the_machine():
    log = hourly(days=30, long_last_job=False)
    twice = onega.Workload(pl.concat([log.table, log.table]), log.meta)
    made = report(twice, 10, policies=("fcfs", "easy"))
    flat = made.summary()
    assert flat["jobs"] == len(log)
    assert flat["size_warning"] is None
    first = to_markdown(made.document()).split("## What the load is")[0]
    assert f"Not counted here: {len(log)} rows of the log (rows that repeat an earlier" in first


def test_work_a_day_is_in_processor_hours():
    """A job an hour for three weeks, nine hours each."""
    made = report(hourly(long_last_job=False), 10, policies=("fcfs", "easy"))
    said = to_markdown(made.document())
    assert "in 505 jobs that ran: 216 processor-hours and 24 jobs a day." in said
    seven = hourly(long_last_job=False).select(pl.col("submit") < 7 * HOUR)
    made = report(seven, 10, policies=("fcfs", "easy"))
    said = to_markdown(made.document())
    assert "in 7 jobs that ran." in said
    assert "7 jobs on 10 processors, 2024-01-01." in said
    assert "1 January 2024, 00:00 to 06:00" in said


def test_two_loads_have_two_names():
    """Idle for three days, then full: over the whole log far less is asked for."""
    submit = np.concatenate([np.arange(3) * 24 * HOUR, 72 * HOUR + np.arange(500) * 0.24 * HOUR])
    columns = {"submit": submit, "runtime": np.full(503, HOUR), "procs": np.full(503, 2)}
    late = onega.Workload(columns).with_machine(8)
    made = report(replace(late), 8, policies=("fcfs", "easy"))
    facts = {
        one.label: one for section in made.document().sections
        for block in section.blocks if hasattr(block, "items")
        for one in block.items if hasattr(one, "label")
    }  # fmt: skip
    whole = f"{100 * 503 * 2 / 8 / ((submit[-1] - submit[0]) / HOUR):.0f} %"
    assert facts["Asked for"].value == "104 %"
    assert f"over the whole log, first to last submission, it is {whole}" in (
        facts["Asked for"].meaning
    )
    assert facts["Room left under EASY"].meaning.endswith("asked for once the machine had filled.")
    keeps_up = facts["Does first come, first served keep up?"].meaning
    assert "over the whole log" in keeps_up
    assert "104 %" in keeps_up


def test_simulations_that_fail_are_missed_on_the_first_screen():
    """A short log whose jobs all run for an hour has no model to draw samples from."""
    made = report(fours(days=5), 8, policies=("fcfs", "easy"))
    assert "settings" in made.answers.missing
    first = made.document().sections[0].blocks[0].text
    assert "What other settings would give can't be told: markov-pair: all 120 jobs" in first
