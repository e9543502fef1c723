"""The memory of one run of the machine in detail: from a `Problem` to its records, and back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onega.core.types import Array, Floats
from onega.kernels.machine import codes, state
from onega.kernels.machine.state import Logs, Machine
from onega.kernels.pool.engine import DUE, SWITCH
from onega.kernels.records import to_records
from onega.kernels.structures.heap import make_heap
from onega.simulation.machine.problem import Outcome, Problem
from onega.simulation.pool.setup import CONTROL_CODES, make_levels

LOG_ROOM = 1 << 14
"""Lines of the logs at first, beside those that every job writes; they grow as needed."""

PLAN_ROOM = 256
"""Pieces of jobs and reservations on nodes that there is space for at first."""


def make_machine(problem: Problem) -> Machine:
    """Lay out the records of a run; nothing has happened yet."""
    return _Layout(problem).machine()


class _Layout:
    """What the parts of a machine's records need to know of each other."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.jobs = problem.jobs.size
        self.parts = problem.partitions.size
        # The nodes of each partition stand together.
        self.numbers = np.argsort(problem.nodes.partition, kind="stable")
        self.places = np.empty(self.numbers.size, np.int64)
        self.places[self.numbers] = np.arange(self.numbers.size)
        self.hosts = problem.nodes.partition[self.numbers]
        self.capacity = _floats(problem.nodes.capacity[self.numbers])

    def machine(self) -> Machine:
        problem = self.problem
        control, shares, nodes = problem.rates, problem.shares, self.hosts.size
        partitions, idle = self._partitions()
        calendar, booked = self._calendar()
        events = problem.events.astype(state.EVENT)
        events["node"] = self._place_of(events["node"])
        dips = calendar.size + nodes + problem.nodes.shared.size + PLAN_ROOM
        # What one instant may take of the logs.
        lines = 6 * self.jobs + 2 * nodes + events.size + calendar.size + 16
        stretches = 8 * nodes + 4 * (self.jobs + idle.size) + 16
        begun = int(problem.options["chunks"][problem.jobs["first_option"][problem.begun]].sum())
        links = begun + nodes + PLAN_ROOM
        return Machine(
            clock=to_records(
                state.CLOCK,
                1,
                now=problem.t0,  # that of work is at 0
                rate=control.rates[0],
                control=CONTROL_CODES[control.kind],
                p_low=control.p_low,
                p_high=control.p_high,
                serving=-1,
            ),
            rules=self._rules(lines, stretches),
            jobs=self._jobs(),
            options=problem.options,
            needs=problem.needs,
            demand=_floats(problem.demand),
            partitions=partitions,
            queue=np.zeros(self.jobs + 2 * self.parts, state.WAITING),
            nodes=to_records(
                state.NODE,
                nodes,
                partition=self.hosts,
                number=self.numbers,
                cores=self.capacity[:, 0],
                up=1,
                usable=1,
                since=problem.t0,
                dips=-1,
            ),
            free=self.capacity.copy(),
            capacity=self.capacity,
            resources=to_records(
                state.RESOURCE,
                problem.nodes.shared.size,
                capacity=problem.nodes.shared,
                free=problem.nodes.shared,
                dips=-1,
            ),
            links=to_records(state.LINK, links, spare=np.arange(links)),
            spare=to_records(state.SPARE, 1, links=links),
            ends=np.zeros(self.jobs + 1, state.END),
            due=np.zeros(self.jobs, DUE),
            work=make_heap(self.jobs),
            known=make_heap(self.jobs),
            time=make_heap(self.jobs),
            dependents=make_heap(self.jobs),
            events=events,
            calendar=calendar,
            booked=booked,
            draws=problem.draws,
            plan=to_records(state.PLAN, 1, stale=1, first=np.inf),
            changes=np.zeros(calendar.size + 2 + PLAN_ROOM, state.CHANGE),
            dips=np.zeros(dips, state.DIP),
            dip_free=np.zeros((dips, self.capacity.shape[1])),
            later=self.capacity.copy(),
            counted=np.zeros(self.parts * len(problem.needs), state.COUNTED),
            found=np.zeros(nodes + 1, state.FOUND),
            placed=np.zeros(1, state.PLACED),
            users=to_records(  # and all together
                state.USER, shares.size + 1, share=np.append(shares, 1.0), since=1.0
            ),
            usage=to_records(state.USAGE, 1, epoch=problem.t0, keys_due=problem.t0),
            limits=problem.limits.copy(),
            sleep=problem.sleep,
            idle=idle,
            levels=make_levels(problem.rates),
            logs=Logs(
                np.empty(LOG_ROOM + 2 * self.jobs, state.ATTEMPT),
                np.empty(LOG_ROOM + 4 * self.jobs + lines, state.LOGGED),
                np.empty(LOG_ROOM + 4 * self.jobs + stretches, state.STRETCH),
                np.empty(LOG_ROOM, SWITCH),
                np.zeros(1, state.WRITTEN),
            ),
        )

    def _rules(self, lines: int, stretches: int) -> Array:
        problem, factors = self.problem, self.problem.multifactor
        given: dict[str, float] = {}
        if factors is not None:
            names = ("age", "max_age", "fair_share", "queue", "half_life", "period")
            given = {name: getattr(factors, name) for name in names}
            given |= {"factors": 1, "job_size": factors.size}
        return to_records(
            state.RULES,
            1,
            limits=problem.limits.size > 1,
            pooled=problem.nodes.pooled,
            sleeps=problem.sleep.size,
            wake_ahead=problem.wake_ahead,
            on_interrupt=problem.on_interrupt,
            checkpoint=problem.checkpoint,
            machine=self.capacity[:, 0].sum(),
            keeps=self._keeps(),
            lines=lines,
            stretches=stretches,
            **given,
        )

    def _keeps(self) -> bool:
        """Tell whether a plan holds for more than one pass if nothing ends.

        It doesn't if orders depend on the time, nodes are chosen by how deep they sleep or by what
        others leave of them, or if partitions see each other's reservations.
        """
        problem, rules = self.problem, self.problem.partitions
        fixed = np.isin(rules["order"], (codes.STATIC, codes.MULTIFACTOR)).all()
        alone = self.parts == 1 or problem.nodes.shared.size == 0
        awake = problem.nodes.pooled or problem.sleep.size == 0
        by_number = (rules["whole"] > 0) | (rules["placement"] == codes.FIRST_FIT)
        return bool(fixed and alone and awake and (problem.nodes.pooled or by_number.all()))

    def _jobs(self) -> Array:
        """Make the jobs; those that wait for the same one's end are chained by row."""
        jobs = self.problem.jobs.records()
        for row in self.problem.followers[::-1].tolist():
            parent = int(jobs["after"][row])
            jobs["sibling"][row] = jobs["child"][parent]
            jobs["child"][parent] = row
        return jobs

    def _partitions(self) -> tuple[Array, Array]:
        """Lay out partitions, and the stacks of idle processors of pools."""
        problem = self.problem
        table = problem.partitions.copy()
        edges = self.hosts.searchsorted(np.arange(self.parts + 1))
        table["first"], table["last"] = edges[:-1], edges[1:]
        members = np.bincount(problem.jobs["partition"], minlength=self.parts) + 2
        table["queue"] = members.cumsum() - members
        table["spare"] = np.bincount(self.hosts, self.capacity[:, 0], self.parts)
        table["timer"], table["link"] = np.inf, -1
        if not problem.nodes.pooled or problem.sleep.size == 0:
            return table, np.zeros(0, state.IDLE)
        widths = self.capacity[:, 0].astype(np.int64) + 4
        table["stack"] = widths.cumsum() - widths
        table["entries"] = 1
        idle = np.zeros(int(widths.sum()), state.IDLE)
        idle["since"][table["stack"]] = problem.t0
        idle["procs"][table["stack"]] = widths - 4
        return table, idle

    def _calendar(self) -> tuple[Array, Floats]:
        """Put ends, begins and steps, in this order, into the order of time, with amounts."""
        problem = self.problem
        real = [one for one in problem.reservations if one[1] > max(one[0], problem.t0)]
        rows = [(end, self.places[n], 1.0, -1, 0.0) for _, end, n, _ in real]
        rows += [(begin, self.places[n], -1.0, -1, 0.0) for begin, _, n, _ in real]
        rows += [(time, -1, 0.0, resource, capacity) for time, resource, capacity in problem.steps]
        calendar = np.array(rows, state.DATED)
        calendar["time"] = np.maximum(calendar["time"], problem.t0)
        booked = np.zeros((calendar.size, self.capacity.shape[1]))
        if real:
            booked[: 2 * len(real)] = np.tile([amount for *_, amount in real], (2, 1))
        order = np.argsort(calendar["time"], kind="stable")
        return calendar[order], booked[order]

    def _place_of(self, numbers: Array) -> Array:
        """Return where nodes stand here; −1 stays."""
        return np.where(numbers >= 0, self.places[np.maximum(numbers, 0)], -1)


