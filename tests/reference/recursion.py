"""The modified Kiefer–Wolfowitz recursion on a plain sorted vector of unfinished work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Number = Any  # int, Fraction or float


def workload_recursion(
    gaps: Sequence[Number],
    service: Sequence[Any],
    widths: Sequence[int],
    servers: int,
    release: str = "concurrent",
) -> tuple[list[Number], list[int]]:
    """Delay of each customer and the number of busy servers it finds.

    `gaps[i]` is the time from arrival i to arrival i + 1; the last gap isn't used. Customer i takes
    the `widths[i]` least loaded servers once the last of them is free. With `concurrent` release
    all are busy for `service[i]`; with `independent` release the j-th least loaded of them is busy
    for `service[i][j]`.
    """
    if release not in ("concurrent", "independent"):
        raise ValueError(f"unknown release {release!r}")
    work: list[Number] = [0] * servers
    delays: list[Number] = []
    busy: list[int] = []
    for gap, demand, width in zip(gaps, service, widths, strict=True):
        delay = work[width - 1]
        delays.append(delay)
        busy.append(sum(w > 0 for w in work))
        times = [demand] * width if release == "concurrent" else demand[:width]
        work[:width] = [delay + time for time in times]
        work = sorted(max(w - gap, 0) for w in work)
    return delays, busy


def workload_vectors(
    gaps: Sequence[Number],
    service: Sequence[Any],
    widths: Sequence[int],
    servers: int,
    release: str = "concurrent",
) -> list[list[Number]]:
    """W_i of each customer, (1) word by word."""
    work: list[Number] = [0] * servers
    kept = []
    for gap, demand, width in zip(gaps, service, widths, strict=True):
        kept.append(list(work))
        times = [demand] * width if release == "concurrent" else demand[:width]
        work[:width] = [work[width - 1] + time for time in times]
        work = sorted(max(w - gap, 0) for w in work)
    return kept
