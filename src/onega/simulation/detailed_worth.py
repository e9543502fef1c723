"""What the multifactor priority knows of users and jobs before a run: tables for the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onega.kernels import detailed_state as layout
from onega.simulation.detailed_problem import Problem

Array = npt.NDArray[Any]


def weights_of(problem: Problem) -> dict[str, float]:
    """Return the fields of the state that say how priorities are weighed; none without them."""
    weights = problem.multifactor
    if weights is None:
        return {}
    return {
        "factors": 1,
        "w_age": weights.age,
        "max_age": weights.max_age,
        "w_size": weights.size,
        "w_fair": weights.fair_share,
        "w_queue": weights.queue,
        "half_life": weights.half_life,
        "period": weights.period,
        "users": weights.shares.size,
        "epoch": problem.t0,
        "since": 1.0,
        "growth_at": np.nan,
        "renewed": -np.inf,
        "stale_since": np.inf,
    }


def users_of(problem: Problem) -> Array:
    """Return the users with their shares; nobody has used anything yet."""
    weights = problem.multifactor
    if weights is None:
        return np.zeros(0, layout.USER)
    users = np.zeros(weights.shares.size, layout.USER)
    users["share"] = weights.shares
    users["since"] = 1.0
    users["factor_at"] = np.nan
    return users
