"""The rules by which one chain leads another (Song 2006, §3.2.2), and the chain behind them."""

from __future__ import annotations

import numpy as np

from onega.core.types import Floats, Ints
from onega.core.workload.chains import transition_matrix


def adjusted_states(a: int, b: int, cor0: float, cor1: float) -> Ints:
    """Return the follower's adjusted state by rules 2 and 3, ``[m, n, j]``, counted from 0.

    The leader (b states) goes from m to n, the follower (a states) leaves j. Rule 2 (m = n):
    ⌊n·a/b⌋, counted from the other end if cor₀ < 0; rule 3 (m ≠ n): ⌊(n − m)·sign(cor₁)·a/b + j⌋.
    States count from 1 in the formulas, as printed; the result is clipped to the
    chain.
    """
    states = np.arange(1, b + 1)
    change = states[None, :] - states[:, None]
    table = (change if cor1 > 0 else -change)[:, :, None] * a // b + np.arange(1, a + 1)
    place = states if cor0 > 0 else b + 1 - states
    table[states - 1, states - 1] = (place * a // b)[:, None]
    clipped: Ints = np.clip(table, 1, a).astype(np.int64) - 1
    return clipped


def adjusted_path(
    leader: Ints, follower: Ints, adjusted: Ints, chances: tuple[float, float], uniforms: Floats
) -> Ints:
    """Adjust a walk of the follower beside one of the leader; return the states that jobs get.

    The chain itself goes on from its own state. (Were the adjusted state fed back, LANL's ρ₁ of
    widths would come out as 0.37 where the log has 0.19 and the thesis reports 0.20 for its 0.16.)

    Parameters
    ----------
    leader, follower
        Paths of states, counted from 0.
    adjusted
        See `adjusted_states`.
    chances
        Probability of an adjustment where the leader stays, and where it changes.
    uniforms
        One random number a step, the first of which isn't used.
    """
    m, n, j, k = leader[:-1], leader[1:], follower[:-1], follower[1:]
    adjusts = (j != k) & (uniforms[1:] < np.where(m == n, *chances))
    shown = follower.copy()
    shown[1:][adjusts] = adjusted[m, n, j][adjusts]
    return shown


def inferred_transitions(leader: Ints, follower: Ints, cor0: float, cor1: float) -> Floats:
    """Return the follower's transitions *before* the rules, given those that a log shows.

    What is counted in a log (3.4) are transitions of the path that came out of the rules; walked
    and adjusted once more, the counted chain would lose a part of the log's repetitions and gain
    others. By Bayes' rule, with the counted matrix E as the prior, the chain that is adjusted has

        x_jk ∝ e_jk · Σ_st  w_st / q_st · P(shown s, then t; own state j, then k)

    where w_st is the log's share of transitions s → t, and q_st = Σ_jk e_jk P(…) what the counted
    chain would show after the rules.

    Parameters
    ----------
    leader, follower
        Counted transitions p_ij.
    cor0, cor1
        As in the model: |cor| is the probability of an adjustment.
    """
    own, lead = transition_matrix(follower), transition_matrix(leader)
    a, b = len(own), len(lead)
    shown = follower / max(follower.sum(), 1)
    visits, lead_visits = shown.sum(axis=1), leader.sum(axis=1) / max(leader.sum(), 1)
    chance = np.where(np.eye(b, dtype=bool), abs(cor0), abs(cor1))
    where = adjusted_states(a, b, cor0, cor1)[..., None] == np.arange(a)
    moved = np.eye(a) == 0

    # P(leader at n, own state k, shown s), from one adjusted step before.
    steps = lead_visits[:, None] * lead
    leaving = visits[:, None] * own * moved
    before = np.einsum("jk,mn,mnjs->nks", leaving, steps * chance, where)
    kept = np.outer((steps * (1 - chance)).sum(axis=0), leaving.sum(axis=0))
    kept += np.outer(steps.sum(axis=0), visits * own.diagonal())
    before[:, range(a), range(a)] += kept

    # P(shown t | leader at m, own states j → k), of the step that is inferred.
    then = np.einsum("mn,mnjt->mjt", lead * chance, where)[:, :, None, :] * moved[:, :, None]
    as_it_is = np.where(moved, 1 - (lead * chance).sum(axis=1)[:, None, None], 1.0)
    then[:, :, range(a), range(a)] += as_it_is

    expected = np.einsum("mjs,jk,mjkt->st", before, own, then)
    ratio = np.divide(shown, expected, out=np.zeros_like(shown), where=expected > 0)
    rows = own * np.einsum("st,mjs,mjkt->jk", ratio, before, then, optimize=True)
    total = rows.sum(axis=1, keepdims=True)
    inferred: Floats = np.where(total > 0, rows / np.where(total > 0, total, 1), own)
    return inferred
