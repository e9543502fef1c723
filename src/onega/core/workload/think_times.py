"""The job whose result a user had seen before submitting again: the last that had ended."""

from __future__ import annotations

import numpy as np

from onega.core.types import Floats, Ints


def last_finished(user: Ints, submit: Floats, end: Floats, within: float) -> Ints:
    """Return for each job the row of its user's latest job that had ended by its submission.

    Parameters
    ----------
    user
        Number of the user of each job; negative: unknown, and the job follows no other.
    submit, end
        Seconds.
    within
        An end longer ago than this many seconds is forgotten.

    Returns
    -------
    Ints
        −1 where no job of the user had ended so recently. Of several that ended at one instant the
        last row counts.
    """
    n = submit.size
    # One line of events by user and time; at one instant ends come before submissions.
    when = np.concatenate((end, submit))
    order = np.lexsort((np.repeat((0, 1), n), when, np.tile(user, 2)))
    ends = order < n
    place = np.maximum.accumulate(np.where(ends, np.arange(2 * n), -1))[~ends]
    job = order[~ends] - n
    before = np.where(place >= 0, order[place], 0)
    follows = (place >= 0) & (user[before] == user[job]) & (user[job] >= 0)
    follows &= submit[job] - end[before] <= within
    result = np.full(n, -1)
    result[job] = np.where(follows, before, -1)
    return result
