"""Obvious twins of the stability constant."""

from __future__ import annotations

import heapq
from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np


def constant_fraction(probs: dict[int, Fraction], servers: int) -> Fraction:
    """C = Σ_j P(ν = j)/j by j-fold convolutions, in exact fractions."""
    at = {0: Fraction(1)}
    constant = Fraction(0)
    for j in range(1, servers + 1):
        grown: dict[int, Fraction] = {}
        for used, weight in at.items():
            for width, p in probs.items():
                if used + width <= servers:
                    grown[used + width] = grown.get(used + width, Fraction(0)) + weight * p
        at = grown
        for used, weight in at.items():
            blocked = sum((p for width, p in probs.items() if used + width > servers), Fraction(0))
            constant += weight * blocked / j
    return constant


def constant_quadrature(probs: np.ndarray, servers: int, nodes: int = 120) -> float:
    """C = ∫₀¹ E[z^(ν−1)] dz with a_n(z) = P(N>n) + z Σ p_k a_{n−k}(z); probs[k−1] = p_k.

    With z = 1 − (1−y)³ the nodes crowd near 1, where z^ν lives for large ν.
    """
    y, weight = np.polynomial.legendre.leggauss(nodes)
    y, weight = (y + 1) / 2, weight / 2
    z, jacobian = 1 - (1 - y) ** 3, 3 * (1 - y) ** 2
    tails = 1 - np.concatenate([[0.0], np.cumsum(probs)])
    a = np.zeros((servers + 1, nodes))
    for n in range(servers + 1):
        a[n] = tails[n] if n < tails.size else 0.0
        for k in range(1, min(n, probs.size) + 1):
            a[n] += z * probs[k - 1] * a[n - k]
    return float(np.sum(weight * jacobian * a[servers] / z))


def constant_enumerated(probs: dict[int, Fraction], servers: int) -> Fraction:
    """Rumyantsev (2014), (4) word by word: all orders of s jobs, in exact fractions."""
    constant = Fraction(0)
    for order in product(sorted(probs), repeat=servers):
        weight = Fraction(1)
        for width in order:
            weight *= probs[width]
        fit = max(i for i in range(1, servers + 1) if sum(order[:i]) <= servers)
        constant += weight / fit
    return constant


def sides_of_eight(
    probs: dict[int, Fraction], servers: int
) -> dict[tuple[int, ...], tuple[Fraction, Fraction]]:
    """Left and right side of Rumyantsev (2014), (8), as printed, for every partition n."""
    left: dict[tuple[int, ...], Fraction] = {}
    for order in product(sorted(probs), repeat=servers):
        weight = Fraction(1)
        for width in order:
            weight *= probs[width]
        fit = max(i for i in range(1, servers + 1) if sum(order[:i]) <= servers)
        counts = tuple(order[:fit].count(width) for width in range(1, servers + 1))
        left[counts] = left.get(counts, Fraction(0)) + weight / fit
    sides = {}
    for counts, value in left.items():
        right = Fraction(factorial(sum(counts)))
        for i, count in enumerate(counts):
            right *= probs.get(i + 1, Fraction(0)) ** count / Fraction(factorial(count))
        used = sum((i + 1) * count for i, count in enumerate(counts))
        last = range(servers - used + 1, servers + 1)
        sides[counts] = value, right * sum((probs.get(j, Fraction(0)) for j in last), Fraction(0))
    return sides


