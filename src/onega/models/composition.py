"""One model out of parts (Song 2006, chapter 7): arrivals of one log, jobs of another."""

from __future__ import annotations

from dataclasses import replace

from onega.core.errors import ModelError
from onega.models.arrivals.arrivals import Arrivals, Gaps
from onega.models.base import WorkloadModel
from onega.models.estimates.estimates import EstimateModel
from onega.models.users.base import UserModel


def compose(
    *,
    profiles: WorkloadModel,
    arrivals: Arrivals | Gaps | WorkloadModel | None = None,
    estimates: EstimateModel | WorkloadModel | None = None,
    users: UserModel | WorkloadModel | None = None,
) -> WorkloadModel:
    """Return a model with some parts exchanged; it samples and saves like any other.

    Parameters
    ----------
    profiles
        Whose widths and run times.
    arrivals, estimates, users
        The parts to use instead of the profiles' own, or models to take them from. None keeps
        what ``profiles`` has.
    """
    changes: dict[str, object] = {}
    if isinstance(arrivals, WorkloadModel):
        if arrivals.arrivals.gaps is None:
            raise ModelError(f"{arrivals.KIND} draws gaps together with jobs: they can't be parted")
        changes["arrivals"] = arrivals.arrivals
    elif isinstance(arrivals, Gaps):
        changes["arrivals"] = Arrivals(arrivals, profiles.arrivals.cycle)
    elif arrivals is not None:
        changes["arrivals"] = arrivals
    for name, part in (("estimates", estimates), ("users", users)):
        if isinstance(part, WorkloadModel):
            part = part.user_part() if name == "users" else part.estimates
            if part is None:
                raise ModelError(f"the model given for {name} has none")
        if part is not None:
            changes[name] = part
    words = ", ".join(sorted(changes)) or "nothing"
    learnt = f"{profiles.learnt}; exchanged: {words}"
    return replace(profiles, learnt=learnt, **changes)  # type: ignore[arg-type]
