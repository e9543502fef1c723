"""Which policy stands for the present rule: one definition, and the rivals that are as near."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import onega
from onega.core.units import humanise_seconds
from onega.pages import Facts, to_markdown
from onega.queueing.sentences import percent
from onega.report.present import choose_present
from onega.report.sections.gain import against_observed, gain_words, policy_facts


def site(**distances):
    results = {name.replace("_", "+"): SimpleNamespace(P=one) for name, one in distances.items()}
    return SimpleNamespace(results=results, best=min(results, key=lambda name: results[name].P))


@pytest.mark.parametrize(
    ("distances", "policy", "rivals"),
    [
        ({"fcfs": 100, "easy": 115, "conservative": 104}, "fcfs", ("conservative",)),
        ({"fcfs": 100, "easy": 109, "conservative": 104}, "easy", ("fcfs", "conservative")),
        ({"easy": 100, "spf_easy": 101, "fcfs": 200}, "easy", ("spf+easy",)),
        ({"fcfs": 100, "fcfs_easy": 105}, "fcfs+easy", ("fcfs",)),
        ({"fcfs": 100, "spf": 120}, "fcfs", ()),
    ],
)
def test_the_nearest_or_easy_if_it_is_about_as_near(distances, policy, rivals):
    found = choose_present(site(**distances), ())
    assert (found.policy, found.rivals) == (policy, rivals)
    nearest = min(distances.values()) == distances[policy.replace("+", "_")]
    assert ("nearest" in found.why) == nearest


def test_what_is_asked_for_is_taken():
    found = choose_present(site(fcfs=1, easy=2), (), "easy")
    assert (found.policy, found.why, found.rivals) == ("easy", "as asked for", ())


def test_without_waits_it_is_easy_or_the_first():
    assert choose_present(None, ("fcfs", "fcfs+easy")).policy == "fcfs+easy"
    found = choose_present(None, ("spf", "fcfs"))
    assert (found.policy, found.why) == ("spf", "as the first that was asked for")


def test_one_present_rule_in_the_whole_report(log):
    """Waits as first come, first served gives them: it stands for the present rule everywhere."""
    same = onega.clean(log.with_machine(32))[0]
    waits = onega.simulate(same, 32, "fcfs").jobs["wait"].to_numpy()
    same = onega.Workload(same.table.with_columns(wait=waits), same.meta)
    made = onega.site_report(same, policies=("easy", "fcfs"), replicates=2)
    flat = made.summary()
    assert flat["present_policy"] == flat["nearest_policy"] == "fcfs"
    assert flat["present_against_observed"] == pytest.approx(1)
    page = to_markdown(made.document())
    assert "“first come, first served” stands for the present rule, as it comes nearest" in page
    assert "| fcfs (present) |" in page
    assert "`fcfs` stands for the present rule in this report" in page


def test_the_headline_says_how_much_it_hangs_on_the_present_rule(log):
    """Long random waits: all rules are as far from them, and the gain against each is said."""
    waits = np.random.default_rng(3).exponential(30_000.0, len(log))
    random = onega.Workload(log.table.with_columns(wait=waits), log.meta).with_machine(32)
    made = onega.site_report(random, policies=("fcfs", "easy"), replicates=3)
    answers = made.answers
    found = answers.settings
    assert answers.present.policy == "easy"
    assert answers.present.rivals == ("fcfs",)
    said = " ".join(gain_words(answers, found))
    assert "Which rule is the present one isn't sure: another one comes about as near." in said
    means = {name: found.interval("mean(wait)", name).mean for name in ("fcfs", found.best)}
    share = 1 - means[found.best] / means["fcfs"]
    shown = [percent(share), *(humanise_seconds(means[name]) for name in ("fcfs", found.best))]
    assert (
        "Against “first come, first served” the gain would be {}, from {} to {}".format(*shown)
        in said
    )
    flat = made.summary()
    assert flat["present_rivals"] == ["fcfs"]
    assert flat["gained_share_against_fcfs"] == pytest.approx(share)


@pytest.mark.parametrize(("factor", "word"), [(0.05, "pessimistic"), (20.0, "optimistic")])
def test_a_simulation_that_is_far_off_is_said_with_what_it_means(log, factor, word):
    """Waits a twentieth of, and twenty times the simulated ones: a gain is a share at most."""
    log = onega.clean(log.with_machine(32))[0]
    waits = factor * onega.simulate(log, 32, "easy").jobs["wait"].to_numpy()
    other = onega.Workload(log.table.with_columns(wait=waits), log.meta)
    made = onega.site_report(
        other, policies=("easy", "spf+easy", "fcfs"), present="fcfs", replicates=3
    )
    times = against_observed(made.answers)
    assert times > 2 if factor < 1 else times < 0.5
    first, facts = made.document().sections[0].blocks[:2]
    assert f"The simulation is {word}" in first.text
    assert "So far off, the simulation says at most which rule is better" in first.text
    assert isinstance(facts, Facts)
    trust = next(one for one in facts.items if one.label == "How far to trust this")
    assert trust.meaning.endswith("which rule is better, not by how much.")


def test_a_gain_stands_beside_the_waits_of_the_same_runs(log):
    log = onega.clean(log.with_machine(32))[0]
    made = onega.site_report(log, policies=("fcfs", "easy"), present="fcfs", replicates=3)
    found = made.answers.settings
    before, after = (found.replicates.of("mean(wait)", name).mean() for name in ("fcfs", "easy"))
    assert after < before
    fact = next(policy_facts(made.answers, found))
    waits = f"from {humanise_seconds(before)} to {humanise_seconds(after)}"
    assert waits in fact.meaning
    assert waits in made.document().sections[0].blocks[0].text
    assert found.share_gained("easy") == pytest.approx(1 - after / before)
    if found.surely_better("easy"):
        assert fact.value == f"{percent(1 - after / before)} less"
