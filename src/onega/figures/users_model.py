"""Figures of the fitted user-group model: jobs that it draws, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import plotly.graph_objects as go

from onega.figures.models import jobs, week
from onega.figures.users import draw_clouds

if TYPE_CHECKING:
    from onega.models.users.groups import UserGroups

_SAMPLE: Final = 16_000


def groups(model: UserGroups, *, rng: int = 0) -> go.Figure:
    """Draw jobs of the model, a panel per group."""
    drawn = model.sample(_SAMPLE, rng=rng)
    number, procs, runtime = (drawn.column(name) for name in ("group", "procs", "runtime"))
    clouds = [
        (procs[number == one].astype(float), runtime[number == one])
        for one in range(1, len(model.groups) + 1)
    ]
    titles = [
        f"group {row['group']}: {row['share_of_jobs']:.1%} of jobs, "
        f"{row['share_of_users']:.1%} of users"
        for row in model.to_polars().to_dicts()
    ]
    return draw_clouds(clouds, titles, f"{_SAMPLE:,} jobs drawn from {model.KIND}")


KINDS: Final = {"groups": groups, "jobs": jobs, "week": week}
