"""Detailed machines whose means are known: replicates on fixed seeds, |z| < 4 (6e-5 each)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import onega
from onega import (
    Cluster,
    Failures,
    Interruption,
    Overheads,
    Power,
    Schedule,
    Sleep,
    SleepState,
    UserLimits,
    Workload,
)

REPLICATES = 16


def agrees(found: list[float], expected: float, precision: float = 0.05) -> None:
    """The mean of the replicates is the expected one; and they would notice if it weren't."""
    error = np.std(found, ddof=1) / math.sqrt(len(found))
    z = (np.mean(found) - expected) / error
    assert abs(z) < 4, (z, np.mean(found), expected)
    assert error < precision * expected


def arrivals(rate: float, count: int, draw: Callable, seed: int) -> Workload:
    """Serial jobs that come as a Poisson stream."""
    rng = np.random.default_rng(seed)
    return Workload(
        {
            "submit": np.cumsum(rng.exponential(1 / rate, count)),
            "runtime": draw(rng, count),
            "procs": np.ones(count, int),
            "user": np.ones(count, int),
        }
    )


def exponential(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.exponential(1.0, count)


def constant(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.ones(count)


SECOND_MOMENT = {exponential: 2.0, constant: 1.0}


def replicates(
    machine: Cluster,
    rate: float,
    draw: Callable = exponential,
    count: int = 5000,
    **options,
) -> list[Schedule]:
    return [
        onega.simulate(arrivals(rate, count, draw, seed), machine, "fcfs", rng=seed, **options)
        for seed in range(REPLICATES)
    ]


def mean_response(run: Schedule, warm: int = 500) -> float:
    return float(run.jobs["response"].to_numpy()[warm:].mean())


def steady_state(flow: np.ndarray) -> np.ndarray:
    """π with πQ = 0 of the chain with these rates between states."""
    system = (flow - np.diag(flow.sum(axis=1))).T
    system[0] = 1.0
    return np.linalg.solve(system, np.eye(len(flow))[0])


def birth_death(up: list[float], down: list[float]) -> np.ndarray:
    """π of a chain that goes from k to k + 1 at up[k] and back at down[k]."""
    weights = np.concatenate([[1.0], np.cumprod(np.array(up) / np.array(down))])
    return weights / weights.sum()


def time_shares(run: Schedule, since: float, until: float, most: int) -> np.ndarray:
    """How large a part of [since, until) k processors were busy, k = 0 … most."""
    table = run.system
    time = np.clip([*table["time"].to_list(), np.inf], since, until)
    return np.bincount(table["busy"], weights=np.diff(time), minlength=most + 1) / (until - since)


# -- machine repair: availability


@pytest.mark.parametrize(
    ("to_failure", "to_repair"),
    [
        ("exponential(mean=40)", "exponential(mean=10)"),
        ("weibull(shape=0.7, mean=40)", "lognormal(sigma=0.8, mean=10)"),
    ],
)
def test_nodes_that_are_up(to_failure, to_repair):
    """Each node is up a share A = E[up] / (E[up] + E[down]) of the time, whatever the laws.

    Nodes are independent, so their number is binomial. A backlog of serial jobs keeps all that
    are up busy, and interrupted jobs don't matter: another takes the processor at once.
    """
    nodes, since, until = 4, 300.0, 3000.0
    machine = Cluster(
        nodes,
        failures=Failures(to_failure, to_repair),
        interruption=Interruption("checkpoint", 1.0),
    )
    backlog = Workload(
        {"submit": np.zeros(140), "runtime": np.full(140, 100.0), "procs": np.ones(140, int)}
    )
    shares = []
    for seed in range(REPLICATES):
        run = onega.simulate(backlog, machine, "fcfs", rng=seed)
        assert run.system.filter(run.system["waiting"] == 0)["time"].min() > until
        shares.append(time_shares(run, since, until, nodes))
    for up in (2, 3, 4):
        agrees([share[up] for share in shares], stats.binom.pmf(up, nodes, 0.8), 0.1)


@pytest.mark.parametrize("servers", [1, 2])
def test_machines_that_break_down_and_are_repaired(servers):
    """The machine repair model (Engset): N users, each thinks, then waits for his job to end.

    Dependent jobs make it: each user's next job is submitted an exponential time after his last
    one ended. The number k in the system goes up at (N − k)/think, down at min(k, c)/E[S].
    """
    users, think, jobs, since, until = 5, 4.0, 600, 100.0, 2000.0
    share = birth_death(
        [(users - k) / think for k in range(users)],
        [min(k + 1, servers) for k in range(users)],
    )
    expected = share[:servers] @ np.arange(servers) + share[servers:].sum() * servers
    found = []
    for seed in range(REPLICATES):
        rng = np.random.default_rng(seed)
        number = np.arange(users * jobs)
        first = number < users
        pause = rng.exponential(think, number.size)
        log = Workload(
            {
                "job": number + 1,
                "submit": np.where(first, pause, 0.0),
                "runtime": rng.exponential(1.0, number.size),
                "procs": np.ones(number.size, int),
                "after": [None if own else int(n) + 1 - users for own, n in zip(first, number)],
                "think": [None if own else t for own, t in zip(first, pause)],
            }
        )
        run = onega.simulate(log, servers, "fcfs", dependencies=True)
        assert run.end[-users:].min() > until
        found.append(float(time_shares(run, since, until, servers) @ np.arange(servers + 1)))
    agrees(found, float(expected))


# -- breakdowns


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.5), (3, 1.8)])
def test_queue_with_breakdowns(servers, rate):
    """M/M/c whose servers fail, busy or idle, and are repaired; service resumes where it stopped.

    The chain of (number in the system i, servers up u): arrivals λ, services min(i, u), failures
    u·ξ, repairs (c − u)·η, cut off at 300 jobs. Resuming is checkpointing at tiny intervals; an
    interrupted job goes on at once on another server if one is idle, else waits in its old place.
    """
    fail, repair, most = 1 / 30, 1 / 5, 300
    size = servers + 1
    flow = np.zeros(((most + 1) * size, (most + 1) * size))
    for i in range(most + 1):
        for u in range(size):
            here = i * size + u
            if i < most:
                flow[here, here + size] = rate
            if i > 0:
                flow[here, here - size] = min(i, u)
            if u > 0:
                flow[here, here - 1] = u * fail
            if u < servers:
                flow[here, here + 1] = (servers - u) * repair
    number = steady_state(flow) @ np.repeat(np.arange(most + 1), size)
    machine = Cluster(
        servers,
        failures=Failures("exponential(mean=30)", "exponential(mean=5)"),
        interruption=Interruption("checkpoint", 2.0**-20),
    )
    runs = replicates(machine, rate)
    agrees([mean_response(run) for run in runs], float(number) / rate)


