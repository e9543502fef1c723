"""The reference against cases worked out by hand, and against yet more naive code."""

from fractions import Fraction as F
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.recursion import workload_recursion
from reference.schedulers import Control, Job, Outcome, simulate

TIES = ["instant", "event"]


def table(*rows: tuple) -> list[Job]:
    """Jobs from (submit, work, procs) or (submit, work, estimate, procs)."""
    return [Job(r[0], r[1], r[1], r[2]) if len(r) == 3 else Job(*r) for r in rows]


def starts(rows: list[tuple], procs: int, order="fcfs", backfill=None, **options) -> list:
    return simulate(table(*rows), procs, order, backfill, **options).start


# -- orders, without backfilling

BLOCKED = (0, 10, 4)  # holds a machine of 4 until 10


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("fcfs", [0, 10, 14, 16]),
        ("lcfs", [0, 19, 17, 10]),
        ("spf", [0, 12, 10, 16]),
        ("lpf", [0, 17, 21, 10]),
        ("saf", [0, 12, 10, 16]),  # areas 12, 8 and 28
    ],
)
def test_order_of_the_queue(order, expected):
    assert starts([BLOCKED, (1, 4, 3), (2, 2, 4), (3, 7, 4)], 4, order) == expected


def test_lcfs_does_not_preempt_and_blocks():
    assert starts([(0, 5, 2), (1, 1, 1), (2, 1, 3), (3, 1, 4)], 4, "lcfs") == [0, 1, 6, 5]


def test_ties_of_the_key_go_by_arrival():
    assert starts([BLOCKED, (1, 3, 4), (2, 3, 4), (3, 2, 4)], 4, "spf") == [0, 12, 15, 10]
    assert starts([BLOCKED, (1, 3, 4), (2, 3, 4)], 4, lambda *_: 0) == [0, 10, 13]


def test_expansion_factor_and_wfp3():
    # at 10: waits 9 and 4; (9+18)/18 = 1.5 < (4+4)/4 = 2; (1/2)^3*4 = 1/2 < 1^3*1
    rows = [BLOCKED, (1, 18, 4), (6, 4, 1)]
    assert starts(rows, 4, "xf") == [0, 14, 10]
    assert starts(rows, 4, "wfp3") == [0, 14, 10]
    # width decides for wfp3: (1/2)^3*4 > (3/4)^3*1, though 1.5 < 1.75
    rows = [BLOCKED, (1, 18, 4), (7, 4, 1)]
    assert starts(rows, 4, "xf") == [0, 14, 10]
    assert starts(rows, 4, "wfp3") == [0, 10, 28]


def test_a_key_of_ones_own_sees_now_submit_estimate_procs():
    seen = []

    def key(now, submit, estimate, procs):
        seen.append((now, submit, estimate, procs))
        return -submit

    assert starts([BLOCKED, (1, 4, 5, 4), (2, 2, 3, 4)], 4, key) == [0, 12, 10]
    assert (10, 1, 5, 4) in seen


# -- EASY


def test_easy_backfills_up_to_the_shadow_time_but_not_beyond():
    rows = [(0, 10, 3), (1, 5, 4), (2, 8, 1), (2, 9, 1)]
    assert starts(rows, 4, backfill="easy") == [0, 10, 2, 15]  # 2+8 <= 10 < 2+9


def test_easy_extra_processors_count_every_job_expected_to_end_by_the_shadow():
    # head needs 2; the first two end at 10 and leave 1+2+2 = 5 free: extra 3
    rows = [(0, 10, 2), (0, 10, 2), (1, 5, 2), (2, 90, 1)]
    assert starts(rows, 5, backfill="easy") == [0, 0, 10, 2]


def test_easy_extra_shrinks_only_by_jobs_that_outlast_the_shadow():
    # extra 2 at 10; a short job of 2 leaves it at 2, the long one of 1 takes one, the next too
    rows = [(0, 10, 6), (1, 5, 8), (2, 3, 2), (2, 90, 1), (2, 90, 1), (2, 90, 1)]
    got = starts(rows, 10, backfill="easy")
    assert got == [0, 10, 2, 2, 2, 15]


