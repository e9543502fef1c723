"""From workload, machine and policy to the kernels' arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onega.core.errors import SimulationError
from onega.core.machine.cluster import Cluster, RateControl
from onega.core.policy import TIME_DEPENDENT, Policy, Priority
from onega.core.rng import Rng, generator
from onega.core.types import Floats, Ints, Records
from onega.core.workload.workload import Workload
from onega.kernels.pool import engine, preemptive
from onega.kernels.pool.processors import KEYED_JOB, RUNNING, State
from onega.kernels.pool.records import Columns, fill_records
from onega.kernels.structures.heap import make_heap
from onega.kernels.structures.profile import make_profile
from onega.kernels.structures.sorted_runs import make_runs
from onega.kernels.structures.waiting_line import make_waiting
from onega.simulation.priority import key_code, static_keys

LOG_ROOM = 65_536
"""Room for changes of rate, and for pieces of service, between two portions of a run."""

PREEMPTIVE_ORDERS = {
    "lcfs-pr": engine.NEWEST,
    "spf-pr": engine.SHORTEST_LEFT,
    "lpf-pr": engine.LONGEST_LEFT,
}
BACKFILL_CODES = {
    None: engine.BLOCKING,
    "easy": engine.EASY,
    "conservative": engine.CONSERVATIVE,
    "easy-2018": engine.EASY_2018,
}
CONTROL_CODES = {
    "none": engine.FIXED,
    "random": engine.RANDOM,
    "queue": engine.QUEUE,
    "workload": engine.WORKLOAD,
}
TIES_CODES = {"instant": engine.INSTANT, "event": engine.EVENT}


def check_jobs(workload: Workload, procs: int) -> None:
    """Refuse jobs that can't be simulated, by name."""
    if len(workload) == 0:
        raise SimulationError("the workload has no jobs; nothing to simulate")
    least, widest = workload.cached((_least_and_widest,), lambda: _least_and_widest(workload))
    if least > 0 and widest <= procs:  # not so for NaN
        return
    width, work = workload.column("procs"), workload.column("runtime")
    for wrong, message in (
        (~(work > 0), "run times must be positive; take such jobs out with onega.clean()"),
        (~(width > 0), "widths must be at least 1; take such jobs out with onega.clean()"),
        (width > procs, f"wider than the machine of {procs} processors"),
    ):
        rows = np.flatnonzero(wrong)
        if rows.size:
            raise SimulationError(
                f"{rows.size} of {len(workload)} jobs can't be simulated: {message}",
                jobs=workload.table["job"].gather(rows).to_list(),
            )


def check_estimates(workload: Workload) -> None:
    """Refuse estimates that a rate control can't add up."""
    rows = np.flatnonzero(np.isinf(workload.column("estimate")))
    if rows.size:
        raise SimulationError(
            "rate control by the workload adds estimates up, and "
            f"{rows.size} of {len(workload)} are infinite; leave these out, or take "
            "knowledge='runtime' (--knowledge runtime)",
            jobs=workload.table["job"].gather(rows).to_list(),
        )


def _least_and_widest(workload: Workload) -> tuple[float, float]:
    """Return the least of all run times and widths, and the most of the widths."""
    width, work = workload.column("procs"), workload.column("runtime")
    return float(min(work.min(), width.min())), float(width.max())


def work_to_do(workload: Workload, *, enforce_limits: bool) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return each job's work, and which jobs are ended at their estimates."""
    runtime = workload.column("runtime")
    if not enforce_limits:
        return np.array(runtime), np.zeros(len(workload), dtype=bool)
    estimate = workload.column("estimate")
    limited = (estimate > 0) & (estimate < runtime)
    return np.where(limited, estimate, runtime), limited


def known_work(workload: Workload, work: Floats, policy: Policy) -> Floats:
    """Return what the scheduler knows of each job's work: estimates, else the work itself."""
    if policy.knowledge == "runtime":
        return work
    estimate = workload.column("estimate")
    return np.where(estimate > 0, estimate, work)


