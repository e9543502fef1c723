"""Nodes as bits: the same schedules as the naive twin and as rows of numbers, on many nodes."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from onega.kernels import detailed_codes as codes
from onega.simulation import detailed_run
from onega.simulation.detailed_memory import Memory
from onega.simulation.detailed_planes import bits_of, planes_of, words_of
from onega.simulation.detailed_problem import Problem
from reference.detailed import run_exactly
from reference.detailed_build import Draft, build
from simulation.test_detailed_twin import compare

RULES = {"first fit": codes.FIRST_FIT, "best fit": codes.BEST_FIT, "spread": codes.SPREAD}
MOST = {"ones": 1, "up to three": 3, "fours": 4, "up to eight": 8}


def busy(seed: int, most: int, rule: int, count: int, **given: object) -> Problem:
    """A machine of two partitions, one of 150 nodes, that is seldom empty; nodes fail."""
    rng = np.random.default_rng(seed)
    sizes = (150, 9)
    owner = rng.permutation(np.repeat([0, 1], sizes))  # their nodes needn't stand together
    least = most if most in (1, 4) else 1
    capacity = rng.integers(least, most + 1, sum(sizes))
    total = [int(capacity[owner == part].sum()) for part in (0, 1)]
    jobs = []
    submit = np.cumsum(rng.integers(0, 5, count))
    for time in submit.tolist():
        part = int(rng.random() < 0.2)
        wide = rng.choice([0.02, 0.1, 0.3, 0.9], p=[0.5, 0.3, 0.15, 0.05])
        procs = int(rng.integers(1, max(2, wide * total[part])))
        work = int(rng.integers(1, 60))
        expect = max(1, work + int(rng.choice([-9, 0, 0, 8, 60])))
        jobs.append(
            {"submit": time, "partition": part, "procs": procs, "chunks": procs, "chunk": [1]}
            | {"work": work, "expect": expect, "completion": int(rng.choice([0, 0, 0, 3]))}
        )
    last = int(submit[-1])
    events = []
    for _ in range(count // 4):
        node, down = int(rng.integers(0, sum(sizes))), int(rng.integers(0, last))
        events += [(down, codes.FAIL, node), (down + int(rng.integers(1, 90)), codes.RETURN, node)]
    draft = Draft(
        jobs,
        capacity=capacity[:, None].tolist(),
        node_partition=owner.tolist(),
        pooled=False,
        policies=[("fcfs", "easy"), ("saf", "easy")],
        placement=[rule],
        events=events,
    )
    for name, value in given.items():
        setattr(draft, name, value)
    return build(draft)


def run_in_numbers(problem: Problem):
    """The same run without bits."""
    with mock.patch("onega.simulation.detailed_memory.planes_of", return_value=0):
        assert Memory(problem).state["planes"][0] == 0
        return detailed_run.run(problem)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("most", MOST)
def test_equal_to_rows_of_numbers(most, rule):
    for seed in range(3):
        problem = busy(seed, MOST[most], RULES[rule], 700)
        assert planes_of(problem) == {1: 1, 3: 4, 4: 4, 8: 8}[MOST[most]]
        compare(detailed_run.run(problem), run_in_numbers(problem))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("most", MOST)
def test_equal_to_the_twin(most, rule):
    problem = busy(11, MOST[most], RULES[rule], 30)
    expected, exact = run_exactly(problem)
    assert exact
    compare(detailed_run.run(problem), expected)


def test_who_runs_at_the_beginning_holds_bits():
    problem = busy(5, 4, codes.SPREAD, 200)
    problem.jobs.initial_start[:3] = problem.t0 - 4.0
    problem.jobs.initial_done[:3] = 2.0
    assert planes_of(problem) == 4
    compare(detailed_run.run(problem), run_in_numbers(problem))


SMALL = {"capacity": [[4]] * 3, "node_partition": [0, 0, 1]}
JOBS = [{"submit": 0, "procs": 1, "chunks": 1, "chunk": [1], "work": 1}]


@pytest.mark.parametrize(
    ("given", "planes"),
    [
        ({}, 4),
        ({"capacity": [[1]] * 3}, 1),
        ({"capacity": [[1], [1], [5]]}, 8),
        ({"capacity": [[1], [1], [9]]}, 0),
        ({"policies": [("fcfs", "easy"), ("fcfs", None)]}, 4),
        ({"policies": [("fcfs", "easy"), ("fcfs", "conservative")]}, 0),
        ({"shared": [5]}, 4),  # nobody asks for it
        ({"shared": [5], "jobs": [JOBS[0] | {"demand": [1]}]}, 0),
        ({"shared": [5], "node_partition": [0] * 3, "policies": [("fcfs", "easy")]}, 4),
        ({"events": [(1, codes.FAIL, 0)]}, 4),
        ({"events": [(1, codes.DRAIN, 0)]}, 0),
        ({"reservations": [(2, 3, 0, [1])]}, 0),
        ({"jobs": [JOBS[0] | {"chunk": [2], "procs": 2}]}, 0),
        ({"whole": [True, False]}, 0),
    ],
)
def test_where_nodes_are_bits(given, planes):
    settled = SMALL | {"jobs": JOBS, "policies": [("fcfs", "easy")] * 2} | given
    memory = Memory(build(Draft(pooled=False, **settled)))
    assert memory.state["planes"][0] == planes


def test_planes_stand_by_word():
    """Two partitions of 65 and 1 nodes: words 0 and 1, and word 2; ones below, zeros above."""
    hosts = np.array([0] * 65 + [1])
    amounts = np.array([3.0] + [1.0] * 63 + [2.0] + [4.0])
    words = words_of(hosts, 2)
    assert words.tolist() == [0, 2, 3]
    row = bits_of(amounts, hosts, words, 4).reshape(3, 3, 4)
    assert (row[:, 0] == -1).all()
    assert (row[:, 2] == 0).all()
    assert row[:, 1].tolist() == [[-1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    assert bits_of(np.ones(66), hosts, words, 1).tolist() == [-1, 1, 1]
