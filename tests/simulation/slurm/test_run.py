"""The model of Slurm's scheduler: its naive twin, hand-made cases, invariants, real runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega.comparison.virtual_slurm.virtual import submission_times
from onega.core.errors import OnegaWarning
from onega.core.slurm.conf import read_slurm_conf
from onega.core.slurm.parameters import SlurmParameters, slurm_duration
from onega.simulation.slurm.run import SlurmDelays, limit_seconds, one_by_one, simulate_slurm
from simulation.slurm.cases import (
    FINE,
    LAWS,
    PARAMETERS,
    busy_stream,
    check,
    check_drawn,
    policy,
    random_problem,
    workload,
)


@st.composite
def cases(draw):
    n, procs = draw(st.integers(1, 14)), draw(st.integers(1, 9))
    gap = st.one_of(st.integers(0, 80), st.just(0), st.integers(300, 1200))
    gaps = draw(st.lists(gap, min_size=n, max_size=n))
    rows = [
        (
            draw(st.one_of(st.integers(1, 300), st.integers(600, 1500))),
            draw(st.integers(1, procs)),
            draw(st.integers(1, 400)),
            draw(st.sampled_from([0.0, 0.3, 2.7])),
            draw(st.sampled_from([0.0, 0.1, 3.3])),
            draw(st.sampled_from([0.0, 0.2, 4.1])),
        )
        for _ in range(n)
    ]
    parameters = draw(st.sampled_from(PARAMETERS))
    late = [draw(st.sampled_from([0.0, 0.0, 0.001, 0.017, 0.4, 2.5])) for _ in range(2)]
    return np.cumsum(gaps), rows, procs, parameters, late


@settings(max_examples=60, deadline=None)
@given(cases())
def test_agrees_with_the_naive_twin(case):
    submit, rows, procs, parameters, late = case
    runtime, width, estimate, overrun, release, reports = (
        np.array(column, dtype=float) for column in zip(*rows)
    )
    jobs = workload(submit, runtime, width.astype(int), estimate)
    delays = SlurmDelays(np.zeros(len(jobs)), overrun, release, reports, *late)
    check(jobs, procs, parameters, delays)


@pytest.mark.parametrize("seed", range(30))
def test_small_random_problems_agree_with_the_naive_twin(seed):
    check(*random_problem(seed))


def test_a_job_that_a_cycle_starts_may_end_before_the_beat_that_would_have_been_next():
    """Its end asks for a pass, so that beats must not be skipped beyond the cycle."""
    jobs, procs, parameters, delays = random_problem(1539)
    check(jobs, procs, parameters, replace(delays, beat=0.0, cycle=0.0))


def test_plans_are_rounded_in_unix_time():
    """A reservation at 120 s is at a full minute, or begins at 90 s where 30 is one.

    The narrow job would end at about 101 s: it starts before the first of these alone.
    """
    jobs = workload([0, 1, 40], [130, 60, 60], [3, 4, 1], [70, 60, 60])
    starts = {}
    for epoch in (0.0, 30.0):
        dated = onega.Workload(jobs.table, onega.Meta(epoch=epoch))
        parameters = SlurmParameters(bf_interval=10, batch_sched_delay=0)
        starts[epoch] = simulate_slurm(dated, onega.Cluster(4), policy(parameters)).start
        check(dated, 4, parameters)
    assert starts[0.0][2] < 60 < starts[30.0][2]


def test_loops_that_take_longer_than_their_seconds_drift():
    """Beats come at 1.25 k − 0.5, and start what has come; only the first job finds a cycle."""
    due = np.arange(0.0, 60.0, 10.0)
    jobs = workload(due, [5] * 6, [1] * 6, [60] * 6)
    late = replace(SlurmDelays.none(6), beat=0.25)
    rules = SlurmParameters(batch_sched_delay=0, bf_interval=600)
    start = simulate_slurm(jobs, onega.Cluster(1), policy(rules), delays=late).start
    beats = -0.5 + 1.25 * np.arange(60)
    np.testing.assert_array_equal(start[1:], [beats[beats >= t].min() for t in due[1:]])


@pytest.mark.parametrize("rule", ["slurm", "slurm:fine", "slurm:bf_interval=7;sched_interval=13"])
@pytest.mark.parametrize("seed", range(4))
def test_overheads_of_a_cluster_are_those_of_the_naive_twin(rule, seed):
    """`simulate` draws; the twin gets the same draws, submission by submission."""
    rng = np.random.default_rng(seed)
    count, procs = 40, 16
    runtime, width = rng.integers(20, 300, count), rng.integers(1, 17, count)
    jobs = workload(np.cumsum(rng.integers(0, 40, count)), runtime, width, 2 * runtime)
    schedule = check_drawn(jobs, procs, rule, seed)
    assert "completion gamma" in schedule.provenance[-1]
    again = onega.simulate(jobs, onega.Cluster(procs, overheads=LAWS), rule, rng=seed)
    np.testing.assert_array_equal(again.end, schedule.end)


def test_a_launch_comes_on_top_and_other_parts_of_a_machine_are_refused():
    jobs = workload([0.0], [100], [2], [200])
    plain, launched = (
        onega.simulate(jobs, onega.Cluster(4, overheads=onega.Overheads(a)), "slurm")
        for a in (0.0, 7.0)
    )
    # Where in the second the loops stand is drawn with overheads.
    assert launched.end[0] - np.floor(launched.start[0]) == 107
    assert plain.end[0] - np.floor(plain.start[0]) == 100
    machine = onega.Cluster(4, overheads=onega.Overheads(1.0), sleep=SLEEP)
    with pytest.raises(onega.SimulationError, match="slurm knows overheads too"):
        onega.simulate(jobs, machine, "slurm")


SLEEP = onega.Sleep([onega.SleepState(60.0, 1.0, 5.0, 10.0)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("parameters", "count"), [(SlurmParameters(), 60), (FINE, 18)])
def test_long_queues_agree_with_the_naive_twin(parameters, count, seed):
    """Plans that are kept, moved and added to: a long queue, estimates that are wrong."""
    jobs, procs = busy_stream(seed, count)
    check(jobs, procs, parameters)


@pytest.mark.parametrize("rule", ["slurm", "slurm:fine", "slurm:bf_interval=7;sched_interval=13"])
def test_idle_time_is_jumped_over(rule):
    """One job dated 1970 took minutes, and so did one that ran for years while others waited."""
    now = 1.7e9
    alone = onega.simulate(workload([0, now], [60, 60], [1, 1], [60, 60]), 4, rule)
    assert alone.start.tolist() == [0.25, now + 0.25]
    # Over the whole machine: two wait for 3 000 years. Over a part of it: the wide job gets no
    # reservation, as its start is beyond the window, so that the narrow one goes first.
    for width in (4, 3):
        jobs = workload([0, 5, 6], [1e11, 60, 60], [width, 4, 1], [2e11, 60, 4e11])
        waiting = onega.simulate(jobs, 4, rule)
        assert waiting.end[0] == 1e11
        assert 1e11 < waiting.start[1] <= 1e11 + 4  # the next beat, three seconds after a pass
        assert (waiting.start[2] < 60) == (width == 3)


def test_a_machine_of_any_size_takes_no_memory_that_its_jobs_dont_need():
    jobs = workload([0, 1, 2, 30], [50, 60, 70, 80], [4, 9, 1, 64], [60, 60, 60, 60])
    small, huge = (onega.simulate(jobs, size, "slurm") for size in (156, 2**31 - 1))
    np.testing.assert_array_equal(small.start, huge.start)
    delays = SlurmDelays(*(np.array(v) for v in ([0.0] * 4, [2.0] * 4, [3.0] * 4, [4.0] * 4)))
    small, huge = (
        simulate_slurm(jobs, onega.Cluster(size), policy(FINE), delays=delays)
        for size in (156, 2**31 - 1)
    )
    np.testing.assert_array_equal(small.start, huge.start)


def test_what_the_model_cannot_hold_is_refused_in_a_line():
    many = workload([0] * 9, [1] * 9, [2**31 - 1] * 9, [60] * 9)
    with pytest.raises(onega.SimulationError, match="GiB"):
        onega.simulate(many, 2**31 - 1, "slurm")
    # Many jobs of the longest run time that a log may have come to more than it can count.
    late = workload([0] * 2000, [1e12] * 2000, [1] * 2000, [60] * 2000)
    with pytest.raises(onega.SimulationError, match="counts seconds"):
        onega.simulate(late, 4, "slurm")
    with pytest.raises(onega.SimulationError, match="bf_interval is a number from 1 to 10800"):
        onega.Policy.parse("slurm:bf_interval=10801")


@settings(max_examples=60, deadline=None)
@given(cases())
def test_invariants(case):
    submit, rows, procs, parameters, _ = case
    runtime, width, estimate, *_ = zip(*rows)
    jobs = workload(submit, runtime, width, estimate)
    schedule = simulate_slurm(jobs, onega.Cluster(procs), policy(parameters))
    assert np.all(schedule.start >= jobs.column("submit"))
    assert schedule.system["busy"].max() <= procs
    # Busy from the noted whole second on: the run time, less what of the second had passed.
    lost = schedule.start - np.floor(schedule.start)
    expected = np.maximum(np.array(runtime) - lost, 0)
    np.testing.assert_allclose(schedule.end - schedule.start, expected, atol=1e-6)


def test_submissions_wait_for_each_other():
    due, takes = np.array([0.0, 1.0, 1.0, 50.0]), np.array([5.0, 0.5, 2.0, 1.0])
    heard, last = [], 0.0
    for when, seconds in zip(due, takes, strict=True):
        last = max(when, last) + seconds
        heard.append(last)
    assert heard == [5.0, 5.5, 7.5, 51.0]
    np.testing.assert_allclose(one_by_one(due, takes), heard)
    # And they are measured so.
    measured = submission_times(pl.DataFrame({"due": due, "submitted": heard}))
    np.testing.assert_allclose(measured, takes)


def test_a_lone_job_starts_within_the_loops_second():
    """Submitted at 10.0; the backfill cycle, idle for long, looks at 10.25."""
    schedule = onega.simulate(workload([10], [100], [4], [120]), 4, "slurm")
    assert schedule.start[0] == 10.25


def test_limits_are_whole_minutes():
    jobs = workload([0, 0, 0, 0], [30] * 4, [1] * 4, [1, 60, 61, np.nan])
    assert limit_seconds(jobs, perfect=False).tolist() == [60, 60, 120, 60]


def test_rounding_to_minutes_decides_whether_a_job_fits_before_a_reservation():
    """4 nodes; 0: 3 nodes for 120 s; 1: all (waits); 2: 1 node. It fits before 1 only if its
    limit ends by then: asking for 61 s means two minutes, which don't fit once 10 s have gone."""

    def third(asked):
        jobs = workload([0, 5, 10], [120, 50, 20], [3, 4, 1], [120, 60, asked])
        return onega.simulate(jobs, 4, "slurm:fine").start[2]

    assert third(60) < 15
    assert third(61) > 120


