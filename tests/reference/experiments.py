"""Obvious versions of what experiments compute."""

from __future__ import annotations

import math


def mser5(values: list[float]) -> tuple[int, bool]:
    """(values removed, settled) by trying every place and taking the sums anew."""
    batches = [sum(values[5 * j : 5 * j + 5]) / 5 for j in range(len(values) // 5)]
    k = len(batches)
    best, least = 0, math.inf
    for d in range(k // 2 + 1):
        left = batches[d:]
        mean = sum(left) / len(left)
        statistic = sum((one - mean) ** 2 for one in left) / len(left) ** 2
        if statistic < least:
            best, least = d, statistic
    return 5 * best, best < k // 2


def front(cost: list[float], pain: list[float]) -> list[bool]:
    """Whether no other point is at least as good in both and better in one."""
    points = list(zip(cost, pain, strict=True))
    return [not any(c <= a and p <= b and (c < a or p < b) for c, p in points) for a, b in points]


def erlang_c(servers: int, load: float) -> float:
    """P(wait > 0) of M/M/c with offered load a = λ/μ < c, by Erlang's sum."""
    terms = [load**n / math.factorial(n) for n in range(servers)]
    last = load**servers / math.factorial(servers) * servers / (servers - load)
    return last / (sum(terms) + last)


def share_waiting_longer(servers: int, rate: float, mean: float, time: float) -> float:
    """P(wait > t) of M/M/c: C·exp(−(cμ − λ)t)."""
    return erlang_c(servers, rate * mean) * math.exp(-(servers / mean - rate) * time)


def mean_wait(servers: int, rate: float, mean: float) -> float:
    """E[wait] of M/M/c: C/(cμ − λ)."""
    return erlang_c(servers, rate * mean) / (servers / mean - rate)


def wait_quantile(servers: int, rate: float, mean: float, level: float) -> float:
    """The wait that a share ``level`` of customers doesn't exceed."""
    busy = erlang_c(servers, rate * mean)
    return max(0.0, math.log(busy / (1 - level)) / (servers / mean - rate))


def fewest_servers(rate: float, mean: float, time: float, share: float) -> int:
    """The fewest servers with P(wait > t) < share."""
    servers = math.floor(rate * mean) + 1
    while share_waiting_longer(servers, rate, mean, time) >= share:
        servers += 1
    return servers
