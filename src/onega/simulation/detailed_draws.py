"""What is drawn: failures of nodes, patience of users, overheads of jobs."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.random import SeedSequence

from onega.core.errors import SimulationError
from onega.core.faults import Failures
from onega.core.laws import Draws
from onega.core.rng import child, generator
from onega.kernels.detailed_codes import CANCEL, DRAIN, FAIL, RETURN
from onega.simulation.detailed_events import Entry
from onega.simulation.detailed_problem import Floats, Ints, TableEvents

LAUNCH, COMPLETION, PATIENCE, FAILURES = 1, 2, 3, 4
"""Child streams: each component draws from its own, so that adding one changes no other."""

BLOCK = 16
"""Failures drawn at a time; fixed, so that a longer horizon continues a shorter one."""


def draw(law: Draws, count: int, seed: SeedSequence, stream: int) -> Floats:
    """Draw durations from a stream of their own; refuse what is none."""
    values = np.asarray(law.draw(count, generator(child(seed, stream))), dtype=np.float64)
    if values.shape != (count,) or not np.all(np.isfinite(values) & (values >= 0)):
        raise SimulationError(f"the law {law} draws something that is no duration")
    return values


def draw_failures(
    failures: Failures, nodes: int, span: tuple[float, float], seed: SeedSequence
) -> list[list[tuple[float, float]]]:
    """Draw when each node fails and returns, from the first instant of ``span`` to its last.

    Every node is new at the beginning. A failure within the span comes with its return, even
    beyond it: nothing stays down for ever.
    """
    begin, end = span
    drawn = []
    for node in range(nodes):
        rng, now = generator(child(seed, FAILURES, node)), begin
        found: list[tuple[float, float]] = []
        while now <= end:
            up = failures.time_to_failure.draw(BLOCK, rng)
            down = failures.time_to_repair.draw(BLOCK, rng)
            times = now + np.cumsum(np.ravel(np.column_stack([up, down])))
            if not (np.isfinite(times[-1]) and times[-1] > now and times[0] >= now):
                raise SimulationError("a law of failures draws something that is no duration")
            found.extend(zip(times[::2].tolist(), times[1::2].tolist(), strict=True))
            now = float(times[-1])
        drawn.append([pair for pair in found if pair[0] <= end])
    return drawn


def merge(table: list[Entry], drawn: list[list[tuple[float, float]]]) -> list[Entry]:
    """Put a table's events and drawn failures together.

    A node is down while either says so; a node that was drained still is when it comes back from
    a failure that was drawn.
    """
    by_node: dict[int, list[tuple[int, Entry]]] = defaultdict(list)
    merged: list[tuple[float, int, Entry]] = []
    for place, entry in enumerate(table):
        if entry[3] >= 0 and drawn[entry[3]]:
            by_node[entry[3]].append((place, entry))
        else:
            merged.append((entry[0], place, entry))
    for node, pairs in enumerate(drawn):
        later = len(table) + node
        if node in by_node:
            merged.extend(_merged_node(by_node[node], pairs, node, later))
            continue
        for fail, back in pairs:
            merged.append((fail, later, (fail, FAIL, -1, node)))
            merged.append((back, later, (back, RETURN, -1, node)))
    merged.sort(key=lambda one: one[:2])
    return [entry for _, _, entry in merged]


def _merged_node(
    table: list[tuple[int, Entry]], drawn: list[tuple[float, float]], node: int, later: int
) -> list[tuple[float, int, Entry]]:
    """Follow one node that both the table and the draws speak of."""
    steps = [(entry[0], place, entry[1], True) for place, entry in table]
    for fail, back in drawn:
        steps += [(fail, later, FAIL, False), (back, later, RETURN, False)]
    said, broken, drained = False, False, False
    result: list[tuple[float, int, Entry]] = []
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
        result += [(time, place, (time, one, -1, node)) for one in emitted]
    return result


def table_events(entries: list[Entry], impatient: Ints, due: Floats) -> TableEvents:
    """Put events by time, and at one instant in the order given, those of the impatient last.

    ``impatient`` are rows of jobs that are cancelled when they are ``due``; who has started by then
    doesn't notice.
    """
    columns = np.array(entries, dtype=np.float64).reshape(-1, 4)
    time = np.concatenate([columns[:, 0], due])
    code, job, node = (
        np.concatenate([columns[:, place].astype(np.int64), more])
        for place, more in (
            (1, np.full(due.size, CANCEL)),
            (2, impatient),
            (3, np.full(due.size, -1)),
        )
    )
    order = np.argsort(time, kind="stable")
    return TableEvents(time[order], code[order], job[order], node[order])