def test_easy_a_job_past_its_estimate_is_expected_to_end_now():
    # from 5 on the first job is overdue: the shadow is "now", no job of positive estimate is short
    rows = [(0, 20, 5, 3), (1, 5, 5, 4), (6, 1, 1, 1)]
    assert starts(rows, 4, backfill="easy") == [0, 20, 25]


def test_easy_on_top_of_another_order():
    rows = [(0, 10, 3), (1, 5, 4), (2, 4, 4), (2, 7, 1)]
    assert starts(rows, 4, "spf", "easy") == [0, 14, 10, 2]


# -- conservative


def test_conservative_delays_nobody():
    # head [10, 15); second job of 2 for 6 fits beside nothing before 15; third would push it: no
    rows = [(0, 10, 3), (1, 5, 3), (2, 6, 2), (3, 10, 1)]
    assert starts(rows, 4, backfill="easy") == [0, 10, 15, 3]
    assert starts(rows, 4, backfill="conservative") == [0, 10, 15, 3]
    rows = [(0, 10, 3), (1, 5, 3), (2, 6, 4), (3, 15, 1)]
    assert starts(rows, 4, backfill="easy") == [0, 10, 18, 3]
    assert starts(rows, 4, backfill="conservative") == [0, 10, 15, 21]


def test_conservative_moves_up_when_jobs_end_early():
    rows = [(0, 4, 10, 3), (1, 5, 5, 4), (2, 3, 9, 1)]
    assert starts(rows, 4, backfill="conservative") == [0, 4, 9]


def test_conservative_reservation_now_that_cannot_start_yet_still_counts():
    # overdue from 5 on: the head's window is [6, 11), so a job of 2 at 6 may not use processor 4
    rows = [(0, 20, 5, 3), (1, 5, 5, 4), (6, 2, 2, 1)]
    assert starts(rows, 4, backfill="conservative") == [0, 20, 25]


# -- preemption


def test_lcfs_pr_resumes():
    out = simulate(table((0, 10, 3), (2, 4, 2), (3, 1, 2)), 4, "lcfs-pr")
    assert out.start == [0, 2, 3]
    assert out.end == [14, 6, 4]
    assert out.segments == [(0, 0, 2), (2, 3, 4), (1, 2, 6), (0, 6, 14)]


def test_spf_pr_displaces_at_completions_only():
    # at 2 the newcomer (work 1) waits; at 4 it and the 3 left of job 1 are served
    out = simulate(table((0, 4, 1), (0, 7, 1), (2, 1, 2), (2, 2, 1)), 2, "spf-pr")
    assert out.start == [0, 0, 4, 5]
    assert out.end == [4, 8, 5, 7]
    assert (1, 0, 4) in out.segments
    assert (1, 5, 8) in out.segments


def test_lpf_pr_serves_the_longest_prefix():
    out = simulate(table((0, 4, 1), (0, 7, 1), (2, 5, 2), (2, 6, 1)), 2, "lpf-pr")
    # at 4: remaining 3 (job 1), 5 (two wide), 6: job 3 first, job 2 doesn't fit and blocks
    assert out.start == [0, 0, 10, 4]
    # at 10: job 2 (5) before job 1 (3)
    assert out.end == [4, 18, 15, 10]


def test_pr_newcomers_start_while_nobody_waits():
    assert starts([(0, 9, 1), (1, 9, 1), (1, 9, 3), (1, 1, 1)], 4, "spf-pr") == [0, 1, 10, 9]


# -- ties


def test_instant_completions_come_before_submissions_and_one_pass_serves_all():
    rows = [(0, 5, 2), (0, 5, 2), (5, 1, 4), (5, 9, 2)]
    assert starts(rows, 4, "spf") == [0, 0, 5, 6]
    # each event on its own: the newcomers don't fit before both completions
    rows = [(0, 5, 2), (0, 5, 2), (1, 1, 4), (5, 9, 2)]
    assert starts(rows, 4, "lpf") == [0, 0, 14, 5]
    assert starts(rows, 4, "lpf", ties="event") == [0, 0, 14, 5]


@pytest.mark.parametrize(
    ("estimate", "ties", "expected"),
    [
        (12, "instant", [10, 19]),
        (12, "event", [12, 10]),
        (10, "instant", [10, 19]),
        (10, "event", [10, 19]),
    ],
)
def test_two_completions_at_once(estimate, ties, expected):
    # at 10 two jobs leave 2 processors each: for the wide job, if that is seen in one pass; for
    # the narrow one, event by event, unless both were known to end by now
    leaving = (0, 10, estimate, 2)
    rows = [leaving, leaving, (0, 99, 99, 1), (1, 5, 5, 5), (2, 9, 9, 4), (3, 2, 2, 2)]
    assert starts(rows, 5, backfill="easy", ties=ties)[4:] == expected


