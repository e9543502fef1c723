"""Every kernel against an obvious twin."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from onega.kernels.models.chain import pick, walk
from onega.kernels.models.match import match
from onega.kernels.models.vlmc import Trees
from onega.kernels.models.vlmc import walk as walk_trees
from onega.models.jobs.contexts import ContextTree
from onega.models.jobs.coupling import adjusted_path, adjusted_states

SEEDS = st.integers(0, 10_000)


def naive_pick(cumulative, u):
    for state, level in enumerate(cumulative):
        if level > u:
            return state
    return len(cumulative) - 1


def rows(rng, n):
    table = rng.random((n, n)) ** 3
    return np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)


@given(SEEDS, st.floats(0, 1))
def test_pick(seed, u):
    cumulative = rows(np.random.default_rng(seed), 5)[0]
    assert pick(cumulative, u) == naive_pick(cumulative, u)


@given(SEEDS)
def test_walk(seed):
    rng = np.random.default_rng(seed)
    matrix, uniforms = rows(rng, 4), rng.random(30)
    path = [int(rng.integers(4))]
    for u in uniforms[1:]:
        path.append(naive_pick(matrix[path[-1]], u))
    assert walk(path[0], matrix, uniforms).tolist() == path


def naive_coupled(leader, follower, cor0, cor1, first, uniforms):
    """The three rules of §3.2.2 in the thesis's own numbering, from 1."""
    a, b = len(follower), len(leader)
    m, j = first[0] + 1, first[1] + 1
    leads, follows = [m], [j]
    for u, v, w in uniforms.T[1:]:
        n = naive_pick(leader[m - 1], u) + 1
        k = naive_pick(follower[j - 1], v) + 1
        given_state = k
        if j != k and m == n and w < abs(cor0):
            place = n if cor0 > 0 else b + 1 - n
            given_state = math.floor(place * a / b)
        if j != k and m != n and w < abs(cor1):
            given_state = math.floor((n - m) * math.copysign(1, cor1) * a / b + j)
        leads.append(n)
        follows.append(min(max(given_state, 1), a))
        m, j = n, k
    return np.array([leads, follows]) - 1


@settings(deadline=None)
@given(SEEDS, st.floats(-1, 1), st.floats(-1, 1))
def test_coupled_walks_follow_the_rules(seed, cor0, cor1):
    rng = np.random.default_rng(seed)
    b, a = int(rng.integers(2, 9)), int(rng.integers(1, 7))
    leader, follower = rows(rng, b), rows(rng, a)
    uniforms = rng.random((3, 60))
    first = rng.integers(b), rng.integers(a)
    leads, follows = walk(first[0], leader, uniforms[0]), walk(first[1], follower, uniforms[1])
    table, chances = adjusted_states(a, b, cor0, cor1), (abs(cor0), abs(cor1))
    shown = adjusted_path(leads, follows, table, chances, uniforms[2])
    expected = naive_coupled(leader, follower, cor0, cor1, first, uniforms)
    np.testing.assert_array_equal([leads, shown], expected)


@given(SEEDS)
def test_match_takes_each_estimate_once_and_none_too_short(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    runtimes = -np.sort(-rng.integers(1, 50, n).astype(float))
    estimates = -np.sort(-rng.integers(1, 60, n).astype(float))
    uniforms = rng.random(n)
    taken = match(runtimes, estimates, uniforms)
    pool, rest, expected = [], list(estimates), []
    for runtime, u in zip(runtimes, uniforms):
        while rest and rest[0] >= runtime:
            pool.append(rest.pop(0))
        if not pool:
            expected.append(math.nan)
            continue
        place = min(int(u * len(pool)), len(pool) - 1)
        expected.append(pool[place])
        pool[place] = pool[-1]
        pool.pop()
    np.testing.assert_array_equal(taken, expected)
    given_out = taken[~np.isnan(taken)]
    assert np.all(given_out >= runtimes[~np.isnan(taken)])
    values, counts = np.unique(given_out, return_counts=True)
    for value, count in zip(values, counts):
        assert count <= np.sum(estimates == value)


@settings(deadline=None)
@given(SEEDS)
def test_walking_trees_equals_looking_contexts_up(seed):
    rng = np.random.default_rng(seed)
    series = rng.integers(0, 3, (2, 400))
    spec = np.array([[[0, 1], [1, 1]], [[1, 1], [0, 0]]])
    trees = []
    for which, one in enumerate(spec):
        past = np.column_stack([series[x, 1 - lag : 400 - lag] for x, lag in one])
        trees.append(ContextTree.fit(past, series[which, 1:], 3, alpha=0.9))
    cumulative = [np.cumsum(t.probabilities(), axis=1) for t in trees]
    flat = Trees(
        np.concatenate([t.children(3) for t in trees]),
        np.concatenate(cumulative),
        np.array([0, trees[0].parents.size]),
    )
    uniforms = rng.random((2, 50))
    got = walk_trees(flat, spec, uniforms)
    path = np.zeros((2, 50), int)
    for i in range(50):
        for which, one in enumerate(spec):
            context = []
            for x, lag in one:
                if i - lag < 0:
                    break
                context.append(path[x, i - lag])
            node = trees[which].locate(np.array([context], dtype=int).reshape(1, -1))[0]
            path[which, i] = naive_pick(cumulative[which][node], uniforms[which, i])
    np.testing.assert_array_equal(got, path)
