"""The twin of the detailed machine itself: the plain twin's schedules, and cases done by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import isnan

import pytest

from onega.core.machine.cluster import RateControl
from onega.core.machine.queues import Multifactor
from onega.core.rng import generator, seed_sequence
from onega.kernels.machine import codes
from onega.simulation.machine.problem import Outcome
from reference.machine.build import Draft, Sleep, build
from reference.machine.machine import run
from reference.machine.passes import place
from reference.machine.state import Machine
from simulation.cases import CONTROLS, TWIN_KEYS, Case, random_case, rate_changes

PLAIN_ORDERS = ["fcfs", "lcfs", "spf", "lpf", "saf", "xf", "wfp3", "unicef", "dynamic"]


def plain_draft(case: Case) -> Draft:
    """A case of the plain simulator on the detailed machine, no feature switched on."""
    control = case.control
    draws: list[float] = []
    if control.kind == "random":
        uniform = generator(seed_sequence(case.seed)).random(2 * len(case.submit))
        draws = uniform.tolist()
    return Draft(
        jobs=[
            {"submit": job.submit, "procs": job.procs, "work": job.work, "expect": job.estimate}
            for job in case.jobs()
        ],
        capacity=[[case.machine]],
        policies=[("own" if case.order == "dynamic" else case.order, case.backfill)],
        rates=RateControl(
            control.kind,
            rates=[float(rate) for rate in control.rates],
            k_low=[float(k) for k in control.k_low],
            k_high=[float(k) for k in control.k_high],
            p_low=float(control.p_low),
            p_high=float(control.p_high),
        ),
        draws=draws,
        own=TWIN_KEYS["dynamic"] if case.order == "dynamic" else None,
    )


def switches(out: Outcome, first: float) -> list[tuple[float, int]]:
    """Changes of the rate, one an instant, only real ones."""
    last = {first: 0, **dict(out.switches.tolist())}
    changes = list(last.items())
    return changes[:1] + [b for a, b in pairwise(changes) if a[1] != b[1]]


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("backfill", [None, "easy", "conservative"])
@pytest.mark.parametrize("order", PLAIN_ORDERS)
def test_without_features_it_is_the_plain_twin(order, backfill, control):
    number = Fraction if control == "workload" else float  # else nothing is divided
    for seed in range(4):
        case = random_case(seed, order, backfill, "instant", control)
        plain, out = case.twin(), run(build(plain_draft(case)), number)
        assert out.start.tolist() == [float(t) for t in plain.start], case
        assert out.end.tolist() == [float(t) for t in plain.end], case
        expected = rate_changes(plain, min(case.submit))
        assert switches(out, float(min(case.submit))) == [(float(t), i) for t, i in expected]
        assert (out.state == codes.COMPLETED).all()
        assert not out.parts["kind"].size


# -- cases done by hand


def simulate(jobs: list[dict], **rules) -> Outcome:
    return run(build(Draft(jobs, **rules)))


def job(submit: float, procs: int, work: float, **more) -> dict:
    return {"submit": submit, "procs": procs, "work": work, **more}


def told(out: Outcome) -> list[tuple[float, str, int, int]]:
    rows = out.log.tolist()
    return [(time, codes.EVENT_NAMES[event], job, node) for time, event, job, node in rows]


def parts(out: Outcome) -> list[tuple]:
    return sorted(out.parts.tolist())


def states(out: Outcome) -> list[str]:
    return [codes.STATE_NAMES[state] for state in out.state]


SLEEP = Sleep([2.0, 5.0], [1.0, 3.0])
AHEAD = Sleep([2.0], [3.0], wake_ahead=True)


def test_pool_sleeps_from_the_bottom_of_the_stack():
    out = simulate([job(0, 2, 1), job(4, 3, 2), job(12, 4, 1)], sleep=SLEEP)
    # at 4: two idle since 1 and one since 0, all in the first state; at 12: three idle since 7
    # (5 s: the second state, exactly at its timeout) and one since 0
    assert out.start.tolist() == [0, 4, 12]
    assert out.attempts["wake"].tolist() == [0, 1, 3]
    assert out.attempts["begin"].tolist() == [0, 5, 15]
    assert out.end.tolist() == [1, 7, 16]
    assert parts(out) == sorted(
        [
            (codes.IDLE, 1, 4, 2, -1, 0),
            (codes.IDLE, 0, 4, 1, -1, 0),
            (codes.WAKING, 4, 5, 2, 0, 0),
            (codes.WAKING, 4, 5, 1, 0, 0),
            (codes.IDLE, 7, 12, 3, -1, 0),
            (codes.IDLE, 0, 12, 1, -1, 0),
            (codes.WAKING, 12, 15, 3, 1, 0),
            (codes.WAKING, 12, 15, 1, 1, 0),
        ]
    )


def test_a_busy_processor_does_not_fall_asleep_between_two_jobs():
    at_once = Sleep([0.0], [2.0])
    out = simulate([job(0, 4, 1), job(0, 4, 1), job(5, 4, 1)], sleep=at_once)
    assert out.attempts["wake"].tolist() == [0, 0, 2]
    assert out.end.tolist() == [1, 2, 8]


def test_awake_nodes_are_taken_first():
    jobs = [job(0, 2, 3), job(4, 2, 2), job(4, 2, 2)]
    out = simulate(jobs, sleep=SLEEP, capacity=[[2], [2]], pooled=False)
    # at 4 node 0 is idle since 3 and awake, node 1 is asleep since 2
    assert out.attempts["wake"].tolist() == [0, 0, 1]
    assert parts(out) == sorted(
        [
            (codes.IDLE, 3, 4, 2, -1, 0),
            (codes.IDLE, 0, 4, 2, -1, 1),
            (codes.WAKING, 4, 5, 2, 0, 1),
            (codes.IDLE, 6, 7, 2, -1, 0),
        ]
    )


def test_a_second_job_waits_for_a_node_that_is_waking():
    jobs = [job(3, 1, 9, chunk=[1]), job(3.5, 1, 1, chunk=[1])]
    out = simulate(jobs, sleep=SLEEP, capacity=[[2]], pooled=False, t0=0.0)
    assert out.attempts["wake"].tolist() == [1, 0.5]
    assert out.end.tolist() == [13, 5]


@pytest.mark.parametrize("pooled", [True, False])
def test_waking_ahead_of_a_reservation(pooled):
    jobs = [job(0, 1, 10), job(0, 2, 1, chunks=2, chunk=[1]), job(4, 2, 1, chunks=2, chunk=[1])]
    machine = {"capacity": [[2]]} if pooled else {"capacity": [[1], [1]], "pooled": False}
    if pooled:
        for one in jobs:
            one.update(chunks=1, chunk=[one["procs"]])
    out = simulate(jobs, sleep=AHEAD, policies=[("fcfs", "easy")], **machine)
    # the pass at 4 sees the idle processor asleep; its 3 s end when the reservation begins
    node = 0 if pooled else 1
    assert (7.0, "woken", 1, node) in told(out)
    assert out.start.tolist() == [0, 10, 11]
    assert out.attempts["wake"].tolist() == [0, 0, 0]
    assert parts(out) == [(codes.IDLE, 0, 7, 1, -1, node), (codes.WAKING, 7, 10, 1, 0, node)]


def test_a_cap_holds_back_and_lets_go():
    jobs = [job(0, 1, 10, demand=[6]), job(0, 1, 4, demand=[6]), job(1, 1, 1, demand=[4])]
    out = simulate(jobs, shared=[10], steps=[(2, 0, 16)], policies=[("fcfs", "easy")])
    # the second is expected at 2, where the cap rises; the third fits in before and after
    assert out.start.tolist() == [0, 2, 1]
    assert (2.0, "capacity", -1, 0) in told(out)
    out = simulate(jobs, shared=[10], steps=[(2, 0, 8)], policies=[("fcfs", "easy")])
    assert out.start.tolist() == [0, 10, 1]
    jobs[2]["work"] = 2  # would be above the cap from 2 on
    out = simulate(jobs, shared=[10], steps=[(2, 0, 8)], policies=[("fcfs", "easy")])
    assert out.start.tolist() == [0, 10, 14]


NODES = [[4, 8], [4, 4], [2, 8]]


@pytest.mark.parametrize(
    ("rule", "whole", "expected"),
    [
        (codes.FIRST_FIT, False, {0: [4, 8], 1: [1, 2]}),
        (codes.BEST_FIT, False, {0: [1, 2], 1: [2, 4], 2: [2, 4]}),
        (codes.SPREAD, False, {0: [3, 6], 1: [1, 2], 2: [1, 2]}),
        (codes.BEST_FIT, True, {0: [4, 8], 1: [4, 4]}),
    ],
)
def test_placement(rule, whole, expected):
    """Five chunks of one core and two units of memory; room for 4, 2 and 2."""
    draft = Draft(
        [job(0, 5, 1, chunks=5, chunk=[1, 2])],
        capacity=NODES,
        pooled=False,
        placement=[rule],
        whole=[whole],
    )
    machine = Machine(build(draft), Fraction)
    assert place(machine, machine.free(), 0, 0) == expected


def test_whole_nodes_want_empty_ones():
    jobs = [job(0, 1, 4, chunk=[1]), job(0, 1, 2, chunk=[1]), job(0, 3, 1, chunks=3, chunk=[1])]
    rules = {"capacity": [[2], [2]], "pooled": False, "policies": [("fcfs", "easy")]}
    assert simulate(jobs, **rules).start.tolist() == [0, 0, 2]
    assert simulate(jobs, whole=[True], **rules).start.tolist() == [0, 0, 4]


def test_memory_is_kept_for_the_first_in_line():
    jobs = [
        job(0, 1, 5, chunk=[1, 6]),
        job(1, 1, 5, chunk=[1, 8]),
        job(2, 1, 4, chunk=[1, 2]),
        job(2, 1, 3, chunk=[1, 2]),
    ]
    out = simulate(jobs, capacity=[[4, 8]], pooled=False, policies=[("fcfs", "easy")])
    assert out.start.tolist() == [0, 5, 10, 2]


def test_partitions_share_a_licence():
    jobs = [
        job(0, 2, 4, demand=[1]),
        job(0, 2, 4, demand=[1], partition=1),
        job(0, 1, 6, partition=1),
        job(0, 1, 3, partition=1),
    ]
    rules = {"capacity": [[2], [2]], "node_partition": [0, 1], "shared": [1]}
    out = simulate(jobs, policies=[("fcfs", None), ("fcfs", "easy")], **rules)
    assert out.start.tolist() == [0, 4, 8, 0]
    out = simulate(jobs, policies=[("fcfs", None), ("lcfs", None)], **rules)
    assert out.start.tolist() == [0, 6, 0, 0]


def test_queues_go_by_rank_and_accounts_are_skipped_when_full():
    jobs = [
        job(0, 2, 4, accounts=[0]),
        job(0, 2, 4, accounts=[0, 1]),
        job(1, 2, 1, accounts=[1]),
        job(3, 4, 1, queue_rank=1),
        job(3, 4, 1),
    ]
    out = simulate(jobs, limits=[(1, 99), (9, 3)])
    # 1 is over its account's one job until 4, and doesn't block 2; 4 before 3 by queue
    assert out.start.tolist() == [0, 4, 1, 9, 8]


def test_multifactor_favours_who_used_less():
    weights = {"age": 0.0, "max_age": 1.0, "size": 0.0, "fair_share": 1.0, "queue": 0.0}
    rule = Multifactor(**weights, half_life=10.0, period=0.0)
    jobs = [job(0, 4, 5, user=0), job(1, 4, 1, user=0), job(2, 4, 1, user=1)]
    out = simulate(jobs, policies=[("multifactor", None)], multifactor=rule, shares=[0.5, 0.5])
    assert out.start.tolist() == [0, 6, 5]
    # keys stay as they were at submission (5 later than nothing used) until they are due
    late = Multifactor(**weights, half_life=10.0, period=100.0)
    jobs = [job(0, 4, 5, user=0), job(0, 4, 1, user=0), job(0, 4, 1, user=1), job(0, 4, 1, user=0)]
    out = simulate(jobs, policies=[("multifactor", None)], multifactor=late, shares=[0.5, 0.5])
    assert out.start.tolist() == [0, 5, 6, 7]
    out = simulate(jobs, policies=[("multifactor", None)], multifactor=rule, shares=[0.5, 0.5])
    assert out.start.tolist() == [0, 6, 5, 7]


def test_multifactor_age_size_and_queue():
    rule = Multifactor(1.0, 10.0, 4.0, 0.0, 2.0, 10.0, 0.0)
    jobs = [job(0, 4, 5), job(1, 1, 1), job(2, 4, 1), job(3, 4, 1, queue_factor=0.5)]
    # at 5: 0.4 + 1, 0.3 + 4, 0.2 + 4 + 1
    out = simulate(jobs, policies=[("multifactor", None)], multifactor=rule, shares=[0.5, 0.5])
    assert out.start.tolist() == [0, 7, 6, 5]


@pytest.mark.parametrize(
    ("rule", "state", "end", "lost"),
    [
        (codes.LOSE, "lost", 5, 5),
        (codes.REQUEUE, "completed", 17, 5),
        (codes.CHECKPOINT, "completed", 13, 1),
    ],
)
def test_a_node_fails_and_returns(rule, state, end, lost):
    jobs = [job(0, 2, 10, chunks=2, chunk=[1], expect=12)]
    out = simulate(
        jobs,
        capacity=[[1], [1]],
        pooled=False,
        events=[(5, codes.FAIL, 1), (6, codes.FAIL, 1), (7, codes.RETURN, 1)],
        on_interrupt=rule,
        checkpoint=2,
    )
    assert states(out) == [state]
    assert out.end.tolist() == [end]
    assert out.lost_work.tolist() == [lost]
    until = 5 if rule == codes.LOSE else 7
    down = [] if rule == codes.LOSE else [(codes.DOWN, 5, until, 1, -1, 1)]
    assert parts(out) == down
    assert told(out)[2:4] == [(5.0, "failed", -1, 1), (5.0, "interrupted", 0, 1)]
    if rule != codes.LOSE:
        assert told(out)[4:] == [
            (5.0, "requeued", 0, -1),
            (6.0, "ignored", -1, 1),
            (7.0, "returned", -1, 1),
            (7.0, "started", 0, -1),
            (end, "completed", 0, -1),
        ]
        assert out.attempts["start"].tolist() == [0, 7]
        assert out.attempts["end"].tolist() == [5, end]


def test_draining_and_what_never_comes_back():
    jobs = [job(0, 1, 3), job(1, 1, 3), job(1, 2, 1, chunks=2, chunk=[1])]
    rules = {"capacity": [[1], [1]], "pooled": False, "policies": [("fcfs", "easy")]}
    out = simulate(jobs, events=[(1, codes.DRAIN, 0)], **rules)
    assert states(out) == ["completed", "completed", "unstarted"]
    assert out.start.tolist()[:2] == [0, 1]
    assert isnan(out.start[2])
    assert isnan(out.end[2])
    out = simulate(jobs, events=[(1, codes.DRAIN, 0), (6, codes.RETURN, 0)], **rules)
    assert out.start.tolist() == [0, 1, 6]


def test_cancel_kill_and_interrupt():
    jobs = [job(0, 4, 5), job(0, 4, 5), job(0, 4, 5), job(9, 4, 5), job(9, 1, 1)]
    events = [
        (1, codes.CANCEL, 0),  # runs: ignored
        (1, codes.CANCEL, 1),
        (2, codes.CANCEL, 3),  # not there yet
        (2, codes.KILL, 4),  # not there yet: ignored
        (3, codes.INTERRUPT, 2),  # waits: ignored
        (4, codes.KILL, 2),  # waits
        (4, codes.INTERRUPT, 0),
        (6, codes.KILL, 0),
    ]
    out = simulate(jobs, events=events)
    assert states(out) == ["killed", "cancelled", "cancelled", "cancelled", "completed"]
    assert out.end.tolist() == [6, 1, 4, 2, 10]
    assert out.lost_work.tolist() == [4 + 2, 0, 0, 0, 0]
    assert [row[0] for row in told(out) if row[1] == "ignored"] == [1, 2, 3]
    assert isnan(out.submit[3])
    # 0 starts again at once: it is first in line
    assert out.attempts["job"].tolist() == [0, 0, 4]
    assert out.attempts["start"].tolist() == [0, 4, 9]


def test_patience_ends_for_those_who_wait_only():
    jobs = [job(0, 4, 5), job(0, 4, 5), job(9, 4, 5)]
    events = [(1, codes.LEAVE, 0), (2, codes.LEAVE, 1), (9, codes.LEAVE, 2)]
    out = simulate(jobs, events=events)
    assert states(out) == ["completed", "cancelled", "cancelled"]
    assert not [row for row in told(out) if row[1] == "ignored"]
    # Who runs again and waits again isn't patient for ever.
    events = [(1, codes.INTERRUPT, 0), (1, codes.LEAVE, 0)]
    out = simulate(jobs[:1], events=events, on_interrupt=codes.REQUEUE)
    assert states(out) == ["killed"]


def test_a_reservation_is_kept_free_and_taken():
    reservation = [(5, 8, 0, [3])]
    jobs = [job(0, 2, 5), job(0, 2, 6), job(0, 1, 9)]
    out = simulate(jobs, reservations=reservation, policies=[("fcfs", "easy")])
    assert out.start.tolist() == [0, 8, 0]
    jobs = [job(0, 2, 7, expect=5), job(0, 2, 9, expect=4)]
    out = simulate(jobs, reservations=reservation)
    # neither was expected to be there; the one expected first goes first, then the other
    assert [row[1:] for row in told(out) if row[0] == 5.0] == [
        ("reserved", -1, 0),
        ("interrupted", 1, 0),
        ("requeued", 1, -1),
        ("interrupted", 0, 0),
        ("requeued", 0, -1),
    ]
    assert out.attempts["start"].tolist() == [0, 0, 8, 8]


def test_overheads_hold_processors_but_do_no_work():
    jobs = [job(0, 4, 4, launch=2, completion=3), job(0, 4, 1)]
    out = simulate(jobs, rates=RateControl("none", rates=2.0), on_interrupt=codes.LOSE)
    assert out.attempts["begin"].tolist() == [2, 7]
    assert out.end.tolist() == [7, 7.5]
    lost = simulate(jobs, events=[(1, codes.INTERRUPT, 0)], on_interrupt=codes.LOSE)
    assert isnan(lost.attempts["begin"][0])
    assert states(lost) == ["lost", "completed"]
    assert lost.lost_work.tolist() == [0, 0]
    done = simulate(jobs, events=[(7, codes.INTERRUPT, 0)], on_interrupt=codes.LOSE)
    assert states(done) == ["completed", "completed"]
    assert done.end.tolist() == [7, 8]


def test_dependents_think_and_are_dropped():
    jobs = [
        job(0, 4, 5),
        job(0, 4, 1, after=0, think=2),
        job(0, 4, 1, after=1),
        job(1, 4, 3),
        job(1, 4, 3, after=3),
        job(1, 4, 3, after=4),
    ]
    out = simulate(jobs, events=[(6, codes.KILL, 3)])
    assert out.submit.tolist()[:4] == [0, 7, 8, 1]
    assert out.start.tolist()[:4] == [0, 7, 8, 5]
    assert states(out)[3:] == ["killed", "dropped", "dropped"]
    assert out.end.tolist()[3:] == [6, 6, 6]


def test_a_dependent_that_was_cancelled_does_not_prolong_the_run():
    jobs = [job(0, 1, 1), job(0, 1, 1, after=0, think=3), job(1, 2, 1, chunks=2, chunk=[1])]
    out = simulate(
        jobs,
        capacity=[[1], [1]],
        pooled=False,
        events=[(0, codes.DRAIN, 1), (2, codes.CANCEL, 1), (3, codes.FAIL, 0)],
    )
    assert states(out) == ["completed", "cancelled", "unstarted"]
    # it would have come at 4; the last that happened is the failure at 3
    assert told(out)[-1] == (3.0, "failed", -1, 0)
    assert parts(out) == []


def test_a_run_may_begin_in_the_middle():
    jobs = [
        job(-5, 2, 8, start=-3, saved=3, expect=10, completion=1),
        job(-4, 1, 5, start=-4, saved=4),
        job(-2, 2, 1),
        job(3, 1, 1),
    ]
    out = simulate(jobs, t0=0.0, policies=[("fcfs", "easy")])
    assert out.attempts["job"].tolist() == [1, 0, 2, 3]
    assert out.start.tolist() == [-3, -4, 1, 3]
    assert out.end.tolist() == [6, 1, 2, 4]
    assert out.submit.tolist() == [-5, -4, -2, 3]
    assert told(out)[0] == (0.0, "submitted", 2, -1)


def test_moldable_jobs_choose():
    wide, narrow = {"procs": 4, "work": 2}, {"procs": 2, "work": 5}
    jobs = [job(0, 2, 2, expect=2), job(0, 4, 2, options=[wide, narrow])]
    assert simulate(jobs).option.tolist() == [0, 2]  # the narrow one fits now
    easy = simulate(jobs, policies=[("fcfs", "easy")])
    assert easy.option.tolist() == [0, 1]  # waiting for the wide one ends first: 4 against 5
    assert easy.start.tolist() == [0, 2]
    jobs[0]["work"] = jobs[0]["expect"] = 3  # 5 against 5: fewer processors
    assert simulate(jobs, policies=[("fcfs", "easy")]).option.tolist() == [0, 2]


def test_the_calendar_is_read_at_the_present_rate():
    jobs = [job(0, 4, 10), job(0, 4, 2)]
    out = simulate(jobs, rates=RateControl("none", rates=2.0), reservations=[(5, 6, 0, [1])])
    assert out.start.tolist() == [0, 6]
    out = simulate(jobs, rates=RateControl("none", rates=1.0), reservations=[(5, 6, 0, [1])])
    assert out.start.tolist() == [6, 16]


def test_limits_and_nothing_to_do():
    out = simulate([job(0, 1, 3, limited=True), job(0, 1, 0)])
    assert states(out) == ["timeout", "completed"]
    assert out.end.tolist() == [3, 0]