def test_backfill_does_not_pass_a_reservation_of_a_lower_job():
    """1 and 2 are both to start at 600 and need all nodes; 3 would be in 2's way, not in 1's.

    EASY, which protects only 1, starts it at once; Slurm doesn't.
    """
    jobs = workload([0, 1, 2, 3], [600, 600, 600, 800], [6, 4, 4, 2], [600, 600, 600, 900])
    slurm, easy = (onega.simulate(jobs, 8, rule).start for rule in ("slurm:fine", "easy"))
    assert easy[3] == 3
    assert easy[2] > 800
    assert slurm[1:3] == pytest.approx([600, 600], abs=3)
    assert slurm[3] > 1199


def test_builtin_scheduler_is_first_come_first_served():
    rng = np.random.default_rng(5)
    jobs = workload(
        np.cumsum(rng.integers(1, 40, 80)), rng.integers(10, 300, 80), rng.integers(1, 9, 80),
        [600] * 80,
    )  # fmt: skip
    parameters = SlurmParameters(backfill=False, batch_sched_delay=0)
    schedule = simulate_slurm(jobs, onega.Cluster(8), policy(parameters))
    assert np.all(np.diff(schedule.start) >= 0)
    assert "0 of 80 jobs started by backfill" in schedule.provenance[1]
    textbook = onega.simulate(jobs, 8, "fcfs")
    # What it is late by is the loop's second, and that of everybody before.
    assert np.all(schedule.start >= textbook.start)