def _floats(values: npt.ArrayLike) -> Floats:
    return np.array(values, np.float64, order="C")


def with_longer_logs(machine: Machine) -> Machine:
    """Return the same machine with twice the room in its logs."""
    logs = machine.logs
    longer = {name: _doubled(getattr(logs, name)) for name in Logs._fields if name != "written"}
    return machine._replace(logs=logs._replace(**longer))


def with_larger_plan(machine: Machine) -> Machine:
    """Return the same machine with twice the space for reservations."""
    old, links = machine.links.size, _doubled(machine.links)
    spare = int(machine.spare["links"][0])
    links["spare"][spare : spare + old] = np.arange(old, 2 * old)
    machine.spare["links"] = spare + old
    return machine._replace(
        links=links,
        changes=_doubled(machine.changes),
        dips=_doubled(machine.dips),
        dip_free=_doubled(machine.dip_free),
    )


def _doubled(array: Array) -> Array:
    return np.concatenate([array, np.zeros_like(array)])


def outcome(machine: Machine) -> Outcome:
    """Bring together what happened."""
    clock, logs = machine.clock[0], machine.logs
    fields = ("submitted", "start", "end", "state", "option", "lost")
    submit, start, end, became, option, lost = (machine.jobs[name].copy() for name in fields)
    return Outcome(
        submit,
        start,
        end,
        became,
        option,
        lost,
        logs.attempts[: clock["sequence"]],
        logs.lines[: logs.written["lines"][0]],
        logs.stretches[: logs.written["stretches"][0]],
        logs.switches[: clock["switches"]],
    )
