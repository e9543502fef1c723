"""What a user could see when submitting: jobs waiting and processors busy.

The state is the one just before the submission, by the simulator's order at one instant: jobs that
end at that second are gone, jobs that start at it still wait, and jobs that were submitted at the
same second in an earlier row wait too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onega.core.schedule.schedule import Schedule
from onega.core.types import Floats, Ints

LEVELS = 10
"""Equal-frequency levels of every variable (Song 2006, §6.3.1)."""


class Seen(NamedTuple):
    """``waiting`` jobs and ``busy`` processors at each submission, in the schedule's rows."""

    waiting: Ints
    busy: Ints


def seen_at_submission(schedule: Schedule) -> Seen:
    """Return W and O of Table 6.1 for every job of a schedule without preemption."""
    submit = schedule.workload.column("submit")
    order = np.argsort(submit, kind="stable")
    arrived = np.empty(submit.size, dtype=np.int64)
    arrived[order] = np.arange(submit.size)
    waiting = arrived - np.searchsorted(np.sort(schedule.start), submit, side="left")
    # A job that starts and ends at one instant occupies nothing.
    lasting = schedule.end > schedule.start
    procs = schedule.workload.column("procs")[lasting]
    taken = _total_before(schedule.start[lasting], procs, submit, side="left")
    given_back = _total_before(schedule.end[lasting], procs, submit, side="right")
    return Seen(waiting, taken - given_back)


def _total_before(when: Floats, amount: Ints, at: Floats, *, side: str) -> Ints:
    order = np.argsort(when, kind="stable")
    total = np.concatenate(([0], np.cumsum(amount[order])))
    place = np.searchsorted(when[order], at, side=side)  # type: ignore[call-overload]
    return np.asarray(total[place], dtype=np.int64)


def cut_points(values: Floats | Ints, levels: int = LEVELS) -> Floats:
    """Lower ends of all levels but the first: quantiles that occur in the data (Table 6.2)."""
    shares = np.arange(1, levels) / levels
    return np.asarray(np.quantile(values, shares, method="inverted_cdf"), dtype=np.float64)


def levels_of(values: Floats | Ints, cuts: Floats) -> Floats:
    """Levels 0, 1/(k−1), …, 1; equal values have one level, so a level may stay empty."""
    return np.asarray(np.searchsorted(cuts, values, side="right") / cuts.size, dtype=np.float64)


def middle_levels(values: Floats | Ints, cuts: Floats) -> Floats:
    """Levels where equal values stand in the middle of all levels that they take.

    Where nearly all users see an empty queue, that is neither a short nor a long one.
    """
    below = np.searchsorted(cuts, values, side="left")
    upto = np.searchsorted(cuts, values, side="right")
    return np.asarray((below + upto) / (2 * cuts.size), dtype=np.float64)