@pytest.mark.parametrize(
    ("rule", "stretches"),
    [(Interruption("requeue"), 1), (Interruption("checkpoint", 2.5), 4)],
)
def test_time_to_completion_under_failures(rule, stretches):
    """A job of work w on one node completes after (1/ξ + E[repair])·(e^{ξw} − 1) on average.

    (Duda 1983.) Failures at rate ξ of an up node, the job starts anew each time; with
    checkpoints, n stretches of w/n take n times as long as one of them. Jobs in a row each begin
    with an up node, and exponential times to failure forget.
    """
    work, fail, repair, jobs = 10.0, 0.1, 3.0, 300
    expected = stretches * (1 / fail + repair) * math.expm1(fail * work / stretches)
    log = Workload(
        {
            "submit": np.zeros(jobs),
            "runtime": np.full(jobs, work),
            "procs": np.ones(jobs, int),
        }
    )
    machine = Cluster(1, failures=Failures("exponential(mean=10)", "3s"), interruption=rule)
    found = []
    for seed in range(REPLICATES):
        run = onega.simulate(log, machine, "fcfs", rng=seed)
        found.append(float(run.end.max()) / jobs)
    agrees(found, expected)


# -- set-up times and sleep


ASLEEP = {
    "set-up after every idle time": [SleepState(0, 1.0, 2.0, 8.0)],
    "delayed off": [SleepState(3, 1.0, 2.0, 8.0)],
    "sleep, then off": [SleepState(1, 2.0, 0.5, 8.0), SleepState(4, 0.5, 3.0, 12.0)],
}