def test_weights_of_size_and_age():
    """Two jobs wait for the whole machine: the wider one goes first if size has weight."""
    jobs = workload([0, 1, 2], [100, 50, 50], [8, 4, 8], [120, 60, 60])

    def order(**weights):
        return simulate_slurm(jobs, onega.Cluster(8), policy(SlurmParameters(**weights))).start

    first_in = order()
    assert first_in[1] < first_in[2]
    by_size = order(weight_size=1000.0)
    assert by_size[2] < by_size[1]
    small = order(weight_size=1000.0, favour_small=True)
    assert small[1] < small[2]
    aged = order(weight_size=1.0, weight_age=1e9)
    assert aged[1] < aged[2]


def test_a_run_is_reproducible_and_phases_are_drawn_from_rng():
    rng = np.random.default_rng(2)
    jobs = workload(
        np.cumsum(rng.integers(1, 20, 60)), rng.integers(10, 300, 60), rng.integers(1, 9, 60),
        rng.integers(60, 900, 60),
    )  # fmt: skip
    one, two = (onega.simulate(jobs, 8, "slurm").start for _ in range(2))
    np.testing.assert_array_equal(one, two)
    three, four = (onega.simulate(jobs, 8, "slurm", rng=7).start for _ in range(2))
    np.testing.assert_array_equal(three, four)
    assert not np.array_equal(one, three)
    shuffled = onega.Workload(jobs.table.sample(fraction=1, shuffle=True, seed=1))
    again = onega.simulate(shuffled, 8, "slurm").start
    by_id = np.argsort(shuffled.column("job"))
    np.testing.assert_array_equal(again[by_id], one)