def test_event_a_due_job_is_not_displaced():
    # at 5 job 0 holds two processors, so the newcomer doesn't fit yet, nor does who is behind it
    out = simulate(table((0, 5, 2), (0, 9, 2), (5, 3, 4)), 4, "lcfs-pr", ties="event")
    assert out.segments == [(1, 0, 5), (0, 0, 5), (2, 5, 8), (1, 8, 12)]


@pytest.mark.parametrize("ties", TIES)
def test_a_job_without_work_makes_a_second_round(ties):
    out = simulate(table((0, 0, 2), (0, 3, 2)), 2, ties=ties)
    assert out.start == [0, 0]
    assert out.end == [0, 3]
    assert out.segments == [(0, 0, 0), (1, 0, 3)]


# -- rate control


def test_random_control_moves_one_level_at_a_time():
    control = Control(
        "random", rates=(1, 2), p_low=F(1, 2), p_high=F(1, 2), u_arrival=[0, 0], u_departure=[1, 0]
    )
    out = simulate(table((0, 4, 1), (1, 4, 1)), 1, control=control)
    assert out.end == [2, 4]
    assert out.switches == [(0, 1), (4, 0)]


def test_queue_control_has_hysteresis():
    control = Control("queue", rates=(1, 2), k_low=(1,), k_high=(2,))
    out = simulate(table((0, 4, 1), (1, 4, 1), (2, 4, 1)), 1, control=control)
    assert out.end == [3, 5, 9]
    assert out.switches == [(2, 1), (5, 0)]


def test_queue_control_with_three_levels():
    control = Control("queue", rates=(1, 2, 4), k_low=(0, 1), k_high=(1, 2))
    out = simulate(table((0, 4, 1), (0, 4, 1), (0, 4, 1)), 1, control=control)
    assert out.end == [1, 2, 4]
    assert out.switches == [(0, 1), (0, 2), (2, 1), (4, 0)]


def test_workload_control_slows_down_between_events():
    # W = 8 falls at 2 * 2 per second and is 3 at 5/4; 3/2 is left of each job then
    control = Control("workload", rates=(1, 2), k_low=(3,), k_high=(6,))
    out = simulate(table((0, 4, 1), (0, 4, 1)), 2, control=control)
    assert out.switches == [(0, 1), (F(5, 4), 0)]
    assert out.end == [F(11, 4), F(11, 4)]
    assert out.series == [(0, 1, 2, 2, 0, 8), (F(5, 4), 0, 2, 2, 0, 3), (F(11, 4), 0, 0, 0, 0, 0)]


def test_workload_control_takes_one_level_a_round():
    control = Control("workload", rates=(1, 2, 4), k_low=(4, 4), k_high=(5, 6))
    out = simulate(table((0, 8, 1)), 1, control=control)
    assert out.switches == [(0, 1), (0, 2), (1, 1), (1, 0)]
    assert [row[:2] for row in out.series] == [(0, 2), (1, 1), (1, 0), (5, 0)]


def test_workload_control_takes_all_levels_at_a_completion():
    control = Control("workload", rates=(1, 2, 4), k_low=(0, 0), k_high=(1, 2))
    out = simulate(table((0, 8, 1)), 1, control=control)
    assert out.switches == [(0, 1), (0, 2), (2, 1), (2, 0)]
    assert [row[:2] for row in out.series] == [(0, 2), (2, 0)]


def test_reservations_are_made_on_the_work_clock():
    # at rate 2 from 0 on: the shadow is V = 10 (t = 5); at t = 1, V = 2, 8 more work just fits
    control = Control("queue", rates=(1, 2), k_low=(-1,), k_high=(0,))
    rows = [(0, 10, 3), (1, 5, 4), (1, 8, 1), (1, 8, 1)]
    out = simulate(table(*rows), 4, backfill="easy", control=control)
    assert out.start == [0, 5, 1, F(15, 2)]
    assert out.end[2] == 5


# -- what must hold for any policy