def make_columns(
    workload: Workload, work: Floats, policy: Policy, by_arrival: Ints | None
) -> Columns:
    """Bring jobs into the order of arrival: contiguous arrays of what the kernels take."""

    def arranged(values: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
        return np.array(values if by_arrival is None else values[by_arrival], dtype=dtype)

    return Columns(
        arranged(workload.column("submit"), np.float64),
        arranged(work, np.float64),
        arranged(known_work(workload, work, policy), np.float64),
        arranged(workload.column("procs"), np.int64),
    )


class Jobs(NamedTuple):
    """What runs of a workload share; it is never changed.

    ``columns`` by arrival, the rows ``by_arrival`` (None: as they stand); by row, the ``work`` of
    each job and whether it is ended at its estimate (``limited``).
    """

    columns: Columns
    by_arrival: Ints | None
    work: Floats
    limited: npt.NDArray[np.bool_]


def make_jobs(workload: Workload, policy: Policy, *, enforce_limits: bool) -> Jobs:
    """Make what a run needs of a workload, or take what another run of it has made."""

    def make() -> Jobs:
        work, limited = work_to_do(workload, enforce_limits=enforce_limits)
        by_arrival = rows_by_arrival(workload)
        columns = make_columns(workload, work, policy, by_arrival)
        if by_arrival is None:  # one array does for both
            work = columns.work.view()
        return Jobs(columns, by_arrival, work, limited)

    return workload.cached((make_jobs, policy.knowledge, enforce_limits), make)


def rows_by_arrival(workload: Workload) -> Ints | None:
    """Return the rows in the order of submission, as `Workload.sorted`; None if they are so."""
    submit = workload.table["submit"]
    if submit.is_sorted():
        return None
    return np.lexsort((workload.table["job"].to_numpy(), submit.to_numpy()))


def in_rows(values: npt.NDArray[Any], by_arrival: Ints | None) -> npt.NDArray[Any]:
    """Put an array by arrival into the order of the rows; without a copy if it is in it."""
    if by_arrival is None:
        return np.ascontiguousarray(values)
    result = np.empty_like(values)
    result[by_arrival] = values
    return result


def stable_order(values: npt.NDArray[Any]) -> Ints:
    """Return the order of numbers, equal ones as they come: `numpy.argsort`, but quicker.

    As whole numbers with their places below they are sorted without looking anything up; the few
    that lie too close together for that are sorted out afterwards.
    """
    least, most = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if not 1e-200 < most - least < np.inf:  # all the same, or beyond numbers
        return np.argsort(values, kind="stable")
    bits = values.size.bit_length()
    scale = 2.0 ** (62 - bits) / (most - least)
    if values.dtype.kind == "i" and scale >= 1:
        whole = values - np.int64(least)
    else:
        whole = ((values - least) * scale).astype(np.int64)
    order = np.sort((whole << bits) + np.arange(values.size)) & ((1 << bits) - 1)
    found = values[order]
    if np.any(found[1:] < found[:-1]):
        return order[np.argsort(found, kind="stable")]
    return order


def order_code(policy: Policy) -> int:
    """Return which kind of pass an order needs."""
    order = policy.order
    if isinstance(order, Priority):
        return engine.RANKED if order.static else engine.KEYED
    if order in PREEMPTIVE_ORDERS:
        return PREEMPTIVE_ORDERS[order]
    return engine.KEYED if order in TIME_DEPENDENT else engine.RANKED


def make_records(policy: Policy, columns: Columns) -> Records:
    """Make the general loop's records, each job with its place in the policy's fixed order."""
    jobs = np.empty(columns.submit.size, engine.JOB)
    keys = static_keys(policy, columns) if order_code(policy) == engine.RANKED else None
    at_rank = np.arange(jobs.size) if keys is None else np.argsort(keys, kind="stable")
    fill_records(columns, at_rank, jobs)
    return jobs


def make_machine(policy: Policy, cluster: Cluster, jobs: Records, *, ties: str) -> Records:
    """Make the record of rules and counters: the empty machine at the first submission."""
    machine = np.zeros(1, engine.MACHINE)
    control = cluster.rates
    for name, value in (
        ("order", order_code(policy)),
        ("backfill", BACKFILL_CODES[policy.backfill]),
        ("control", CONTROL_CODES[control.kind]),
        ("ties", TIES_CODES[ties]),
        ("key", key_code(policy)),
        ("procs", cluster.procs),
        ("p_low", control.p_low),
        ("p_high", control.p_high),
        ("now", jobs["submit"][0]),
        ("rate", control.rates[0]),
        ("free", cluster.procs),
        ("shadow", -np.inf),
    ):
        machine[name] = value
    return machine


def make_levels(control: RateControl) -> Records:
    """Make the levels of the rate, each with its own way down and up."""
    levels = np.zeros(len(control.rates), engine.LEVEL)
    levels["rate"] = control.rates
    if control.k_low:
        levels["k_low"][1:] = control.k_low
        levels["k_high"][:-1] = control.k_high
    return levels


def make_draws(control: RateControl, jobs: int, rng: Rng) -> Floats:
    """Draw once for each job's arrival and once for its departure: the same for every policy."""
    return generator(rng).random(2 * jobs) if control.kind == "random" else np.empty(0)


def make_state(machine: Records, jobs: Records, levels: Records, draws: Floats) -> State:
    """Make the empty machine of the non-preemptive orders."""
    rules = machine[0]
    most = min(jobs.size, int(rules["procs"]))  # that can run at once
    conservative = rules["backfill"] == engine.CONSERVATIVE
    keyed = jobs.size if rules["order"] == engine.KEYED else 0
    return State(
        machine,
        jobs,
        levels,
        draws,
        np.empty(most + 1, RUNNING),
        make_heap(jobs.size if rules["control"] == engine.WORKLOAD else 0),
        make_runs(most if rules["backfill"] != engine.BLOCKING else 0),
        make_waiting(jobs.size if keyed == 0 else 0, int(rules["procs"])),
        make_profile(jobs.size if conservative else 0),
        np.empty(keyed, KEYED_JOB),
        np.empty(most, RUNNING),
        np.empty(LOG_ROOM, engine.SWITCH),
    )


def make_preemptive_state(
    machine: Records, jobs: Records, levels: Records, draws: Floats
) -> preemptive.State:
    """Make the empty machine of the preemptive orders."""
    most = min(jobs.size, int(machine[0]["procs"]))  # that can run at once
    service = np.zeros(jobs.size, preemptive.SERVICE)
    service["left"] = jobs["work"]
    service["known"] = jobs["expect"]
    service["older"] = service["newer"] = -1
    line = np.zeros(1, preemptive.LINE)
    line["newest"] = line["edge"] = -1
    return preemptive.State(
        machine,
        jobs,
        levels,
        draws,
        service,
        line,
        make_heap(jobs.size),
        make_heap(jobs.size if machine[0]["control"] == engine.WORKLOAD else 0),
        make_heap(jobs.size),
        np.empty(most, engine.DUE),
        np.empty(LOG_ROOM, engine.SWITCH),
        np.empty(LOG_ROOM + most, engine.PIECE),
    )
