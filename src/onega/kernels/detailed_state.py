"""The detailed machine's state: one record of rules, counters and addresses, and its tables.

Every function of the engine takes this record (see `onega.kernels.addressed`). Nodes stand by
partition here: those of partition p are ``first`` … ``last − 1``. Amounts of K node resources and
G machine-wide ones stand in *rows*: node n's resource k at ``n·K + k``, machine-wide g at
``N·K + g``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onega.kernels.addressed import ints, sized_viewer, small, structure, viewer
from onega.kernels.engine import DUE, LEVEL, SWITCH, Ints
from onega.kernels.heap import ENTRY

Record = Any

# Phases of a job.
AHEAD, WAITING, LAUNCHING, WORKING, COMPLETING, GONE = 0, 1, 2, 3, 4, 5


def _fields(kind: str, *lines: str, suffix: str = "") -> list[tuple[str, str]]:
    """Fields of one kind, from lines of names."""
    return [(name + suffix, kind) for line in lines for name in line.split()]


RULES = [
    *_fields(
        "i8",
        "jobs kinds shared nodes parts accounts users",
        # How far apart what options' chunks need stands; 0: all need the same.
        "pitch",
        # Whether each partition is one pool; whether all chunks are one processor each and
        # nothing else, so that totals tell what fits; whether any job has several shapes; whether
        # jobs take whole nodes anywhere; whether every option needs processors. Planes of nodes as
        # bits (`onega.kernels.detailed_bits`); 0: their rows are numbers.
        "pooled unit molded wholes all_need planes",
        # Whether who comes alone may be decided on without a pass.
        "direct",
        # Sleep states; waking ahead; interrupted jobs, and whether there may be any that wait
        # again; multifactor priority; dependent jobs.
        "sleeps wake_ahead on_interrupt restarts factors dependents",
        # Rows of the table, reservations, steps of capacities; levels of the rate; its control.
        "rows withdrawals steps levels control",
    ),
    *_fields("f8", "checkpoint w_age max_age w_size w_fair w_queue half_life period machine"),
    *_fields("f8", "p_low p_high"),
]
COUNTERS = [
    # What the rate controls of `onega.kernels.engine` read and write; ``running``: at work (at a
    # fixed rate nobody asks).
    *_fields("i8", "level arrived departed running switches"),
    *_fields("f8", "now t0 v0 rate work_waiting ends_running"),
    *_fields(
        "i8",
        # Next rows of the tables; reservations that are on.
        "next_job next_row next_withdrawal next_return next_step active",
        # Jobs that have left, wait, hold processors, are in launch, wait for another's end.
        "gone waiting holding launching pending",
        # The next start's number; spare slots and links; entries of the placement found last.
        "sequence spare_slot spare_link got",
        # Whether a pass is due; whether more than a submission happened since the last one;
        # reservations that other partitions see; nodes that drain; whether the calendar changes
        # single nodes before the reservation is over; whether totals tell what fits now.
        "pass_due changed claimed drains nodal lean",
        # The calendar ahead: changes and dips listed, whether the first dips are known; where a row
        # stands that goes on in time.
        "changes dips seen planned row_end row_change",
        # Lines of the logs, their room, and what the next instant may need; who gave a bad key.
        "logged stretches log_room stretch_room attempt_room switch_room",
        "log_wanted stretch_wanted attempt_wanted culprit",
    ),
    # When multifactor keys are computed next; everybody's usage, up to which growth of the
    # unit, processors held since; the epoch, the growth that was computed last, and when.
    *_fields("f8", "keys_due usage since held epoch growth growth_at"),
    # When multifactor keys were renewed last; since when there are some that aren't computed yet.
    *_fields("f8", "renewed stale_since"),
    # When the first change of the calendar is that isn't listed, and the clock it was listed by;
    # when the first change and the first dip of a single node are.
    *_fields("f8", "listed listed_t0 listed_v0 listed_rate node_change node_dip"),
    # The first dips of processors and of the last machine-wide resource, and how much is free from
    # now on through them.
    *_fields("f8", "first_dip through shared_dip shared_through"),
    # The longest that anybody is expected to take; when the next event of the table or the
    # calendar is; when the first processors are woken ahead.
    *_fields("f8", "longest event_time timer"),
]
ADDRESSES = _fields(
    "i8",
    # The problem's columns: jobs, options, accounts, table, calendar, users, sleep, nodes.
    "submit partition rank queue_rank account first_option options limited",
    "launch completion after think initial_start initial_done plain",
    "procs work expect chunks chunk demand",
    "accounts_left",
    "row_time row_code row_job row_node",
    "begin end_of reserved_node reserved_amount by_end step_time step_resource step_capacity",
    "step_number",
    "users worths user queue_factor draws timeout delay capacity cores number hosts",
    # By job: what becomes of it; its phase and slot; chains of dependents.
    "submitted start ended state option lost saved phase slot_of",
    "first_dependent next_dependent dependent",
    # Rows: free; free on usable nodes; free at the shadow beside the reservation; the smaller
    # of the latter two. Totals of rows; capacities of machine-wide resources now.
    "free avail later both window total_avail total_both total_later capacity_now",
    "scratch_capacity dip_values dip_base",
    # By node: states, jobs on it (where nodes sleep), idle since, down since; scratch. Nodes
    # counted by what they have free; a bit for each that has a processor for new starts, and one
    # behind the last.
    "up draining usable jobs_on since down_since scratch victims came rooms bits",
    # Bits of the nodes in each depth of sleep; of those that each partition's reservation means.
    "depth_bits planned",
    # Rows as bits, where nodes are: see `onega.kernels.detailed_bits`; nodes that are up.
    "avail_bits later_bits both_bits up_bits",
    # Tables of records, as below.
    "partitions slots links ends queue stack claims changes dips got",
    "work_near time_near work_heap time_heap later_heap sizes",
    "due rates switches attempts log stretch",
    suffix="_at",
)
STATE = np.dtype([*RULES, *COUNTERS, *ADDRESSES], align=True)
state_at = structure("Detailed", STATE)

PARTITION = np.dtype(
    [
        # Nodes, rules; the words of its nodes' bits.
        *[(name, "i8") for name in ("first", "last", "order", "reservations", "placement")],
        *[(name, "i8") for name in ("word", "last_word")],
        ("whole", "i8"),
        # Whether its queue is kept sorted between passes; whether it may have several
        # reservations, or shares resources with other partitions.
        *[(name, "i8") for name in ("sorted", "many")],
        # Its queue's place, who waits there; its stack of idle processors' place and entries.
        *[(name, "i8") for name in ("queue", "waiting", "stack", "entries")],
        # Newcomers since the last pass, and where the last one stands; what the queue lacks until
        # somebody asks, where priorities are multifactor (`onega.kernels.detailed_usage`).
        *[(name, "i8") for name in ("newcomers", "newcomer", "stale")],
        # The first reservation: whether, when on the work clock, where its job stands in the
        # queue, processors; whether it holds until something changes.
        *[(name, "i8") for name in ("reserved", "head", "width", "kept")],
        # Its option, and whether its nodes are known, and the rows of nodes at the shadow.
        *[(name, "i8") for name in ("option", "built")],
        ("shadow", "f8"),
        # Processors beside it at the shadow; how long it lasts. The longest that anybody waiting
        # is expected to take, or more; the fewest processors that anybody waits for, or fewer.
        ("beside", "f8"),
        ("lasting", "f8"),
        ("longest", "f8"),
        ("least", "f8"),
        # Nodes that sleep; how long those take to wake that the reservation will need; when the
        # next one sinks deeper; when all that were woken are awake.
        ("asleep", "i8"),
        ("delay", "f8"),
        ("depths_due", "f8"),
        ("waking", "f8"),
        ("timer", "f8"),
    ],
    align=True,
)
SLOT = np.dtype(
    [
        *[(name, "i8") for name in ("job", "option", "partition", "seq", "link", "spare")],
        ("expected", "f8"),
        ("begun", "f8"),
        ("key", "f8"),
    ],
    align=True,
)
"""A job on processors: its start's number, first link of its allocation, expected end; the clock
when its work began and when it is done."""

LINK = np.dtype([(name, "i8") for name in ("node", "chunks", "next", "spare", "mask")], align=True)
"""Chunks on one node, and the next link of the allocation (−1: none). Where nodes are bits: chunks
on each of the nodes in a mask, and ``node`` is the word where they stand."""

GOT = np.dtype([(name, "i8") for name in ("node", "chunks", "mask")], align=True)
"""A part of a placement: as in a link."""

END = np.dtype([("expected", "f8"), ("amount", "f8"), ("demand", "f8"), ("slot", "i8")], align=True)
"""A running job's expected end, its processors, its part of the only machine-wide resource (if
there is one) and its slot; sorted."""

QUEUED = np.dtype(
    [
        *[("key", "f8"), ("rank", "i8"), ("job", "i8")],
        *[(name, "f8") for name in ("procs", "expect", "demand", "other")],
    ],
    align=True,
)
"""A waiting job: its place by (rank, key, job), the fewest processors, the shortest time and the
least of the last machine-wide resource (power, where there is a cap) that it may take, and of the
first one (a licence) if there are several."""

CLAIM = np.dtype([("begin", "f8"), ("until", "f8"), ("option", "i8")], align=True)
"""A reservation made in this pass, of which other partitions see the machine-wide part."""

CHANGE = np.dtype([("time", "f8"), ("amount", "f8"), ("node", "i8"), ("which", "i8")], align=True)
DIP = np.dtype([("time", "f8"), ("node", "i8"), ("which", "i8")], align=True)
"""What the calendar does later, and where availability shrinks: `onega.kernels.detailed_dips`."""

ACCOUNT = np.dtype([("jobs", "i8"), ("procs", "i8")], align=True)
"""What a limit still allows. The first is account −1, of who has fewer than three: no limits."""

USER = np.dtype(
    [(name, "f8") for name in ("share", "usage", "since", "held", "factor", "factor_at")],
    align=True,
)
"""A user: his share, usage, up to which growth of the unit, processors held since; the fair-share
factor that was computed last, and when (`onega.kernels.detailed_usage`)."""

WORTH = np.dtype(
    [("user", "i8"), *[(name, "f8") for name in ("submitted", "size", "queue", "key")]], align=True
)
"""What a job's multifactor priority is made of: terms of its size and its queue, the last key."""

