"""What another rule would gain, beside the waits it is taken from and how far to trust them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onega.core.policy import Policy
from onega.core.units import humanise_seconds
from onega.pages import Fact
from onega.queueing.sentences import percent
from onega.report.answers import Answers
from onega.report.settings import Settings

OPTIMISTIC: Final = 0.8
"""Simulated waits below this share of the observed ones are called optimistic."""

PESSIMISTIC: Final = 1 / OPTIMISTIC
"""Simulated waits above this multiple of the observed ones are called pessimistic."""

FAR_OFF: Final = 2.0
"""Simulated waits that are so many times off, up or down, say nothing of how large a gain is."""


def against_observed(answers: Answers) -> float | None:
    """Mean wait of the simulated present policy over the observed one; None if that isn't known."""
    if answers.site is None or answers.settings is None:
        return None
    one = answers.site.results.get(answers.settings.present)
    if one is None:
        return None
    summary = one.summary()
    real = summary["mean_wait_real"]
    return float(summary["mean_wait_model"] / real) if real > 0 else None


def present_words(answers: Answers, found: Settings) -> Iterator[str]:
    """Say how far the simulated present rule is from what was observed, and what that means."""
    times = against_observed(answers)
    if times is None:
        return
    rule, wait = quoted(found.present), found.value("mean(wait)", found.present)
    yield (
        f"In the simulation {rule} stands for the present rule, {answers.present.why}: its mean "
        f"wait is {humanise_seconds(wait)}, {times:.2g} times the observed one."
    )
    if times < OPTIMISTIC:
        yield (
            "The simulation is optimistic, as much that holds up real jobs isn't in it: what "
            "follows compares simulations with each other, never with what happened."
        )
    if times > PESSIMISTIC:
        yield (
            "The simulation is pessimistic, as something that lets real jobs through isn't in it: "
            "what follows compares simulations with each other, never with what happened, and the "
            "time that a rule gains there may be longer than all that jobs really waited."
        )
    if far_off(times):
        yield "So far off, the simulation says at most which rule is better, not by how much."


def far_off(times: float) -> bool:
    """Whether simulated waits are several times as long as the observed ones, or as short."""
    return not 1 / FAR_OFF < times < FAR_OFF


def trust_fact(answers: Answers) -> Iterator[Fact]:
    """Say how far the simulated present rule is from what happened; nothing if that isn't known."""
    times = against_observed(answers)
    if times is None or answers.settings is None:
        return
    rule = Policy.parse(answers.settings.present).words
    worth = "which rule is better, not by how much" if far_off(times) else "gains as shares"
    yield Fact(
        "How far to trust this",
        f"× {times:.2f}",
        f"is the mean wait of the simulated present rule ({rule}) against the observed one. "
        f"Compare simulations with each other, not with what happened, and take from them {worth}.",
    )


def gain_words(answers: Answers, found: Settings) -> Iterator[str]:
    """Say what another rule would change, and how much that hangs on which is the present one."""
    best = found.best
    if best == found.present:
        yield "None of the other rules simulated has a shorter mean wait."
    elif found.surely_better(best):
        yield (
            f"Against it, {quoted(best)} would shorten the mean wait by {_change(found)}, on "
            f"average over {found.replicated} ({_range(found)} less)."
        )
    else:
        yield (
            f"Against it, {quoted(best)} has the shortest mean wait, {_waits(found)} on average "
            f"over {found.replicated}, but the gain ranges from {_range(found)}: it may be chance."
        )
    rivals = answers.present.rivals
    if rivals:
        told = ". ".join(_if_present(found, name) for name in rivals)
        come = "another one comes" if len(rivals) == 1 else "others come"
        yield f"Which rule is the present one isn't sure: {come} about as near. {told}."


def _if_present(found: Settings, name: str) -> str:
    """Say what the gain would be if another policy stood for the present rule."""
    if name == found.best:
        return f"Against {quoted(name)} there would be nothing to gain"
    chance = "" if found.surely_better(found.best, name) else ", which may be chance"
    return f"Against {quoted(name)} the gain would be {_change(found, name)}{chance}"


def policy_facts(answers: Answers, found: Settings) -> Iterator[Fact]:
    """Say what the best other policy would change, and whether that is sure."""
    best, otherwise = found.best, _against_rivals(answers, found)
    if best == found.present:
        yield Fact(
            "Another scheduling rule",
            "No gain",
            f"None of the rules simulated has a shorter mean wait than the present one does "
            f"({Policy.parse(best).words}), on average over {found.replicated}."
            f"{otherwise}",
        )
        return
    sure = found.surely_better(best)
    unsure = "" if sure else " That may be chance: the range includes no gain at all."
    yield Fact(
        "Another scheduling rule",
        f"{percent(found.share_gained(best))} less" if sure else "No sure gain",
        f"mean wait with {Policy.parse(best).words} than with the present rule, both simulated: "
        f"{_waits(found)} on average over {found.replicated}, where it is {_range(found)} less."
        f"{unsure}{otherwise}",
    )


def _against_rivals(answers: Answers, found: Settings) -> str:
    """Say what the gain is against the other rules that might be the present one."""
    shares = [found.share_gained(found.best, name) for name in answers.present.rivals]
    if not shares:
        return ""
    ends = dict.fromkeys(percent(one) for one in (min(shares), max(shares)))
    less = f"{' to '.join(ends)} less than under"
    if len(shares) == 1:
        return f" Another rule comes about as near to what happened: {less} it."
    return f" Other rules come about as near to what happened: {less} them."


def quoted(policy: str) -> str:
    """Write a policy in words for a reader who doesn't know its name."""
    return f"“{Policy.parse(policy).words}”"


def _change(found: Settings, than: str | None = None) -> str:
    """Write the gain of the best policy as a share, and the waits of the same runs behind it."""
    return f"{percent(found.share_gained(found.best, than))}, {_waits(found, than)}"


def _waits(found: Settings, than: str | None = None) -> str:
    before, after = (
        humanise_seconds(found.interval("mean(wait)", name).mean)
        for name in (than or found.present, found.best)
    )
    return f"from {before} to {after}"


def _range(found: Settings) -> str:
    gain = found.shorter(found.best)
    return f"{humanise_seconds(gain.low)} to {humanise_seconds(gain.high)}".replace("-", "−")