@pytest.mark.parametrize("draw", SECOND_MOMENT)
@pytest.mark.parametrize("states", ASLEEP.values(), ids=ASLEEP)
def test_wait_and_energy_of_a_server_that_sleeps(states, draw):
    """M/G/1 that falls asleep in state s after T_s of idling and needs a set-up of D_s then.

    An idle time is exponential with the arrival rate λ, so the next busy time begins with a set-up
    D of D_s with probability e^{−λT_s} − e^{−λT_{s+1}}, and 0 with 1 − e^{−λT_0}. The wait, set-up
    included, is (Welch 1964; Levy and Kleinrock 1986)

        E[W] = λE[S²] / (2(1 − ρ)) + (2E[D] + λE[D²]) / (2(1 + λE[D])).

    A cycle, from one end of a busy time to the next, is an idle time 1/λ, the set-up E[D], and
    the busy time that 1 + λE[D] jobs leave, (1 + λE[D])E[S]/(1 − ρ): in all
    (1/λ + E[D]) / (1 − ρ). So the server sets up a share (1 − ρ)E[D] / (1/λ + E[D]) of the time,
    and so on; watts follow (renewal-reward).
    """
    rate, busy, idle = 0.4, 10.0, 4.0
    still_idle = [math.exp(-rate * state.timeout) for state in states] + [0.0]
    wakes_from = -np.diff(still_idle)
    delays = np.array([state.delay for state in states])
    setup, setup_squared = wakes_from @ delays, wakes_from @ delays**2
    wait = rate * SECOND_MOMENT[draw] / (2 * (1 - rate))
    wait += (2 * setup + rate * setup_squared) / (2 * (1 + rate * setup))
    cycle = (1 / rate + setup) / (1 - rate)
    watts = rate * busy + (1 - still_idle[0]) / rate / cycle * idle
    for state, share in zip(states, wakes_from):
        watts += share * (state.power / rate + state.delay * state.wake_power) / cycle
    machine = Cluster(1, power=Power(busy, idle), sleep=Sleep(states))
    runs = replicates(machine, rate, draw)
    agrees([mean_response(run) for run in runs], wait + 1)
    agrees([run.summary()["mean_power"] for run in runs], float(watts), 0.02)


# -- caps, limits, overheads, patience


@pytest.mark.parametrize(
    "machine",
    [
        Cluster(8, power=Power(100.0, 20.0), power_cap=8 * 20 + 3 * 80 + 10),
        Cluster(8, user_limits=UserLimits(max_jobs=3)),
        Cluster(8, user_limits=UserLimits(max_procs=3)),
    ],
    ids=["power cap", "jobs of a user", "processors of a user"],
)
def test_eight_servers_of_which_three_may_work(machine):
    """A cap on watts or a limit that three jobs exhaust makes an M/M/3 of them (Erlang C)."""
    load, servers = 2.4, 3
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) / (1 - load / servers)
    wait = last / (sum(terms) + last) / (servers - load)
    agrees([mean_response(run) for run in replicates(machine, load)], wait + 1)


def test_overheads_are_service():
    """M/G/1 (Pollaczek–Khinchine) whose service is launch, work and completion together."""
    rate, mean = 0.5, 1 + 0.2 + 0.1
    second = mean**2 + 1 + 0.2**2  # variances of work and launch; the completion has none
    expected = mean + rate * second / (2 * (1 - rate * mean))
    machine = Cluster(1, overheads=Overheads("exponential(mean=0.2)", 0.1))
    agrees([mean_response(run) for run in replicates(machine, rate)], expected)


def test_impatient_users():
    """M/M/c+M (Erlang A): of n in the system n − c wait, and each loses patience at rate θ."""
    rate, servers, patience, most = 3.6, 3, 2.0, 80
    down = [min(k + 1, servers) + max(k + 1 - servers, 0) / patience for k in range(most)]
    share = birth_death([rate] * most, down)
    waiting = share @ np.maximum(np.arange(most + 1) - servers, 0)
    gone = []
    for run in replicates(Cluster(servers), rate, patience=f"exponential(mean={patience})"):
        state = run.jobs["state"].to_numpy()[500:]
        assert set(state) == {"completed", "cancelled"}
        gone.append(float((state == "cancelled").mean()))
    agrees(gone, float(waiting) / patience / rate)
