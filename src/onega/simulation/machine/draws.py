"""What is drawn: failures of nodes, patience of users, overheads of jobs."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator, SeedSequence

from onega.core.errors import SimulationError
from onega.core.machine.faults import Failures
from onega.core.rng import child, generator
from onega.core.types import Array, Floats
from onega.core.units import humanise_seconds
from onega.kernels.machine.codes import DRAIN, FAIL, LEAVE, RETURN
from onega.kernels.machine.state import EVENT
from onega.simulation.pool.setup import stable_order

LAUNCH, COMPLETION, PATIENCE, FAILURES = 1, 2, 3, 4
"""Child streams: each component draws from its own, so that adding one changes no other."""

BLOCK, GROUP = 16, 64
"""Failures drawn at a time, of so many nodes at a time; fixed, so that a longer horizon continues
a shorter one, and a larger machine has the failures of a smaller one."""


MOST_OUTAGES = 5_000_000
"""Failures of one run: more, and the laws are in another unit than the log."""


def draw_failures(
    failures: Failures, nodes: int, span: tuple[float, float], seed: SeedSequence
) -> Array:
    """Draw when each node fails and returns, from the first instant of ``span`` to its last.

    Every node is new at the beginning. A failure within the span comes with its return, even
    beyond it: nothing stays down for ever. The events are by node and time.
    """
    found: list[Array] = []
    count = 0
    for first in range(0, nodes, GROUP):
        some = min(GROUP, nodes - first)
        rng = generator(child(seed, FAILURES, first // GROUP))
        times = _group_times(failures, some, span, rng, MOST_OUTAGES - count)
        node, number = np.nonzero(times[:, ::2] <= span[1])
        pairs = np.zeros((node.size, 2), EVENT)
        pairs["time"] = times.reshape(some, -1, 2)[node, number]
        pairs["code"], pairs["job"], pairs["node"] = (FAIL, RETURN), -1, first + node[:, None]
        found.append(pairs)
        count += node.size
    return np.concatenate(found).ravel()


def _group_times(
    failures: Failures, nodes: int, span: tuple[float, float], rng: Generator, most: int
) -> Floats:
    """Return failures and returns in turn, a row for each of a group's first nodes.

    ``most`` failures or so are left to be drawn; a law in the wrong unit would go on for ever.
    """
    now, (_, end) = np.full((nodes, 1), span[0]), span
    found = [np.empty((nodes, 0))]
    while (now <= end).any():
        steps = np.empty((GROUP, 2 * BLOCK))
        for column, law in enumerate((failures.time_to_failure, failures.time_to_repair)):
            steps[:, column::2] = np.reshape(law.draw(GROUP * BLOCK, rng), (GROUP, BLOCK))
        times = now + np.cumsum(steps[:nodes], axis=1)
        last = times[:, -1:]
        if not np.all(np.isfinite(last) & (last > now) & (times[:, :1] >= now)):
            raise SimulationError("a law of failures draws something that is no duration")
        found.append(times)
        if nodes * BLOCK * (len(found) - 2) > most:
            raise SimulationError(
                f"nodes would fail more than {MOST_OUTAGES:,} times in the "
                f"{humanise_seconds(end - span[0])} of the run; time_to_failure and time_to_repair "
                "are in seconds, or with a unit as in 30d"
            )
        now = last
    return np.concatenate(found, axis=1)


def merge(table: Array, drawn: Array) -> Array:
    """Put a table's events and drawn failures together, by time and then in this order.

    A node is down while either says so; a node that was drained still is when it comes back from
    a failure that was drawn.
    """
    both = np.isin(table["node"], drawn["node"])
    clear = drawn.compress(~np.isin(drawn["node"], table["node"][both]))
    parts, place = [table[~both], clear], [np.flatnonzero(~both), table.size + clear["node"]]
    for one in np.unique(table["node"][both]).tolist():
        steps = [
            (time, row, code, True)
            for row, (time, code, _, node) in enumerate(table.tolist())
            if node == one
        ]
        mine = drawn.compress(drawn["node"] == one).tolist()
        steps += [(time, table.size + one, code, False) for time, code, _, _ in mine]
        found = _merged_node(steps)
        parts.append(np.array([(time, code, -1, one) for time, _, code in found], EVENT))
        place.append(np.array([at for _, at, _ in found], np.int64))
    merged = np.concatenate(parts)
    return merged.take(np.lexsort((np.concatenate(place), merged["time"])))


def _merged_node(steps: list[tuple[float, int, int, bool]]) -> list[tuple[float, int, int]]:
    """Follow one node that both the table and the draws speak of: time, place, code.

    ``steps`` has time, place and code of the events, and whether they are the table's.
    """
    said, broken, drained = False, False, False
    result: list[tuple[float, int, int]] = []
    for time, place, code, from_table in sorted(steps, key=lambda one: one[:2]):
        before = said or broken
        if not from_table:
            broken = code == FAIL
        elif code == DRAIN:
            drained = True
        else:
            said, drained = code == FAIL, False
        after = said or broken
        if before and not after:
            emitted = [RETURN, DRAIN] if drained else [RETURN]
        elif after != before:
            emitted = [FAIL]
        else:
            emitted = [code] if from_table and not after else []
        result += [(time, place, one) for one in emitted]
    return result


def with_patience(table: Array, due: Floats) -> Array:
    """Add that jobs leave when they are ``due`` (NaN: never), after what the table has.

    It means nothing to jobs that have started by then.
    """
    job = np.flatnonzero(~np.isnan(due))
    events = np.zeros(table.size + job.size, EVENT)
    events[: table.size], left = table, events[table.size :]
    left["time"], left["code"], left["job"], left["node"] = due[job], LEAVE, job, -1
    return events.take(stable_order(events["time"]))
