"""Does the machine keep up: the one place where that is decided, from all that is known.

Three things can be known of a stream of jobs and a machine of s servers:

* the offered load ω = λ·E[N·S]/s: at 1 and above no scheduler keeps up, whatever the laws;
* the formula of Rumyantsev (2014), ρ = λ·C·E[S] < 1, for first come, first served. It takes run
  times as exponential and jobs as independent of each other and of their widths. Of a log these are
  tested; of a distribution that was given they are part of what was given;
* the usable share U of the machine, measured by saturating it with the log's own jobs: the queue
  stays finite if ω < U.

The answer is the conjunction: ω < 1, and the formula where its assumptions hold, else the
measurement. A log that is cut or short may ask for little on average and for too much over the time
in which it shows its machine filled: then it can't be told. The answer is about the load as the
log has it; how much another log of the same site may differ is told beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from onega.queueing.stability import Stability

Basis = Literal["rates", "offered load", "formula", "saturation", "window"]

RATES = "the arrival rate and the mean run time (--arrival-rate, --mean-runtime)"
MEASURE = "measuring the machine with the log's own jobs (method 'saturation')"
LONGER = "a longer measurement (a larger --budget, a smaller --precision)"
LONGER_LOG = "a longer log"
MORE_DRAWS = "more draws, or method 'exact'"


@dataclass(frozen=True)
class Usable:
    """How much of a machine works while its queue never empties, as measured.

    Attributes
    ----------
    share, low, high
        The share and between what it lies; never above 1.
    sure
        What ``low`` and ``high`` are: ``"exactly"``, ``"for certain"`` (bounds), or ``"with 95 %
        confidence"``.
    jobs
        Jobs simulated for it.
    how
        How it was measured, in words.
    """

    share: float
    low: float
    high: float
    sure: str
    jobs: int
    how: str


@dataclass(frozen=True)
class Verdict:
    """An answer and what it rests on.

    Attributes
    ----------
    stable
        True, False, or None: can't tell.
    basis
        What decided: ``"offered load"``, ``"formula"`` or ``"saturation"``; ``"rates"`` if the
        rates aren't known; ``"window"`` if the log's window says otherwise than the whole log.
    would_tell
        What would decide, where nothing has; None otherwise.
    """

    stable: bool | None
    basis: Basis
    would_tell: str | None = None

    @property
    def answer(self) -> str:
        """``"yes"``, ``"no"`` or ``"can't tell"``."""
        return {True: "yes", False: "no", None: "can't tell"}[self.stable]


def judge(known: Stability) -> Verdict:
    """Decide whether the machine keeps up."""
    offered = known.offered_load
    if offered is None:
        return Verdict(None, "rates", RATES)
    if offered >= 1:
        return Verdict(stable=False, basis="offered load")
    found = _below_one(known, offered)
    inside = known.window_load
    if found.stable and inside is not None and inside > offered:
        filled = _below_one(known, inside) if inside < 1 else None
        if filled is None or not filled.stable:
            return Verdict(None, "window", LONGER_LOG)
    return found


def _below_one(known: Stability, offered: float) -> Verdict:
    """Decide for an offered load below 1."""
    if known.usable is not None:
        measured = known.usable
        return _between(offered, (measured.low, measured.high), "saturation", LONGER)
    if known.formula_holds is False:
        return Verdict(None, "formula", MEASURE)
    assert known.rho is not None
    assert known.offered_load is not None
    scale = known.rho / known.C * offered / known.offered_load
    limits = (scale * known.constant.low, scale * known.constant.high)
    return _between(1.0, (1 / limits[1], 1 / limits[0]), "formula", MORE_DRAWS)


def _between(load: float, limit: tuple[float, float], basis: Basis, would_tell: str) -> Verdict:
    """Compare a load with a limit that is known to lie in an interval."""
    low, high = limit
    if load < low:
        return Verdict(stable=True, basis=basis)
    if load >= high:
        return Verdict(stable=False, basis=basis)
    return Verdict(None, basis, would_tell)
