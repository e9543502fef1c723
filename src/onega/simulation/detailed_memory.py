"""The memory of one run of the detailed machine: its arrays, and the record that points to them.

The kernel sees addresses (`onega.kernels.addressed`), so whoever replaces an array here must `bind`
it anew, and arrays live as long as the `Memory`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.kernels import detailed_codes as codes
from onega.kernels import detailed_state as layout
from onega.kernels.detailed_begin import begin
from onega.kernels.detailed_next import NEAR
from onega.kernels.engine import DUE, SWITCH
from onega.kernels.heap import ENTRY
from onega.simulation.detailed_arrays import FLAG, INT, Addressed, Array
from onega.simulation.detailed_arrivals import chains
from onega.simulation.detailed_planes import bits_of, is_unit, planes_of, words_of
from onega.simulation.detailed_problem import Outcome, Problem
from onega.simulation.detailed_reduce import reduced
from onega.simulation.detailed_worth import users_of, weights_of
from onega.simulation.setup import CONTROL_CODES, make_levels

LOG_ROOM = 1 << 16
MOST_ROOM = 1 << 22
"""Lines of the logs at first, at least and at most; they are emptied, or grow, as needed."""

LOGS = {"log": "logged", "stretch": "stretches", "switches": "switches"}
"""Logs, and the counters of their lines."""


class Memory(Addressed):
    """Arrays of a run by name, and ``state``, the record with their addresses."""

    def __init__(self, problem: Problem) -> None:
        cores, steps = problem.nodes.capacity[:, 0], problem.calendar.step_resource
        super().__init__()
        self.problem = problem = reduced(problem)
        self._taken: dict[str, list[Array]] = {name: [] for name in LOGS}
        self._sizes()
        self.bind("cores", cores[self.numbers], INT)
        self.bind("step_number", steps, INT)
        self._columns()
        self._rules()
        self._results()
        self._machine()
        self._running()
        self._tables()
        begin(self.address)

    def _sizes(self) -> None:
        """Count, and bring the nodes of each partition together."""
        problem = self.problem
        nodes, options = problem.nodes, problem.options
        self.jobs = problem.jobs.submit.size
        self.nodes = nodes.partition.size
        self.kinds = nodes.capacity.shape[1]
        self.shared = nodes.shared.size
        self.parts = problem.partitions.order.size
        self.numbers = self.places = np.arange(self.nodes)
        self.capacity = nodes.capacity
        if self.parts > 1:
            self.numbers = np.argsort(nodes.partition, kind="stable")
            self.places = np.empty(self.nodes, INT)
            self.places[self.numbers] = np.arange(self.nodes)
            self.capacity = nodes.capacity[self.numbers]
        self.unit = is_unit(problem)
        sleep, extent = problem.sleep, options.extent
        self.set(
            jobs=self.jobs,
            kinds=self.kinds,
            shared=self.shared,
            nodes=self.nodes,
            parts=self.parts,
            accounts=problem.account_jobs.size,
            pooled=nodes.pooled,
            unit=self.unit,
            molded=options.procs.size > self.jobs,  # everybody has one at least
            wholes=bool(problem.partitions.whole.any()),
            longest=extent.expect,
            all_need=extent.least_chunks > 0 and extent.least_chunk[0] > 0,
            sleeps=0 if sleep is None else sleep.timeout.size,
            wake_ahead=sleep is not None and sleep.wake_ahead,
            direct=self._is_direct(),
        )

    def _is_direct(self) -> bool:
        """Tell whether a pass for a lone newcomer does nothing but decide on him.

        One partition whose queue stays sorted, nobody who waits for another's end.
        """
        rules = self.problem.partitions
        return bool(
            self.parts == 1
            and rules.order[0] in (codes.STATIC, codes.MULTIFACTOR)
            and rules.reservations[0] <= 1
            and self.problem.jobs.followers.size == 0
        )

    def _columns(self) -> None:
        """Point to the problem's own columns."""
        jobs, options = self.problem.jobs, self.problem.options
        for name in ("submit", "launch", "completion", "think", "initial_start", "initial_done"):
            self.bind(name, getattr(jobs, name))
        for name in ("partition", "rank", "queue_rank", "first_option", "options", "after"):
            self.bind(name, getattr(jobs, name), INT)
        self.bind("account", jobs.accounts if self.problem.account_jobs.size else (), INT)
        self.bind("limited", jobs.limited.view(np.uint8), FLAG)
        plain = np.ones(self.jobs, FLAG)
        plain[jobs.followers] = plain[jobs.begun] = 0
        self.bind("plain", plain, FLAG)
        for name in ("work", "expect", "demand"):
            self.bind(name, getattr(options, name))
        alike = (options.extent.least_chunk == options.extent.chunk).all()
        self.bind("chunk", options.chunk[:1] if alike else options.chunk)
        self.set(pitch=0 if alike else self.kinds)
        for name in ("procs", "chunks"):
            self.bind(name, getattr(options, name), INT)
        self._dependents()

    def _dependents(self) -> None:
        """Lay out who waits for whom."""
        jobs = self.problem.jobs
        count = jobs.followers.size
        for name, values in zip(
            ("first_dependent", "next_dependent", "dependent"),
            chains(jobs.after, jobs.followers),
            strict=True,
        ):
            self.bind(name, values, INT)
        self.room("later_heap", count, ENTRY)
        self.room("came", count + 1, INT)
        self.set(dependents=count > 0, pending=count)

    def _rules(self) -> None:
        """Set rates, priorities, sleep and what becomes of interrupted jobs."""
        problem = self.problem
        control, sleep = problem.rates, problem.sleep
        if control.kind == "random":
            self.bind("draws", np.asarray(problem.draws).reshape(2, self.jobs).T.ravel())
        levels = make_levels(control)
        self.bind("rates", levels, levels.dtype)
        self.set(
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
        )
        if problem.multifactor is not None:
            self.set(**weights_of(problem))
            self.bind("users", users_of(problem), layout.USER)
            self.bind("user", problem.jobs.user, INT)
            self.bind("queue_factor", problem.jobs.queue_factor)
            self.empty("worths", self.jobs, layout.WORTH)  # of who has come
            self.set(machine=float(self.arrays["cores"].sum()))
        if sleep is not None:
            self.bind("timeout", sleep.timeout)
            self.bind("delay", sleep.delay)

    def _results(self) -> None:
        """Make room for what becomes of each job."""
        times = np.empty((3, self.jobs))
        times.fill(np.nan)
        for name, column in zip(("submitted", "start", "ended"), times, strict=True):
            self.bind(name, column)
        for name, code in (("state", codes.UNSTARTED), ("option", -1)):
            self.empty(name, self.jobs, INT).fill(code)
        self.empty("slot_of", self.jobs, INT)
        for name in ("lost", "saved"):
            self.bind(name, np.zeros(self.jobs))
        self.bind("phase", np.zeros(self.jobs, FLAG), FLAG)

    def _machine(self) -> None:
        """Lay out nodes, rows of free amounts, partitions and accounts."""
        problem = self.problem
        hosts = problem.nodes.partition[self.numbers]
        rows = self.nodes * self.kinds
        self.bind("capacity", self.capacity)
        self.bind("number", self.numbers, INT)
        self.bind("hosts", hosts, INT)
        self.room("free", rows)
        for name in ("avail", "later", "window", "both"):
            self.room(name, rows + self.shared)
        for name in ("total_avail", "total_both"):
            self.room(name, self.parts * self.kinds)
        self.room("total_later", self.kinds)
        self.bind("capacity_now", problem.nodes.shared.copy())
        self.room("scratch_capacity", self.shared)
        for name in ("up", "usable", "draining"):
            self.room(name, self.nodes, FLAG)
        for name in ("jobs_on", "scratch"):
            self.room(name, self.nodes, INT)
        counted = (problem.partitions.placement != codes.FIRST_FIT).any()
        self.room("rooms", int(self.capacity[:, 0].max()) + 1 if counted else 1, INT)
        self._bits(hosts)
        self.room("got", self.nodes + 1, layout.GOT)
        for name in ("since", "down_since"):
            self.room(name, self.nodes)
        if problem.account_jobs.size:
            self.room("accounts_left", 1 + problem.account_jobs.size, layout.ACCOUNT)
            left = self.arrays["accounts_left"]
            left[0] = np.iinfo(np.int64).max // 2
            left["jobs"][1:], left["procs"][1:] = problem.account_jobs, problem.account_procs
        self._partitions(hosts)

    def _bits(self, hosts: Array) -> None:
        """Lay out the nodes as bits too, if they may be."""
        words, sleep = self.nodes // 64 + 1, self.problem.sleep
        self.room("bits", words, INT)
        self.room("planned", self.parts * words, INT)
        self.room("depth_bits", words * (1 if sleep is None else sleep.timeout.size + 2), INT)
        planes = planes_of(self.problem) if self.unit else 0
        self.words = words_of(hosts, self.parts)
        row = bits_of(self.capacity[:, 0], hosts, self.words, planes)
        for name in ("avail_bits", "later_bits", "both_bits"):
            self.bind(name, row.copy() if row.size else row, INT)
        self.bind("up_bits", np.full(self.words[-1], -1), INT)
        self.set(planes=planes)

    def _partitions(self, hosts: Array) -> None:
        """Lay out partitions, their queues and their stacks of idle processors."""
        problem = self.problem
        rules = problem.partitions
        members = np.array([self.jobs])
        if self.parts > 1:
            members = np.bincount(problem.jobs.partition, minlength=self.parts)
        widths = np.zeros(self.parts, INT)
        if problem.nodes.pooled and problem.sleep is not None:
            widths = np.bincount(hosts, self.capacity[:, 0], self.parts).astype(INT)
        queues, stacks = (members + 2).cumsum(), (widths + 3).cumsum()
        self.room("partitions", self.parts, layout.PARTITION)
        table = self.arrays["partitions"]
        edges = hosts.searchsorted(np.arange(self.parts + 1))
        table["first"], table["last"] = edges[:-1], edges[1:]
        table["word"], table["last_word"] = self.words[:-1], self.words[1:]
        for name in ("order", "reservations", "placement", "whole"):
            table[name] = getattr(rules, name)
        table["queue"] = queues - members - 2
        table["stack"] = stacks - widths - 3
        table["entries"] = widths > 0
        table["shadow"] = table["timer"] = np.inf
        asleep = problem.sleep is not None and not problem.nodes.pooled
        table["depths_due"] = -np.inf if asleep else np.inf
        table["waking"] = -np.inf
        table["sorted"] = (rules.order == codes.STATIC) | (rules.order == codes.MULTIFACTOR)
        table["many"] = (rules.reservations > 1) | (self.shared > 0 and self.parts > 1)
        self.empty("queue", int(queues[-1]), layout.QUEUED)
        self.room("stack", int(stacks[-1]), layout.STACKED)
        stack = self.arrays["stack"]
        stack["since"][table["stack"]] = problem.t0
        stack["count"][table["stack"]] = widths
        claims = self.jobs + 1 if self.shared > 0 and self.parts > 1 else 1
        self.room("claims", claims, layout.CLAIM)

    def _most_links(self) -> int:
        """Return a bound on the pieces in which running jobs may lie on nodes."""
        most = self.jobs * max(1, int(np.bincount(self.problem.nodes.partition).max()))
        for k, least in enumerate(self.problem.options.extent.least_chunk):
            if least > 0:
                most = min(most, int(np.floor(self.capacity[:, k] / least).sum()))
        return most + 1

    def _running(self) -> None:
        """Make slots and heaps for those on processors."""
        pieces = self._most_links()
        running = min(self.jobs, pieces) + 1
        pieces = max(pieces, running)  # in a pool each slot has a link of its own
        self.room("slots", running, layout.SLOT)
        self.room("links", pieces, layout.LINK)
        self.set(spare_slot=running, spare_link=pieces)
        self.room("ends", running + 1, layout.END)
        for name in ("work_heap", "time_heap"):
            self.room(name, running, ENTRY)
        for name in ("work_near", "time_near"):
            self.room(name, NEAR, ENTRY)
        self.room("sizes", 6, INT)
        self.room("due", running, DUE)
        self.room("victims", running, INT)
        self._grow("attempts", layout.ATTEMPT, LOG_ROOM + 2 * self.jobs)
        room = min(MOST_ROOM, LOG_ROOM + 4 * self.jobs)
        self._grow("log", layout.LOGGED, room)
        self._grow("stretch", layout.STRETCH, room)
        self._grow("switches", SWITCH, LOG_ROOM)

    def _grow(self, name: str, dtype: np.dtype[Any], room: int) -> None:
        """Make a log larger, with what it has."""
        old = self.arrays.get(name)
        larger = self.empty(name, room, dtype)
        if old is not None:
            larger[: old.size] = old
        self.set(**{{"switches": "switch", "attempts": "attempt"}.get(name, name) + "_room": room})

    def _tables(self) -> None:
        """Lay out the table of events and the calendar."""
        events, calendar = self.problem.events, self.problem.calendar
        stops = False
        if events.time.size:
            self.bind("row_time", events.time)
            self.bind("row_code", events.code, INT)
            self.bind("row_job", events.job, INT)
            self.bind("row_node", self._place_of(events.node), INT)
            code = events.code
            stops = bool(((code == codes.FAIL) | (code == codes.INTERRUPT)).any())
        withdrawals = self._reservations() if calendar.end.size else 0
        if calendar.step_time.size:
            self.bind("step_time", calendar.step_time)
            self.bind("step_resource", calendar.step_resource, INT)
            self.bind("step_capacity", calendar.step_capacity)
        ahead = 2 * withdrawals + calendar.step_time.size + 1
        self.room("changes", ahead, layout.CHANGE)
        self.room("dips", ahead, layout.DIP)
        for name in ("dip_values", "dip_base"):
            self.room(name, ahead * self.kinds)
        self.set(
            rows=events.time.size,
            withdrawals=withdrawals,
            steps=calendar.step_time.size,
            restarts=(stops or withdrawals > 0) and self.problem.on_interrupt != codes.LOSE,
            listed=-np.inf,
            node_change=np.inf,
            node_dip=np.inf,
        )

    def _reservations(self) -> int:
        """Lay out the reservations that are ever on; return how many there are."""
        calendar = self.problem.calendar
        real = calendar.end > np.maximum(calendar.begin, self.problem.t0)
        end = calendar.end[real]
        self.bind("begin", calendar.begin[real])
        self.bind("end_of", end)
        self.bind("reserved_node", self._place_of(calendar.node[real]), INT)
        self.bind("reserved_amount", calendar.amount[real])
        self.bind("by_end", np.argsort(end, kind="stable"), INT)
        return int(end.size)

    def _place_of(self, numbers: Array) -> Array:
        """Return where nodes stand here; −1 stays."""
        if self.parts == 1:
            return numbers
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
