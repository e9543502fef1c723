"""Which of the policies stands for the present rule, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onega.comparison.adequacy.site import SiteAdequacy
from onega.core.policy import Policy

NEAR: Final = 0.1
"""Policies whose P is no more than this share above the nearest one's are about as near: which of
them has the least is chance."""

USUAL: Final = "easy"
"""What most sites run: it stands for the present rule where nothing is nearer than it."""


@dataclass(frozen=True, slots=True)
class Present:
    """The policy that stands for the present rule.

    Attributes
    ----------
    policy
        Its name; None if it wasn't asked for and the log has no waits to go by.
    why
        How it was chosen, in words.
    rivals
        Others that come about as near to the observed waits, the nearest first.
    """

    policy: str | None
    why: str
    rivals: tuple[str, ...] = ()


def choose_present(site: SiteAdequacy | None, asked: str | None = None) -> Present:
    """Take the policy asked for; else the nearest to the observed waits, or EASY if about as near.

    Nearness is P, the distance that the report's table of simulated and observed waits shows.
    """
    if asked is not None:
        return Present(asked, "as asked for")
    if site is None:
        return Present(None, "as it is the usual rule")
    apart = {name: one.P for name, one in site.results.items()}
    nearest = site.best
    near = [
        one
        for one in sorted(apart, key=apart.__getitem__)
        if apart[one] <= (1 + NEAR) * apart[nearest]
    ]
    chosen = next((name for name in near if Policy.parse(name) == Policy.parse(USUAL)), nearest)
    rivals = tuple(name for name in near if name != chosen)
    if chosen == nearest:
        return Present(chosen, "as it comes nearest to what happened", rivals)
    why = "as it is the usual rule and comes about as near to what happened as any other"
    return Present(chosen, why, rivals)