POLICIES = [
    *[(order, None) for order in ("fcfs", "lcfs", "spf", "lpf", "saf", "xf", "wfp3")],
    *[(order, None) for order in ("lcfs-pr", "spf-pr", "lpf-pr")],
    *[(order, "easy") for order in ("fcfs", "spf", "xf")],
    *[(order, "conservative") for order in ("fcfs", "lpf", "wfp3")],
]
PROCS = 5


@st.composite
def tables(draw, least=0) -> list[Job]:
    gaps = draw(st.lists(st.integers(0, 3), min_size=1, max_size=12))
    submits = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    return [
        Job(
            t, draw(st.integers(least, 8)), draw(st.integers(least, 9)), draw(st.integers(1, PROCS))
        )
        for t in submits
    ]


@st.composite
def controls(draw) -> Control:
    rates = (F(1, 2), 1, F(7, 3))
    uniforms = st.lists(st.floats(0, 1), min_size=12, max_size=12)
    k_low = sorted(draw(st.lists(st.integers(0, 6), min_size=2, max_size=2)))
    k_high = [k + draw(st.integers(0, 5)) for k in k_low]
    return Control(
        draw(st.sampled_from(["none", "random", "queue", "workload"])),
        rates,
        tuple(k_low),
        tuple(k_high),
        0.5,
        0.5,
        draw(uniforms),
        draw(uniforms),
    )


def work_done(out: Outcome, control: Control, begin, end):
    """Integral of the rate over [begin, end], from the log of switches."""
    steps = [(0, 0), *out.switches, (max([end, *(t for t, _ in out.switches)]), 0)]
    total = 0
    for (t, level), (until, _) in pairwise(steps):
        total += control.rates[level] * max(0, min(end, until) - max(begin, t))
    return total


def check(jobs: list[Job], out: Outcome, control: Control) -> None:
    instants = sorted({t for _, begin, end in out.segments for t in (begin, end)})
    for t in instants:
        assert sum(jobs[j].procs for j, begin, end in out.segments if begin <= t < end) <= PROCS
    for j, job in enumerate(jobs):
        mine = [segment for segment in out.segments if segment[0] == j]
        assert job.submit <= out.start[j] == mine[0][1]
        assert out.end[j] == mine[-1][2]
        assert all(earlier[2] <= later[1] for earlier, later in pairwise(mine))
        assert sum(work_done(out, control, begin, end) for _, begin, end in mine) == job.work
    for t, level, busy, running, waiting, left in out.series:
        assert 0 <= busy <= PROCS
        assert 0 <= level < len(control.rates)
        assert min(running, waiting) >= 0
        served = [
            work_done(out, control, begin, min(t, end))
            for _, begin, end in out.segments
            if begin < t
        ]
        arrived = sum(job.work for job in jobs if job.submit < t)
        present = sum(job.work for job in jobs if job.submit <= t)
        assert arrived - sum(served) <= left <= present - sum(served)


@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from(POLICIES), st.sampled_from(TIES), controls())
def test_capacity_and_work_are_conserved(jobs, policy, ties, control):
    exact = [Job(F(job.submit), F(job.work), F(job.estimate), job.procs) for job in jobs]
    out = simulate(exact, PROCS, *policy, ties=ties, control=control)
    check(exact, out, control)
    assert simulate(jobs, PROCS, *policy, ties=ties, control=control) == out
    if policy == ("fcfs", None):
        assert out.start == sorted(out.start)


@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from(POLICIES), st.sampled_from(TIES))
def test_floats_give_the_same_as_ints(jobs, policy, ties):
    floats = [
        Job(float(job.submit), float(job.work), float(job.estimate), job.procs) for job in jobs
    ]
    assert simulate(floats, PROCS, *policy, ties) == simulate(jobs, PROCS, *policy, ties)


@settings(max_examples=300, deadline=None)
@given(tables(), st.sampled_from(TIES))
def test_fcfs_waits_are_the_delays_of_the_recursion(jobs, ties):
    gaps = [b.submit - a.submit for a, b in pairwise(jobs)] + [0]
    delays, _ = workload_recursion(
        gaps, [job.work for job in jobs], [job.procs for job in jobs], PROCS
    )
    out = simulate(jobs, PROCS, ties=ties)
    assert [start - job.submit for start, job in zip(out.start, jobs)] == delays


