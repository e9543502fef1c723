"""Which of the policies stands for the present rule, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
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
        Its name.
    why
        How it was chosen, in words.
    rivals
        Others that come about as near to the observed waits, the nearest first.
    """

    policy: str
    why: str
    rivals: tuple[str, ...] = ()


def choose_present(
    site: SiteAdequacy | None, policies: Sequence[str], asked: str | None = None
) -> Present:
    """Take the policy asked for; else the nearest to the observed waits, or EASY if about as near.

    Nearness is P, the distance that the report's table of simulated and observed waits shows. With
    no waits to go by it is EASY, or else the first of the policies.
    """
    if asked is not None:
        return Present(asked, "as asked for")
    if site is None:
        usual = _usual(policies)
        if usual is None:
            return Present(policies[0], "as the first that was asked for")
        return Present(usual, "as it is the usual rule")
    apart = {name: one.P for name, one in site.results.items()}
    nearest = site.best
    near = [
        one
        for one in sorted(apart, key=apart.__getitem__)
        if apart[one] <= (1 + NEAR) * apart[nearest]
    ]
    chosen = _usual(near) or nearest
    rivals = tuple(name for name in near if name != chosen)
    if chosen == nearest:
        return Present(chosen, "as it comes nearest to what happened", rivals)
    why = "as it is the usual rule and comes about as near to what happened as any other"
    return Present(chosen, why, rivals)


def _usual(policies: Sequence[str]) -> str | None:
    """Return the one of them that is EASY, however it is written."""
    easy = Policy.parse(USUAL)
    return next((name for name in policies if Policy.parse(name) == easy), None)
