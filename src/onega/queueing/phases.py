"""The states of a machine that serves jobs first come, first served: which jobs are in service.

Jobs of class c take k_c servers for an exponential time of rate μ_c. If no job waits, the state is
the vector n of jobs in service. If jobs wait, the state is (n, h), where h is the class of the
first waiting job (which doesn't fit), and the classes of the jobs behind it are still undecided:
they are independent of everything so far. q is how many jobs wait behind the first.

When a job leaves (n, h) and h fits, h starts, and the classes behind it are drawn one by one: each
that fits starts, the first that doesn't is the new h. That takes q down by the number drawn.

With a phase-type law of run times a class is a width and a phase: its first phase is drawn with the
job, and in service it may change without a departure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from onega.core.errors import QueueingError
from onega.core.types import Floats
from onega.core.units import LONGEST
from onega.queueing.constant import check_servers
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.widths import Widths, WidthsLike, mean_runtimes

Service = tuple[int, ...]

MOST_PHASES: Final = 60_000
"""Largest number of states with waiting jobs."""

MOST_LAW_PHASES: Final = 4000
"""The same for laws of several phases, whose chains are solved in a second up to there."""

Entries = dict[tuple[int, int], float]


@dataclass(frozen=True)
class Phases:
    """States and transition rates, as sparse entries {(from, to): rate}.

    Attributes
    ----------
    free
        Vectors n while no job waits, (0, …, 0) first.
    blocked
        Pairs (index into ``free``, class of the first waiting job).
    local
        Departures after which the first waiting job still doesn't fit.
    down
        ``down[d−1]``: departures after which d of those behind the first were drawn, and the last
        of them is the new first.
    emptied
        ``emptied[q]``: departures, with q jobs behind the first, after which no job waits.
    departures
        Total departure rate of every blocked state.
    changes
        Changes of phase, without a departure; none for exponential run times.
    """

    widths: Widths
    servers: int
    rates: Floats
    free: tuple[Service, ...]
    blocked: tuple[tuple[int, int], ...]
    local: Entries
    down: tuple[Entries, ...]
    emptied: tuple[Entries, ...]
    departures: Floats
    changes: Entries

    def mean_runtimes(self) -> dict[int, float]:
        """Return E[S] by width, of exponential run times."""
        return {int(k): 1 / float(rate) for k, rate in zip(self.widths.values, self.rates)}


class Classes(NamedTuple):
    """Classes of jobs: servers, probability at the start, rate of ending, rates of changing."""

    sizes: list[int]
    probs: list[float]
    exits: list[float]
    changes: dict[tuple[int, int], float]


def service_rates(widths: Widths, mean_runtime: float | Mapping[int, float]) -> Floats:
    """μ_c = 1/E[S_c] for each width."""
    return 1.0 / mean_runtimes(widths, mean_runtime)


def exponential_phases(
    widths: WidthsLike, procs: int, mean_runtime: float | Mapping[int, float]
) -> Phases:
    """List the states of a machine for exponential run times, one mean for all or one per width."""
    law = Widths.of(widths).within(procs)
    return build_phases(law, procs, service_rates(law, mean_runtime))


def build_phases(widths: Widths, procs: int, rates: Floats) -> Phases:
    """List all states of a machine and where a departure leads from each."""
    sizes = [int(k) for k in widths.values]
    classes = Classes(sizes, widths.probs.tolist(), [float(rate) for rate in rates], {})
    _refuse(count_states(classes, check_servers(widths, procs)), procs, MOST_PHASES)
    return _build(widths, procs, rates, classes)


def build_law_phases(widths: Widths, procs: int, law: RuntimeLaw) -> Phases:
    """List all states of a machine whose run times have a phase-type law of mean 1."""
    classes = law_classes(widths, law)
    _refuse(count_states(classes, check_servers(widths, procs)), procs, MOST_LAW_PHASES)
    return _build(widths, procs, np.array(classes.exits), classes)


def law_classes(widths: Widths, law: RuntimeLaw) -> Classes:
    """Return a class for every width and phase."""
    assert law.start is not None
    assert law.generator is not None
    phases = law.start.size
    return Classes(
        [int(k) for k in widths.values for _ in range(phases)],
        [float(p * first) for p in widths.probs for first in law.start],
        law.exits.tolist() * widths.values.size,
        {
            (c * phases + i, c * phases + j): float(law.generator[i, j])
            for c in range(widths.values.size)
            for i in range(phases)
            for j in range(phases)
            if i != j and law.generator[i, j] > 0
        },
    )


def _build(widths: Widths, procs: int, rates: Floats, classes: Classes) -> Phases:
    servers = check_servers(widths, procs)
    sizes = classes.sizes
    heads = [h for h, p in enumerate(classes.probs) if p > 0]
    free = tuple(_service_vectors(sizes, servers))
    place = {n: i for i, n in enumerate(free)}
    used = [sum(c * k for c, k in zip(n, sizes)) for n in free]
    blocked = tuple((i, h) for i in range(len(free)) for h in heads if used[i] + sizes[h] > servers)
    number = {state: i for i, state in enumerate(blocked)}
    settled = _settling(classes, servers, free, place, used)
    local: Entries = defaultdict(float)
    down: list[Entries] = []
    emptied: list[Entries] = []
    changes: Entries = defaultdict(float)
    departures = np.zeros(len(blocked))
    for b, (i, h) in enumerate(blocked):
        for (c, other), rate in classes.changes.items():
            if free[i][c]:
                after = place[changed(changed(free[i], c, -1), other, 1)]
                changes[b, number[after, h]] += free[i][c] * rate
        for c, count in enumerate(free[i]):
            rate = count * classes.exits[c]
            if rate == 0:
                continue
            departures[b] += rate
            after = place[changed(free[i], c, -1)]
            if used[after] + sizes[h] > servers:
                local[b, number[after, h]] += rate
                continue
            started = place[changed(free[after], h, 1)]
            stops, passes = settled(started)
            down += (defaultdict(float) for _ in stops[len(down) :])
            emptied += (defaultdict(float) for _ in passes[len(emptied) :])
            for entries, targets in zip(down, stops):
                for state, weight in targets.items():
                    entries[b, number[state]] += rate * weight
            for entries, finals in zip(emptied, passes):
                for n, weight in finals.items():
                    entries[b, n] += rate * weight
    return Phases(
        widths, servers, rates, free, blocked, local, tuple(down), tuple(emptied), departures,
        changes,
    )  # fmt: skip


def _settling(
    classes: Classes,
    servers: int,
    free: tuple[Service, ...],
    place: dict[Service, int],
    used: list[int],
) -> Callable[[int], tuple[list[Entries], list[dict[int, float]]]]:
    """Return what draws waiting jobs one by one until one doesn't fit, by what is in service.

    Of a start it tells (stops, passes): after d+1 draws state (n, h); after q draws, all of which
    fit, n; each with its probability.
    """

    @cache
    def settled(start: int) -> tuple[list[Entries], list[dict[int, float]]]:
        stops: list[Entries] = []
        passes: list[dict[int, float]] = [{start: 1.0}]
        while passes[-1]:
            stop: Entries = defaultdict(float)
            grown: dict[int, float] = defaultdict(float)
            for n, weight in passes[-1].items():
                for c, p in enumerate(classes.probs):
                    if p == 0:
                        continue
                    if used[n] + classes.sizes[c] > servers:
                        stop[n, c] += weight * p
                    else:
                        grown[place[changed(free[n], c, 1)]] += weight * p
            stops.append(stop)
            passes.append(grown)
        return stops, passes[:-1]

    return settled


def _service_vectors(sizes: list[int], servers: int) -> Iterator[Service]:
    if not sizes:
        yield ()
        return
    for count in range(servers // sizes[0] + 1):
        for rest in _service_vectors(sizes[1:], servers - count * sizes[0]):
            yield (count, *rest)


def count_states(classes: Classes, servers: int) -> int:
    """Count the states with waiting jobs, without listing them."""
    ways = [1] + [0] * servers
    for k in classes.sizes:
        for n in range(k, servers + 1):
            ways[n] += ways[n - k]
    heads = [k for k, p in zip(classes.sizes, classes.probs) if p > 0]
    return sum(ways[n] * sum(n + k > servers for k in heads) for n in range(servers + 1))


def _refuse(states: int, servers: int, most: int) -> None:
    if states > most:
        raise QueueingError(
            f"{servers} servers with these widths have {states:,} states with waiting jobs "
            f"(at most {most:,}); simulate instead, or take fewer widths or servers"
        )


def changed(n: Service, c: int, by: int) -> Service:
    """Return n with ``by`` more jobs of class c."""
    return (*n[:c], n[c] + by, *n[c + 1 :])


def finite(name: str, value: float) -> float:
    """Refuse a number that isn't positive, or beyond anything that can be computed with."""
    if not 1 / LONGEST <= value <= LONGEST:
        raise QueueingError(
            f"{name} must be a positive number, from {1 / LONGEST:g} to {LONGEST:g}; got {value:g}"
        )
    return float(value)