# -- second by second: time goes in ticks of one, work is counted down, plans are plain arrays

HORIZON = 400


def plan_free(now: int, running: list[tuple[int, int]]) -> list[int]:
    """Processors free in each coming tick, by (expected end, procs) of the running jobs."""
    return [PROCS - sum(p for end, p in running if end > now + k) for k in range(HORIZON)]


def earliest(free: list[int], job: Job) -> int:
    """The first tick from which the job fits for its estimate."""
    return next(
        k for k in range(HORIZON) if all(f >= job.procs for f in free[k : k + job.estimate])
    )


def reserve(free: list[int], k: int, job: Job) -> None:
    for i in range(k, min(k + job.estimate, HORIZON)):
        free[i] -= job.procs


def ticks(jobs: list[Job], policy: str) -> list[list[int]]:
    """For each job the ticks in which it is served; jobs need positive work and estimate."""
    left = [job.work for job in jobs]
    served: list[list[int]] = [[] for _ in jobs]
    serving: list[int] = []
    for now in range(HORIZON // 2):
        ended = [j for j in serving if left[j] == 0]
        serving = [j for j in serving if left[j] > 0]
        present = [j for j, job in enumerate(jobs) if job.submit <= now and left[j] > 0]
        fresh = [j for j in present if jobs[j].submit == now]
        if fresh or ended:  # an estimate that runs out is no event
            serving = PLANS[policy](jobs, now, left, served, serving, present, fresh, bool(ended))
        assert sum(jobs[j].procs for j in serving) <= PROCS
        for j in serving:
            left[j] -= 1
            served[j].append(now)
    return served


def room(jobs, serving):
    return PROCS - sum(jobs[j].procs for j in serving)


def plan_backfilling(jobs, now, served, serving, present, *, everybody):
    """Reserve for all in turn (conservative), or for the first blocked one only (EASY)."""
    running = [(max(now, served[j][0] + jobs[j].estimate), jobs[j].procs) for j in serving]
    free, serving, head = plan_free(now, running), list(serving), False
    for j in [j for j in present if j not in serving]:
        k = earliest(free, jobs[j])
        blocked = jobs[j].procs > room(jobs, serving)
        if k == 0 and not blocked:
            serving.append(j)
            reserve(free, 0, jobs[j])
        elif everybody or not head:
            reserve(free, k, jobs[j])
            head = True
    return serving


def prefix(jobs, ranking):
    chosen: list[int] = []
    for j in ranking:
        if jobs[j].procs > room(jobs, chosen):
            break
        chosen.append(j)
    return chosen


def plan_remaining(jobs, left, serving, present, fresh, ended, sign):
    if ended:
        return prefix(jobs, sorted(present, key=lambda j: (sign * left[j], j)))
    serving = list(serving)
    if all(j in serving or j in fresh for j in present):
        for j in fresh:
            if jobs[j].procs > room(jobs, serving):
                break
            serving.append(j)
    return serving


PLANS = {
    "easy": lambda jobs, now, left, served, serving, present, fresh, ended: plan_backfilling(
        jobs, now, served, serving, present, everybody=False
    ),
    "conservative": lambda jobs, now, left, served, serving, present, fresh, ended: (
        plan_backfilling(jobs, now, served, serving, present, everybody=True)
    ),
    "lcfs-pr": lambda jobs, now, left, served, serving, present, fresh, ended: prefix(
        jobs, present[::-1]
    ),
    "spf-pr": lambda jobs, now, left, served, serving, present, fresh, ended: plan_remaining(
        jobs, left, serving, present, fresh, ended, 1
    ),
    "lpf-pr": lambda jobs, now, left, served, serving, present, fresh, ended: plan_remaining(
        jobs, left, serving, present, fresh, ended, -1
    ),
}


@settings(max_examples=300, deadline=None)
@given(tables(least=1), st.sampled_from(sorted(PLANS)))
def test_second_by_second(jobs, policy):
    backfill = policy if policy in ("easy", "conservative") else None
    out = simulate(jobs, PROCS, "fcfs" if backfill else policy, backfill)
    served = [
        [t for j, a, b in out.segments if j == i for t in range(a, b)] for i in range(len(jobs))
    ]
    assert [sorted(s) for s in served] == ticks(jobs, policy)