def test_limits_can_be_enforced():
    jobs = workload([0], [500], [1], [100])
    schedule = onega.simulate(jobs, 1, "slurm", enforce_limits=True)
    assert schedule.limited.tolist() == [True]
    assert schedule.end[0] == 120


def test_policy_text(tmp_path):
    assert str(onega.Policy.parse("slurm")) == "slurm"
    assert str(onega.Policy.parse(" SLURM:fine ")) == "slurm:fine"
    conf = tmp_path / "Cluster.conf"
    conf.write_text(
        "# a site\nSchedulerParameters=bf_interval=45,bf_resolution=300,\\\nno_such=1\n"
    )
    with pytest.warns(OnegaWarning, match="left out: no_such=1"):
        parsed = onega.Policy.parse(f"slurm:{conf}")
    assert parsed.slurm.bf_interval == 45
    assert parsed.slurm.bf_resolution == 300
    assert parsed.slurm.bf_window == 1440
    assert parsed.slurm.ignored == ("no_such=1",)
    assert str(parsed) == f"slurm:{conf}"
    with pytest.warns(OnegaWarning, match="left out: no_such=1"):
        assert onega.Policy.parse(str(parsed)) == parsed
    with pytest.warns(OnegaWarning, match="left out: no_such=1"):
        assert onega.Policy.parse("slurm:Cluster.conf", folder=tmp_path).slurm.bf_interval == 45
    short = onega.Policy.parse("slurm:bf_interval=10;defer")
    assert short.slurm.bf_interval == 10
    assert short.slurm.ignored == ()
    jobs = workload([0], [10], [1], [60])
    assert "no_such=1" in onega.simulate(jobs, 1, parsed).provenance[-1]


def test_values_of_a_slurm_conf_may_stand_in_quotes(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text('SchedulerParameters="bf_interval=7,bf_max_job_test=9"\nMinJobAge="20"\n')
    found = onega.Policy.parse(f"slurm:{conf}").slurm
    assert (found.bf_interval, found.bf_max_job_test, found.min_job_age) == (7, 9, 20)
    assert found.ignored == ()


def test_what_cannot_be_meant_is_refused(tmp_path):
    with pytest.raises(onega.SimulationError, match="stock and fine stand alone"):
        onega.Policy.parse("slurm:fine;bf_interval=3")
    conf = tmp_path / "slurm.conf"
    conf.write_text("PriorityType=priority/multifactor\nPriorityWeightAge=-5\n")
    with pytest.raises(onega.SimulationError, match="numbers from 0 on"):
        onega.Policy.parse(f"slurm:{conf}")


def test_settings_outside_the_model_are_named_up_to_a_line(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"SchedulerParameters={','.join(f'x{k}' for k in range(35))}\n")
    with pytest.warns(OnegaWarning, match="x28, x29, 5 more$"):
        assert len(onega.Policy.parse(f"slurm:{conf}").slurm.ignored) == 35


def test_parameters_may_be_longer_than_a_path_can_be():
    text = ";".join(["bf_interval=7", *["bf_continue"] * 60])
    assert onega.Policy.parse(f"slurm:{text}").slurm.bf_interval == 7


def test_a_wrong_value_in_a_slurm_conf_names_the_file(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text("SchedulerParameters=bf_interval=0\n")
    with pytest.raises(onega.SimulationError, match=rf"^{conf}: bf_interval is a number from 1"):
        onega.Policy.parse(f"slurm:{conf}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slurm:no-such-file", "neither stock nor fine"),
        ("slurm:bf_interval=x", "whole number"),
        ("slurm:bf_interval=0", "from 1 to 10800"),
    ],
)
def test_wrong_parameters_are_refused(text, words):
    with pytest.raises(onega.SimulationError, match=words):
        onega.Policy.parse(text)


