"""Usage with half-life decay, against its definition over all that was held."""

from __future__ import annotations

import numpy as np
import pytest

import onega
from onega.core.policy import Policy
from onega.core.rng import seed_sequence
from onega.kernels.machine.loop import run
from onega.kernels.pool import engine
from onega.simulation.machine.arrivals import RunInputs
from onega.simulation.machine.build import prepare
from onega.simulation.machine.memory import make_machine, outcome
from onega.simulation.priority import NO_FUNCTION

PROCS, USERS = 16, 5


def made_log(gap: float) -> onega.Workload:
    """Whose times lie ``gap`` seconds apart on average."""
    rng = np.random.default_rng(7)
    return onega.Workload(
        {
            "submit": np.floor(np.cumsum(rng.exponential(gap, 300))),
            "runtime": np.ceil(rng.exponential(4 * gap, 300)),
            "procs": rng.integers(1, 9, 300),
            "user": rng.integers(1, USERS + 1, 300),
        }
    ).with_machine(PROCS)


@pytest.mark.parametrize("half_life", [20.0, 1000.0, 100_000.0, 1e7])
def test_usage_is_what_was_held_by_how_long_ago_that_was(half_life):
    """∫ held·2^(−(t − x)/h) dx; the shortest half-life moves the epoch hundreds of times."""
    log = made_log(gap=100.0)
    cluster = onega.Cluster(PROCS, multifactor=onega.Multifactor(half_life=half_life))
    rule = Policy.parse("multifactor+easy").knowing("runtime")
    seed = seed_sequence(1)
    ready = prepare(log, cluster, rule, RunInputs(), enforce_limits=False, seed=seed)
    machine = make_machine(ready.problem(ready.first_horizon()))
    assert run(machine, NO_FUNCTION, 10**6) == engine.DONE
    out, now = outcome(machine), float(machine.clock[0]["now"])
    since, until = (2.0 ** (-(now - edge) / half_life) for edge in (out.start, out.end))
    used = log.column("procs") * half_life / np.log(2) * (until - since)
    everyone = used.sum()
    expected = np.append(np.bincount(machine.jobs["user"], used, USERS), everyone)
    # Nobody holds anything any more. The engine's unit is (h/ln 2)·2^(…) processor-seconds.
    unit = half_life / np.log(2) * 2.0 ** (-(now - machine.usage[0]["epoch"]) / half_life)
    np.testing.assert_allclose(machine.users["usage"] * unit, expected, rtol=1e-11)
    assert not machine.users["held"].any()


def test_nobody_has_used_anything_at_the_beginning():
    """All start at one instant, and who waits is as worthy as if he had nothing running."""
    log = onega.Workload(
        {
            "submit": np.zeros(6),
            "runtime": [400.0] * 6,
            "procs": [5, 6, 3, 9, 8, 7],
            "user": [1, 1, 1, 1, 2, 3],
        }
    ).with_machine(PROCS)
    cluster = onega.Cluster(PROCS, multifactor=onega.Multifactor(size=0))
    start = onega.simulate(log, cluster, "multifactor").start
    # Equal priorities at 0: by row. Then user 1 has used everything, so 2 and 3 go before him.
    assert start.tolist() == [0, 0, 0, 800, 400, 400]