def constant_partitions(probs: dict[int, Fraction], servers: int) -> Fraction:
    """Rumyantsev (2014), (9) as printed: j from s−k+1 and (Σn−1)!, in exact fractions."""
    widths = sorted(probs)
    constant = Fraction(0)
    for counts in product(*(range(servers // width + 1) for width in widths)):
        used = sum(c * w for c, w in zip(counts, widths))
        if not 1 <= used <= servers:
            continue
        weight = Fraction(factorial(sum(counts) - 1))
        for count, width in zip(counts, widths):
            weight *= probs[width] ** count / Fraction(factorial(count))
        constant += weight * sum((p for w, p in probs.items() if w > servers - used), Fraction(0))
    return constant


def vector_constant_fraction(
    classes: list[tuple[tuple[int, ...], Fraction]], capacity: tuple[int, ...]
) -> Fraction:
    """C for several resources by adding one job at a time."""

    def fits(used: tuple[int, ...], need: tuple[int, ...]) -> bool:
        return all(u + n <= c for u, n, c in zip(used, need, capacity))

    at = {tuple(0 for _ in capacity): Fraction(1)}
    constant = Fraction(0)
    j = 0
    while at:
        j += 1
        grown: dict[tuple[int, ...], Fraction] = {}
        for used, weight in at.items():
            for need, p in classes:
                if fits(used, need):
                    cell = tuple(u + n for u, n in zip(used, need))
                    grown[cell] = grown.get(cell, Fraction(0)) + weight * p
        at = grown
        for used, weight in at.items():
            blocked = sum((p for need, p in classes if not fits(used, need)), Fraction(0))
            constant += weight * blocked / j
    return constant


def two_server_constant(start: list[Fraction], rates: list[list[Fraction]]) -> Fraction:
    """C of widths 1 and 2, half each, on 2 servers, for the phase-type law (start, rates).

    A wide job takes E[S]; before it come narrow ones until one isn't (probability 1/2 each), which
    two servers finish. By first steps over the phases of the one or two that run: F(i, j) is the
    time until both are done with more to come, G(i) the same with one running and the next job not
    yet drawn, A(i) the time that one takes alone. C = (E[S] + E[narrow run])/2/E[S].
    """
    n = len(start)
    half = Fraction(1, 2)
    names = [("A", i) for i in range(n)] + [("F", i, j) for i in range(n) for j in range(n)]
    place = {name: k for k, name in enumerate(names)}
    system = [[Fraction(0)] * (len(names) + 1) for _ in names]

    def ends(i: int) -> Fraction:
        return -sum(rates[i], Fraction(0))

    for i in range(n):
        row = system[place["A", i]]
        row[place["A", i]] += -rates[i][i]
        row[-1] += 1
        for k in range(n):
            if k != i:
                row[place["A", k]] -= rates[i][k]
    for i in range(n):
        for j in range(n):
            row = system[place["F", i, j]]
            row[place["F", i, j]] += -rates[i][i] - rates[j][j]
            row[-1] += 1
            for k in range(n):
                if k != i:
                    row[place["F", k, j]] -= rates[i][k]
                if k != j:
                    row[place["F", i, k]] -= rates[j][k]
            for left, rate in ((j, ends(i)), (i, ends(j))):
                row[place["A", left]] -= rate * half  # a wide job is next: the other one ends
                for k in range(n):
                    row[place["F", left, k]] -= rate * half * start[k]
    values = _solve(system)
    mean = sum((start[i] * values[place["A", i]] for i in range(n)), Fraction(0))
    narrow = Fraction(0)
    for i in range(n):
        pair = sum((start[k] * values[place["F", i, k]] for k in range(n)), Fraction(0))
        narrow += half * start[i] * (half * values[place["A", i]] + half * pair)
    return (mean + narrow) / 2 / mean


def _solve(system: list[list[Fraction]]) -> list[Fraction]:
    """Gauss–Jordan in fractions."""
    size = len(system)
    for c in range(size):
        pivot = next(r for r in range(c, size) if system[r][c] != 0)
        system[c], system[pivot] = system[pivot], system[c]
        system[c] = [value / system[c][c] for value in system[c]]
        for r in range(size):
            if r != c and system[r][c] != 0:
                factor = system[r][c]
                system[r] = [a - factor * b for a, b in zip(system[r], system[c])]
    return [row[-1] for row in system]


def fixed_constant_fraction(probs: dict[int, Fraction], servers: int) -> Fraction:
    """C for constant run times: batches, each begun by the job that didn't fit into the last."""
    heads = sorted(probs)
    onward = {}
    sizes = {}
    for head in heads:
        at = {head: Fraction(1)}
        onward[head] = dict.fromkeys(heads, Fraction(0))
        sizes[head] = Fraction(0)
        number = 1
        while at:
            grown: dict[int, Fraction] = {}
            for used, weight in at.items():
                for width, p in probs.items():
                    if used + width <= servers:
                        grown[used + width] = grown.get(used + width, Fraction(0)) + weight * p
                    else:
                        onward[head][width] += weight * p
                        sizes[head] += weight * p * number
            at, number = grown, number + 1
    size = len(heads)
    system = [[onward[a][b] - (1 if a == b else 0) for a in heads] + [Fraction(0)] for b in heads]
    system[0] = [Fraction(1)] * size + [Fraction(1)]
    share = _solve(system)
    return 1 / sum((share[i] * sizes[head] for i, head in enumerate(heads)), Fraction(0))


def saturated_starts(needs, runtimes, capacity) -> list[float]:
    """Start of every job, all of which wait from the beginning: first come, first served.

    ``needs`` has what each job takes of every resource; a job starts as soon as all before it have
    started and what it needs is free.
    """
    free = list(capacity)
    starts, running, now = [], [], 0.0
    for job, (need, runtime) in enumerate(zip(needs, runtimes, strict=True)):
        while any(n > f for n, f in zip(need, free, strict=True)):
            now, done = heapq.heappop(running)
            free = [f + n for f, n in zip(free, needs[done], strict=True)]
        free = [f - n for f, n in zip(free, need, strict=True)]
        starts.append(now)
        heapq.heappush(running, (now + runtime, job))
    return starts