def test_other_misuse_is_refused():
    with pytest.raises(onega.SimulationError, match="its own backfilling"):
        onega.Policy("slurm", "easy")
    rates = onega.RateControl("queue", rates=(1.0, 2.0), k_low=1, k_high=2)
    with pytest.raises(onega.SimulationError, match="no service rates"):
        onega.simulate(workload([0], [1], [1], [1]), onega.Cluster(1, rates), "slurm")
    with pytest.raises(onega.SimulationError, match="an order of its own"):
        onega.simulate(workload([0], [1], [1], [1]), 1, "slurm", ties="event")


def test_slurm_conf(tmp_path):
    (tmp_path / "more.conf").write_text("PriorityType=priority/multifactor\n")
    path = tmp_path / "slurm.conf"
    path.write_text(
        "ClusterName=x # comment\nInclude more.conf\nSchedulerType=sched/builtin\n"
        "PriorityWeightAge=1000\nPriorityWeightJobSize=50\nPriorityMaxAge=2-12\n"
        "PriorityFavorSmall=YES\nNodeName=n[1-4] CPUs=4\n"
    )
    conf = read_slurm_conf(path)
    assert conf["clustername"] == "x"
    assert conf["nodename"] == "n[1-4] CPUs=4"
    parameters = SlurmParameters.of(conf)
    assert not parameters.backfill
    assert (parameters.weight_age, parameters.weight_size) == (1000, 50)
    assert parameters.max_age == 2.5 * 86400
    assert parameters.favour_small
    path.write_bytes(b"nothing here\n\x00\x81=\xff\n")
    with pytest.raises(onega.SimulationError, match="no line Keyword=value"):
        read_slurm_conf(path)
    with pytest.raises(onega.SimulationError, match="No such file"):
        read_slurm_conf(tmp_path / "gone")
    path.write_text("Include slurm.conf\n")
    with pytest.raises(onega.SimulationError, match="circles"):
        read_slurm_conf(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("PreemptType=preempt/none\nPreemptMode=OFF\nTopologyPlugin=topology/none", ()),
        ("AccountingStorageEnforce=associations\nSuspendTime=-1\nSuspendTime=INFINITE", ()),
        ("PriorityWeightFairshare=9", ()),  # priority/basic has no weights
        ("NodeName=n[1-4] CPUs=1\nPartitionName=a Nodes=ALL Default=YES", ()),
        ("OverTimeLimit=5", ("OverTimeLimit=5",)),
        ("PartitionName=DEFAULT x=1\nPartitionName=a\nPartitionName=b", ("PartitionName (a, b)",)),
        ("NodeName=n1 Procs=12\nNodeName=n2 Gres=gpu:2", ("NodeName (several processors, Gres)",)),
        (
            "PriorityType=priority/multifactor\nPriorityWeightFairshare=5\nPriorityWeightQOS=0\n"
            "PriorityDecayHalfLife=7-0\nFairShareDampeningFactor=1",
            ("PriorityWeightFairshare=5", "PriorityDecayHalfLife=7-0"),
        ),
    ],
)
def test_settings_that_the_model_does_not_have_are_named(tmp_path, text, told):
    path = tmp_path / "slurm.conf"
    path.write_text(f"ClusterName=x\n{text}\n")
    assert SlurmParameters.of(read_slurm_conf(path)).ignored == told


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 5400), ("1:30", 90), ("1:00:05", 3605), ("7-0", 604800), ("1-2:03", 93780)],
)
def test_durations_of_slurm(text, seconds):
    assert slurm_duration(text) == seconds


def test_wrong_durations_are_refused():
    with pytest.raises(onega.SimulationError, match="not a time"):
        slurm_duration("soon")
