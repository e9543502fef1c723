"""Users exchange their own weeks until every week has the work and jobs that it should have."""

from __future__ import annotations

from typing import NamedTuple

from onega.kernels.jit import kernel, part
from onega.kernels.types import Floats, Ints


class Weeks(NamedTuple):
    """What each person (row) repeats in each week (column): a number of ``place`` (the week where
    it stood), ``work`` and ``jobs``, whose last elements stand for nothing (number −1).

    ``level``: of persons and weeks; a person is there if the week's ``people`` exceed it. ``sums``,
    ``wanted`` and ``scale``: work and jobs (rows) of each week as they are, as they should be, and
    their units.
    """  # noqa: D205

    content: Ints
    place: Ints
    work: Floats
    jobs: Floats
    level: Floats
    people: Floats
    sums: Floats
    wanted: Floats
    scale: Floats


@part
def _error(weeks: Weeks, week: int, work: float, jobs: float) -> float:
    """Return the sum of both errors of a week with so much more work and so many more jobs."""
    of_work = abs(weeks.sums[0, week] + work - weeks.wanted[0, week]) / weeks.scale[0, week]
    of_jobs = abs(weeks.sums[1, week] + jobs - weeks.wanted[1, week]) / weeks.scale[1, week]
    return of_work + of_jobs


@kernel
def exchange(weeks: Weeks, person: Ints, week: Ints, by: Ints, season: int) -> int:
    """Let one person after another exchange two of their weeks; return how often it was done.

    Nothing goes farther than ``season`` from where it stood, and no exchange makes the two weeks'
    errors larger: random histories are thus conditioned on the sums.
    """
    done = 0
    for trial in range(person.size):
        one, a = person[trial], week[trial]
        b = a + by[trial]
        if b < 0 or b >= weeks.content.shape[1]:
            continue
        x, y = weeks.content[one, a], weeks.content[one, b]
        if x == y or (x >= 0 and abs(weeks.place[x] - b) > season):
            continue
        if y >= 0 and abs(weeks.place[y] - a) > season:
            continue
        work = weeks.work[y] - weeks.work[x]
        jobs = weeks.jobs[y] - weeks.jobs[x]
        in_a = 1.0 if weeks.level[one, a] < weeks.people[a] else 0.0
        in_b = 1.0 if weeks.level[one, b] < weeks.people[b] else 0.0
        old = _error(weeks, a, 0.0, 0.0) + _error(weeks, b, 0.0, 0.0)
        new = _error(weeks, a, in_a * work, in_a * jobs)
        new += _error(weeks, b, -in_b * work, -in_b * jobs)
        if new <= old:
            weeks.content[one, a], weeks.content[one, b] = y, x
            weeks.sums[0, a] += in_a * work
            weeks.sums[1, a] += in_a * jobs
            weeks.sums[0, b] -= in_b * work
            weeks.sums[1, b] -= in_b * jobs
            done += 1
    return done
