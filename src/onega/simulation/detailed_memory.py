"""The memory of one run of the detailed machine: its arrays, and the record that points to them.

The kernel sees addresses (`onega.kernels.addressed`), so whoever replaces an array here must `bind`
it anew, and arrays live as long as the `Memory`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onega.kernels import detailed_codes as codes
from onega.kernels import detailed_state as layout
from onega.kernels.engine import DUE, SWITCH
from onega.kernels.heap import ENTRY
from onega.simulation.detailed_arrivals import chains
from onega.simulation.detailed_planes import bits_of, depth_bits, is_unit, planes_of, words_of
from onega.simulation.detailed_problem import Outcome, Problem
from onega.simulation.detailed_reduce import reduced
from onega.simulation.detailed_worth import users_of, weights_of, worths_of
from onega.simulation.setup import CONTROL_CODES, make_levels

Array = npt.NDArray[Any]

PLACES = {
    name: (place, layout.STATE[place].kind == "f")
    for place, name in enumerate(layout.STATE.names or ())
}
"""Where each field of the state stands, and whether it is no whole number; all are 8 bytes wide."""

LOG_ROOM = 1 << 16
MOST_ROOM = 1 << 22
"""Lines of the logs at first, at least and at most; they are emptied, or grow, as needed."""

LOGS = {"log": "logged", "stretch": "stretches", "switches": "switches"}
"""Logs, and the counters of their lines."""


class Memory:
    """Arrays of a run by name, and ``state``, the record with their addresses."""

    def __init__(self, problem: Problem) -> None:
        cores, steps = problem.nodes.capacity[:, 0], problem.calendar.step_resource
        self.problem = problem = reduced(problem)
        self.state = np.zeros(1, layout.STATE)
        self._whole, self._real = self.state.view(np.int64), self.state.view(np.float64)
        self.arrays: dict[str, Array] = {}
        self._taken: dict[str, list[Array]] = {name: [] for name in LOGS}
        self._sizes()
        self.bind("cores", cores[self.numbers], np.int64)
        self.bind("step_number", steps, np.int64)
        self._columns()
        self._rules()
        self._results()
        self._machine()
        self._running()
        self._tables()

    def bind(self, name: str, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Array:
        """Keep an array and note its address; it is copied only if its layout asks for it."""
        array = np.ascontiguousarray(values, dtype)
        self.arrays[name] = array
        self._whole[PLACES[f"{name}_at"][0]] = array.ctypes.data
        return array

    @property
    def address(self) -> int:
        """Where the kernel finds the state."""
        return int(self.state.ctypes.data)

    def _set(self, **values: float) -> None:
        for name, value in values.items():
            place, real = PLACES[name]
            (self._real if real else self._whole)[place] = value

    def _sizes(self) -> None:
        """Count, and bring the nodes of each partition together."""
        problem = self.problem
        nodes, options = problem.nodes, problem.options
        self.jobs = problem.jobs.submit.size
        self.nodes = nodes.partition.size
        self.kinds = nodes.capacity.shape[1]
        self.shared = nodes.shared.size
        self.parts = problem.partitions.order.size
        self.numbers = np.argsort(nodes.partition, kind="stable")
        self.places = np.empty(self.nodes, np.int64)
        self.places[self.numbers] = np.arange(self.nodes)
        self.capacity = np.ascontiguousarray(nodes.capacity[self.numbers], np.float64)
        sleep = problem.sleep
        ahead = sleep is not None and sleep.wake_ahead
        self._set(
            jobs=self.jobs,
            kinds=self.kinds,
            shared=self.shared,
            nodes=self.nodes,
            parts=self.parts,
            accounts=problem.account_jobs.size,
            pooled=nodes.pooled,
            unit=is_unit(problem),
            molded=bool((problem.jobs.options > 1).any()),
            wholes=bool(problem.partitions.whole.any()),
            longest=float(options.expect.max(initial=0.0)),
            all_need=bool(options.chunks.min() > 0 and options.chunk[:, 0].min() > 0),
            sleeps=0 if sleep is None else sleep.timeout.size,
            wake_ahead=ahead,
        )

    def _columns(self) -> None:
        """Point to the problem's own columns."""
        jobs, options = self.problem.jobs, self.problem.options
        for name in ("submit", "launch", "completion", "think"):
            self.bind(name, getattr(jobs, name))
        for name in ("partition", "rank", "queue_rank", "first_option", "options", "after"):
            self.bind(name, getattr(jobs, name), np.int64)
        self.bind("account", jobs.accounts if self.problem.account_jobs.size else (), np.int64)
        self.bind("limited", jobs.limited.view(np.uint8), np.uint8)
        self.bind("initial_start", jobs.initial_start)
        self.bind("initial_done", jobs.initial_done)
        plain = (jobs.after < 0) & np.isnan(jobs.initial_start)
        self.bind("plain", plain.view(np.uint8), np.uint8)
        for name in ("work", "expect", "chunk", "demand"):
            self.bind(name, getattr(options, name))
        for name in ("procs", "chunks"):
            self.bind(name, getattr(options, name), np.int64)
        self._dependents()

    def _dependents(self) -> None:
        """Lay out who waits for whom."""
        count = int((self.problem.jobs.after >= 0).sum())
        first, following, number = chains(self.problem.jobs.after)
        self.bind("first_dependent", first, np.int64)
        self.bind("next_dependent", following, np.int64)
        self.bind("dependent", number, np.int64)
        self.bind("later_heap", np.zeros(count, ENTRY), ENTRY)
        self.bind("came", np.zeros(count + 1), np.int64)
        self._set(dependents=count > 0, pending=count)

    def _rules(self) -> None:
        """Set rates, priorities, sleep and what becomes of interrupted jobs."""
        problem = self.problem
        control = problem.rates
        draws = np.zeros(0)
        if control.kind == "random":
            draws = np.asarray(problem.draws).reshape(2, self.jobs).T.ravel()
        self.bind("draws", draws)
        levels = make_levels(control)
        self.bind("rates", levels, levels.dtype)
        self._set(
            control=CONTROL_CODES[control.kind],
            levels=levels.size,
            p_low=control.p_low,
            p_high=control.p_high,
            rate=control.rates[0],
            now=problem.t0,
            on_interrupt=problem.on_interrupt,
            checkpoint=problem.checkpoint,
            keys_due=problem.t0,
            timer=np.inf,
            usage_since=problem.t0,
        )
        self._set(**weights_of(problem))
        self.bind("users", users_of(problem), layout.USER)
        self.bind("worths", worths_of(problem, int(self.arrays["cores"].sum())), layout.WORTH)
        sleep = problem.sleep
        self.bind("timeout", np.zeros(0) if sleep is None else sleep.timeout)
        self.bind("delay", np.zeros(0) if sleep is None else sleep.delay)

    def _results(self) -> None:
        """Make room for what becomes of each job."""
        for name in ("submitted", "start", "ended"):
            self.bind(name, np.full(self.jobs, np.nan))
        for name in ("lost", "saved"):
            self.bind(name, np.zeros(self.jobs))
        self.bind("phase", np.zeros(self.jobs, np.uint8), np.uint8)
        self.bind("slot_of", np.empty(self.jobs, np.int64), np.int64)
        self.bind("state", np.full(self.jobs, codes.UNSTARTED), np.int64)
        self.bind("option", np.full(self.jobs, -1), np.int64)

    def _machine(self) -> None:
        """Lay out nodes, rows of free amounts, partitions and accounts."""
        problem, capacity = self.problem, self.capacity
        hosts = problem.nodes.partition[self.numbers]
        row = np.concatenate([capacity.ravel(), problem.nodes.shared])
        totals = np.zeros((self.parts, self.kinds))
        np.add.at(totals, hosts, np.maximum(capacity, 0.0))
        self.bind("capacity", capacity)
        self.bind("number", self.numbers, np.int64)
        self.bind("hosts", hosts, np.int64)
        self.bind("free", capacity.copy())
        self.bind("avail", row.copy())
        self.bind("later", row.copy())
        self.bind("window", row.copy())
        self.bind("both", row.copy())
        self.bind("total_avail", totals)
        self.bind("total_both", totals.copy())
        self.bind("total_later", np.zeros(self.kinds))
        self.bind("capacity_now", problem.nodes.shared.copy())
        self.bind("scratch_capacity", problem.nodes.shared.copy())
        for name, value in (("up", 1), ("usable", 1), ("draining", 0)):
            self.bind(name, np.full(self.nodes, value, np.uint8), np.uint8)
        for name in ("jobs_on", "scratch"):
            self.bind(name, np.zeros(self.nodes, np.int64), np.int64)
        counted = (problem.partitions.placement != codes.FIRST_FIT).any()
        most = int(capacity[:, 0].max()) if counted else 0
        self.bind("rooms", np.zeros(most + 1, np.int64), np.int64)
        depths = depth_bits(problem)
        self.bind("depth_bits", depths, np.int64)
        self.bind("planned", np.zeros((self.parts, depths.shape[1]), np.int64), np.int64)
        some = np.zeros(64 * (self.nodes // 64 + 1), dtype=bool)
        some[: self.nodes] = capacity[:, 0] >= 1
        some[self.nodes] = True
        self.bind("bits", np.packbits(some, bitorder="little").view(np.int64), np.int64)
        self._bits(hosts)
        self.bind("got", np.zeros(self.nodes + 1, layout.GOT), layout.GOT)
        self.bind("since", np.full(self.nodes, problem.t0))
        self.bind("down_since", np.zeros(self.nodes))
        accounts = problem.account_jobs.size
        left = np.zeros(accounts, layout.ACCOUNT)
        left["jobs"] = problem.account_jobs
        left["procs"] = problem.account_procs
        self.bind("accounts_left", left, layout.ACCOUNT)
        self._partitions(hosts)

    def _bits(self, hosts: Array) -> None:
        """Lay out the nodes as bits too, if they may be."""
        planes = planes_of(self.problem) if self.state["unit"][0] else 0
        self.words = words_of(hosts, self.parts)
        row = bits_of(self.capacity[:, 0], hosts, self.words, planes)
        for name in ("avail", "later", "both"):
            self.bind(f"{name}_bits", row.copy(), np.int64)
        self.bind("up_bits", np.full(self.words[-1], -1), np.int64)
        self._set(planes=planes)

    def _partitions(self, hosts: Array) -> None:
        """Lay out partitions, their queues and their stacks of idle processors."""
        problem = self.problem
        rules = problem.partitions
        members = np.array([self.jobs])
        if self.parts > 1:
            members = np.bincount(problem.jobs.partition, minlength=self.parts)
        queues = np.concatenate([[0], np.cumsum(members + 2)])
        widths = np.zeros(self.parts, np.int64)
        if problem.nodes.pooled and problem.sleep is not None:
            np.add.at(widths, hosts, self.capacity[:, 0].astype(np.int64))
        stacks = np.concatenate([[0], np.cumsum(widths + 3)])
        table = np.zeros(self.parts, layout.PARTITION)
        table["first"] = np.searchsorted(hosts, np.arange(self.parts))
        table["last"] = np.searchsorted(hosts, np.arange(self.parts), side="right")
        table["word"], table["last_word"] = self.words[:-1], self.words[1:]
        for name in ("order", "reservations", "placement", "whole"):
            table[name] = getattr(rules, name)
        table["queue"] = queues[:-1]
        table["stack"] = stacks[:-1]
        table["entries"] = widths > 0
        table["shadow"] = table["timer"] = np.inf
        asleep = problem.sleep is not None and not problem.nodes.pooled
        table["depths_due"] = -np.inf if asleep else np.inf
        table["waking"] = -np.inf
        table["sorted"] = (rules.order == codes.STATIC) | (rules.order == codes.MULTIFACTOR)
        table["many"] = (rules.reservations > 1) | (self.shared > 0 and self.parts > 1)
        self.bind("partitions", table, layout.PARTITION)
        self.bind("queue", np.empty(queues[-1], layout.QUEUED), layout.QUEUED)
        stack = np.zeros(stacks[-1], layout.STACKED)
        stack["since"][stacks[:-1]] = problem.t0
        stack["count"][stacks[:-1]] = widths
        self.bind("stack", stack, layout.STACKED)
        claims = self.jobs + 1 if self.shared > 0 and self.parts > 1 else 1
        self.bind("claims", np.zeros(claims, layout.CLAIM), layout.CLAIM)

    def _most_links(self) -> int:
        """Return a bound on the pieces in which running jobs may lie on nodes."""
        chunk = self.problem.options.chunk
        most = self.jobs * max(1, int(np.bincount(self.problem.nodes.partition).max()))
        for k in range(self.kinds):
            least = chunk[:, k].min() if chunk.size else 0.0
            if least > 0:
                most = min(most, int(np.floor(self.capacity[:, k] / least).sum()))
        return most + 1

    def _running(self) -> None:
        """Make slots and heaps for those on processors."""
        pieces = self._most_links()
        running = min(self.jobs, pieces) + 1
        spare = np.zeros(running, layout.SLOT)
        spare["spare"] = np.arange(running)[::-1]
        self.bind("slots", spare, layout.SLOT)
        pieces = max(pieces, running)  # in a pool each slot has a link of its own
        links = np.zeros(pieces, layout.LINK)
        links["spare"] = np.arange(pieces)[::-1]
        self.bind("links", links, layout.LINK)
        self._set(spare_slot=running, spare_link=pieces)
        self.bind("ends", np.zeros(running + 1, layout.END), layout.END)
        for name in ("work_heap", "time_heap"):
            self.bind(name, np.zeros(running, ENTRY), ENTRY)
        self.bind("sizes", np.zeros(4), np.int64)
        self.bind("due", np.zeros(running, DUE), DUE)
        self.bind("victims", np.zeros(running), np.int64)
        self._grow("attempts", layout.ATTEMPT, LOG_ROOM + 2 * self.jobs)
        room = min(MOST_ROOM, LOG_ROOM + 4 * self.jobs)
        self._grow("log", layout.LOGGED, room)
        self._grow("stretch", layout.STRETCH, room)
        self._grow("switches", SWITCH, LOG_ROOM)

    def _grow(self, name: str, dtype: npt.DTypeLike, room: int) -> None:
        """Make a log larger, with what it has."""
        larger = np.empty(room, dtype)
        if name in self.arrays:
            larger[: self.arrays[name].size] = self.arrays[name]
        self.bind(name, larger, dtype)
        self._set(**{{"switches": "switch", "attempts": "attempt"}.get(name, name) + "_room": room})

    def _tables(self) -> None:
        """Lay out the table of events and the calendar."""
        events, calendar = self.problem.events, self.problem.calendar
        self.bind("row_time", events.time)
        self.bind("row_code", events.code, np.int64)
        self.bind("row_job", events.job, np.int64)
        self.bind("row_node", self._place_of(events.node), np.int64)
        real = calendar.end > np.maximum(calendar.begin, self.problem.t0)
        end = calendar.end[real]
        self.bind("begin", calendar.begin[real])
        self.bind("end_of", end)
        self.bind("reserved_node", self._place_of(calendar.node[real]), np.int64)
        self.bind("reserved_amount", calendar.amount[real])
        self.bind("by_end", np.argsort(end, kind="stable"), np.int64)
        self.bind("step_time", calendar.step_time)
        self.bind("step_resource", calendar.step_resource, np.int64)
        self.bind("step_capacity", calendar.step_capacity)
        ahead = 2 * end.size + calendar.step_time.size + 1
        self.bind("changes", np.zeros(ahead, layout.CHANGE), layout.CHANGE)
        self.bind("dips", np.zeros(ahead, layout.DIP), layout.DIP)
        for name in ("dip_values", "dip_base"):
            self.bind(name, np.zeros(ahead * self.kinds))
        stops = ((events.code == codes.FAIL) | (events.code == codes.INTERRUPT)).any() or end.size
        self._set(
            rows=events.time.size,
            withdrawals=end.size,
            steps=calendar.step_time.size,
            restarts=bool(stops) and self.problem.on_interrupt != codes.LOSE,
            listed=-np.inf,
            node_change=np.inf,
            node_dip=np.inf,
        )

    def _place_of(self, numbers: Array) -> Array:
        """Return where nodes stand here; −1 stays."""
        return np.where(numbers >= 0, self.places[np.maximum(numbers, 0)], -1)

    def _empty_logs(self) -> None:
        """Take the lines of the logs away, so that they have room again."""
        for name, counter in LOGS.items():
            count = int(self.state[0][counter])
            if count:
                self._taken[name].append(self.arrays[name][:count].copy())
                self.state[0][counter] = 0

    def make_room(self) -> None:
        """Empty the logs, and make those larger that lack the room for one instant even so."""
        self._empty_logs()
        rules = self.state[0]
        for name, dtype, wanted in (
            ("log", layout.LOGGED, "log"),
            ("stretch", layout.STRETCH, "stretch"),
            ("attempts", layout.ATTEMPT, "attempt"),
        ):
            if rules[f"{wanted}_wanted"] > rules[f"{wanted}_room"]:
                self._grow(name, dtype, 2 * int(rules[f"{wanted}_wanted"]))

    def _joined(self, name: str) -> Array:
        """Return all lines of a log; those that are still in it are not copied."""
        last = self.arrays[name][: int(self.state[0][LOGS[name]])]
        return np.concatenate([*self._taken[name], last]) if self._taken[name] else last

    def outcome(self) -> Outcome:
        """Bring together what happened."""
        arrays = self.arrays
        attempts = arrays["attempts"][: int(self.state[0]["sequence"])]
        log = self._joined("log")
        parts = self._joined("stretch")
        switches = self._joined("switches")
        columns = {
            "attempt": (attempts, ("job", "start", "wake", "begin", "end")),
            "log": (log, ("time", "event", "job", "node")),
            "part": (parts, ("kind", "since", "until", "count", "depth", "node")),
            "switch": (switches, ("time", "level")),
        }
        return Outcome(
            submit=arrays["submitted"],
            start=arrays["start"],
            end=arrays["ended"],
            state=arrays["state"],
            option=arrays["option"],
            lost_work=arrays["lost"],
            **{
                f"{prefix}_{name}": table[name]
                for prefix, (table, names) in columns.items()
                for name in names
            },
        )
