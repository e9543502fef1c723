"""The boundary between places that meet a condition and places that don't, in few looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

STRIDES: Final = (1.25, 1.5, 2.0)
"""How far the first steps away from the start go; the last one is repeated."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """The last place that meets the condition and the first that doesn't, in one direction.

    ``met`` is None if no place does; ``failed`` is None if even the worst one does.
    """

    met: int | None
    failed: int | None


def find_boundary(
    meets: Callable[[int], bool],
    start: int,
    *,
    worst: int,
    best: int,
    finest: float = 0.0,
    strides: tuple[float, ...] = STRIDES,
    hopeless: Callable[[int], bool] = lambda place: False,
) -> Boundary:
    """Find where a condition that only ever turns true from ``worst`` towards ``best`` does so.

    Parameters
    ----------
    meets
        Whether a place meets the condition; asked once for each.
    start
        Where to look first.
    worst, best
        Positive ends of the range; either may be the larger one.
    finest
        Stop when the two places are this part of their size apart; neighbours in any case.
    strides
        By which factors the first steps go; the last one is repeated.
    hopeless
        Whether a place that doesn't meet the condition shows that no better one will.
    """
    low, high = min(worst, best), max(worst, best)
    place = min(max(start, low), high)
    good: int | None
    bad: int | None
    if meets(place):
        good, bad = _walk(meets, place, worst, strides, while_met=True)
    else:
        bad, good = _walk(meets, place, best, strides, while_met=False, stop=hopeless)
    if good is None or bad is None:
        return Boundary(good, bad)
    while abs(good - bad) > max(1.0, finest * max(good, bad)):
        middle = (good + bad) // 2
        if meets(middle):
            good = middle
        else:
            bad = middle
    return Boundary(good, bad)


def look_further(
    meets: Callable[[int], bool], found: Boundary, *, worst: int, part: float, finest: float = 0.0
) -> Boundary:
    """Look whether the condition turns true again beyond a boundary, within a part of its size.

    Where it does, look on from there.
    """
    met, failed = found.met, found.failed
    if met is None or failed is None:
        return found
    place, way = failed, 1 if failed > met else -1
    while place != worst and abs(place - met) < part * met:
        place += way * min(max(1, int(finest * met)), abs(worst - place))
        if meets(place):
            met, failed = place, None
        elif failed is None:
            failed = place
    return Boundary(met, failed)


def _walk(
    meets: Callable[[int], bool],
    place: int,
    end: int,
    strides: tuple[float, ...],
    *,
    while_met: bool,
    stop: Callable[[int], bool] = lambda place: False,
) -> tuple[int, int | None]:
    """Step towards ``end`` while the answer stays; return the last such place and the next."""
    taken = 0
    while place != end and not stop(place):
        stride = strides[min(taken, len(strides) - 1)]
        taken += 1
        if end > place:
            onward = min(end, max(place + 1, int(place * stride)))
        else:
            onward = max(end, min(place - 1, int(place / stride)))
        if meets(onward) != while_met:
            return place, onward
        place = onward
    return place, None
