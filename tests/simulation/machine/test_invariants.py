"""Invariants of the detailed machine, for its kernel and for its naive twin."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from onega.kernels.machine import codes
from onega.simulation.machine import run as detailed_run
from onega.simulation.machine.problem import Outcome, Problem
from reference.machine.machine import run_exactly
from reference.machine.problems import MECHANISMS, random_mixture, random_problem
from simulation.machine.checks import CHECKS, History, check

FEW, MANY = 15, 600


def twin(problem: Problem) -> Outcome:
    return run_exactly(problem)[0]


ENGINES = [twin, detailed_run.run]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("engine", ENGINES, ids=["twin", "kernel"])
def test_each_mechanism(engine, mechanism):
    for seed in range(FEW):
        problem = random_problem(seed, MECHANISMS[mechanism])
        check(problem, engine(problem))


@pytest.mark.parametrize("engine", ENGINES, ids=["twin", "kernel"])
def test_mixtures(engine):
    for seed in range(10 * FEW):
        problem = random_mixture(seed)
        check(problem, engine(problem))


def test_longer_mixtures():
    for seed in range(10):
        problem = random_mixture(seed, 300)
        check(problem, detailed_run.run(problem))


@pytest.mark.verification
@pytest.mark.parametrize("engine", ENGINES, ids=["twin", "kernel"])
def test_many_mixtures(engine):
    for seed in range(100_000, 100_000 + 10 * MANY):
        problem = random_mixture(seed)
        check(problem, engine(problem))


# -- checks that can't fail show nothing


def found(spoilt: dict[str, np.ndarray], problem: Problem, out: Outcome) -> set[str]:
    """Names of the checks that notice."""
    history = History(problem, dataclasses.replace(out, **spoilt))
    noticed = set()
    for one in CHECKS:
        try:
            one(history)
        except AssertionError:
            noticed.add(one.__name__)
    return noticed


def spoilt(out: Outcome, table: str, column: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """One of the outcome's tables with another column."""
    records = getattr(out, table).copy()
    records[column] = values
    return {table: records}


def test_the_checks_notice():
    noticed: set[str] = set()
    for seed in range(60):
        problem = random_mixture(seed)
        out = twin(problem)
        assert not found({}, problem, out)
        earlier = np.minimum(out.attempts["start"], problem.t0)
        noticed |= found(spoilt(out, "attempts", "start", earlier), problem, out)
        noticed |= found(spoilt(out, "attempts", "end", out.attempts["end"] + 1), problem, out)
        noticed |= found({"submit": out.submit + 1}, problem, out)
        noticed |= found(spoilt(out, "parts", "until", out.parts["until"] + 1), problem, out)
        noticed |= found({"lost_work": out.lost_work + 1}, problem, out)
        noticed |= found({"state": np.full_like(out.state, codes.CANCELLED)}, problem, out)
    assert noticed == {one.__name__ for one in CHECKS}
