"""Who submits: the slot of a workload model that user models fill."""

from __future__ import annotations

from numpy.random import Generator

from onega.core.types import Floats, Ints
from onega.models.parts import Part


class UserModel(Part):
    """Base of user models: a family says who submits each sampled job.

    Song (2006), Figure 7.3: jobs are drawn first, with their temporal relations, then assigned
    to users (or groups of users) by their profile.
    """

    def draw(self, procs: Floats, runtime: Floats, rng: Generator) -> Ints:
        """Return a user number (at least 0) for each job."""
        raise NotImplementedError

    def group_of(self, user: Ints) -> Ints | None:
        """Return the group of each user number; None if users aren't grouped."""
        return None