STACKED = np.dtype([("since", "f8"), ("count", "i8")], align=True)
ATTEMPT = np.dtype(
    [("job", "i8"), ("start", "f8"), ("wake", "f8"), ("begin", "f8"), ("end", "f8")], align=True
)
LOGGED = np.dtype([("time", "f8"), ("event", "i8"), ("job", "i8"), ("node", "i8")], align=True)
STRETCH = np.dtype(
    [
        ("since", "f8"),
        ("until", "f8"),
        *[(name, "i8") for name in ("kind", "count", "depth", "node")],
    ],
    align=True,
)

# Places in ``sizes``: who works and who launches or completes (those near; from FAR on those in
# heaps, see `onega.kernels.detailed_next`), entries of the heap of dependents, of ``ends``.
WORK, TIME, LATER, ENDS, FAR = 0, 1, 2, 3, 4

partitions = viewer("Partition", PARTITION)
slots = viewer("Slot", SLOT)
links = viewer("Link", LINK)
gots = viewer("Got", GOT)
ends = viewer("End", END)
queued = viewer("Queued", QUEUED)
claims = viewer("Claim", CLAIM)
changes = viewer("Change", CHANGE)
dips = viewer("Dip", DIP)
stacked = viewer("Stacked", STACKED)
attempts = viewer("Attempt", ATTEMPT)
logged = viewer("Logged", LOGGED)
stretches = viewer("Stretch", STRETCH)
heap_entries = viewer("Entry", ENTRY)
dues = viewer("Due", DUE)
accounts_left = viewer("Account", ACCOUNT)
users = viewer("User", USER)
worths = viewer("Worth", WORTH)
rate_levels = sized_viewer(LEVEL)
rate_switches = viewer("Switch", SWITCH)


@small
def heap_size(address: int, which: int) -> Ints:
    """View the size of one of the heaps."""
    return ints(address + 8 * which)
