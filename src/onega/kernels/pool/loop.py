"""One portion of a simulation without preemption: the events at each instant in their order."""

from __future__ import annotations

from typing import Any

from onega.kernels.jit import by_reference, kernel
from onega.kernels.pool.engine import (
    DONE,
    FIXED,
    INSTANT,
    LOG_FULL,
    MORE,
    STUCK,
    WORKLOAD,
    next_event,
    next_turn,
)
from onega.kernels.pool.keyed import newcomer_keyed, pass_keyed
from onega.kernels.pool.processors import (
    State,
    collect_due,
    end_job,
    first_end,
    release_expected,
)
from onega.kernels.pool.ranked import newcomer_ranked, pass_ranked
from onega.kernels.pool.rates import advance, control_arrival


@kernel
def run(state: State, own: Any, rounds: int) -> int:  # noqa: ANN401
    """Go through at most ``rounds`` instants; return why it stopped.

    ``own``: None for orders by rank; for orders by key the user's function (or any other of its
    type). numba compiles the loop once for each, without the other's passes.

    DONE: every job has ended; MORE: call again; LOG_FULL: empty the log, then call again; BAD_KEY:
    the priority function gave NaN for job ``culprit``; STUCK: jobs wait that can never start.
    """
    state = by_reference(state)
    jobs, m = state.jobs, state.machine[0]
    by_instant = m.ties == INSTANT
    for _ in range(rounds):
        if m.switches + 2 > state.log.size:
            return LOG_FULL
        following = next_event(m, jobs, first_end(state))
        if not advance(m, state.levels, state.log, state.ends, following):
            return DONE if m.departed == jobs.size else STUCK
        # Ties by instant: completions, then submissions, then one pass. Ties by event:
        # submissions, then completions, and a pass after each single one; what was expected to
        # end now holds no processors at any of these passes.
        ending = collect_due(state)
        released = 0 if by_instant else release_expected(state, ending)
        ended = 0
        while True:
            arriving, leaving = next_turn(m, jobs, ending - ended)
            if not by_instant and arriving + leaving == 0:
                break
            for number in range(ended, ended + leaving):
                end_job(state, number)
            ended += leaving
            # A lone newcomer can be decided on without a full pass, see newcomer_ranked.
            alone = arriving == 1 and leaving == 0 and released == 0
            full = not alone
            for _newcomer in range(arriving):
                job = m.arrived
                m.arrived = job + 1
                if m.control != FIXED:
                    if m.control == WORKLOAD:
                        m.known_waiting += jobs[job].expect
                    control_arrival(m, state.levels, state.draws, state.log, job)
                if own is None:
                    full = not newcomer_ranked(state, job, alone)
                else:
                    full = newcomer_keyed(state, job)
            if full:
                if own is None:
                    pass_ranked(state)
                else:
                    result = pass_keyed(state, own)
                    if result != MORE:
                        return result
            if state.waiting.jobs[0] == 0:
                m.known_waiting = 0.0  # nothing is left of rounding
            if by_instant:
                break
    return MORE
