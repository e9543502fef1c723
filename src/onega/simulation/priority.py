"""Keys of the orders: arrays for fixed ones, a compiled pointer for a user's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from onega.core.errors import SimulationError
from onega.core.policy import Policy, Priority
from onega.kernels.jit import NO_FUNCTION, key_function
from onega.kernels.pool.keyed import EXPANSION, OWN, UNICEF, WFP3, evaluate_once
from onega.kernels.pool.records import Columns

__all__ = ["NO_FUNCTION", "compile_priority", "explain_bad_key", "key_code", "static_keys"]

KEY_CODES = {"xf": EXPANSION, "wfp3": WFP3, "unicef": UNICEF}


@lru_cache(maxsize=64)
def compile_priority(priority: Priority) -> Any:  # noqa: ANN401
    """Compile a user's function to a pointer of one fixed signature; what it raises becomes NaN."""
    try:
        return key_function(priority.function)
    except Exception as error:  # numba raises its own errors, and others from deep inside
        reason = " ".join(str(error).split())[:300]
        raise SimulationError(
            f"the priority function {priority.name!r} can't be compiled: {reason}; "
            "use arithmetic, math functions and comparisons of numbers only"
        ) from None


def explain_bad_key(priority: Priority, now: float, jobs: Columns, job: int) -> str:
    """Say what a user's function did for the job at fault: what it raised, or NaN."""
    arguments = (now, *(float(column[job]) for column in (jobs.submit, jobs.expect, jobs.procs)))
    shown = "now={:g}, submit={:g}, estimate={:g}, procs={:g}".format(*arguments)
    try:
        value = priority.function(*arguments)
    except Exception as error:
        return f"the priority function {priority.name!r} raised {error!r} at {shown}"
    return f"the priority function {priority.name!r} returned {value} at {shown}"


def static_keys(policy: Policy, jobs: Columns) -> npt.NDArray[np.float64] | None:
    """Return the keys of an order that doesn't depend on the time; None if it does.

    F1–F4 (Carastan-Santos, de Camargo 2017) take the submission s as the log has it, at least 1 s.
    """
    order = policy.order
    if isinstance(order, Priority):
        return _own_keys(order, jobs) if order.static else None
    expect, procs = jobs.expect, jobs.procs

    def submitted() -> npt.NDArray[np.float64]:
        return np.log10(np.maximum(jobs.submit, 1.0))

    keys: dict[str, Callable[[], npt.NDArray[np.float64]]] = {
        "lcfs": lambda: -np.arange(expect.size, dtype=np.float64),
        "spf": lambda: expect,
        "lpf": lambda: -expect,
        "saf": lambda: expect * procs,
        "f1": lambda: np.log10(expect) * procs + 8.70e2 * submitted(),
        "f2": lambda: np.sqrt(expect) * procs + 2.56e4 * submitted(),
        "f3": lambda: expect * procs + 6.86e6 * submitted(),
        "f4": lambda: expect * np.sqrt(procs) + 5.30e5 * submitted(),
    }
    return keys[order]() if isinstance(order, str) and order in keys else None


def _own_keys(priority: Priority, jobs: Columns) -> npt.NDArray[np.float64]:
    keys = np.empty(jobs.submit.size)
    evaluate_once(jobs.submit, jobs.expect, jobs.procs, compile_priority(priority), keys)
    bad = np.flatnonzero(np.isnan(keys))
    if bad.size:
        job = int(bad[0])
        raise SimulationError(explain_bad_key(priority, float(jobs.submit[job]), jobs, job))
    return keys


def key_code(policy: Policy) -> int:
    """Return the number of a time-dependent order's key."""
    return KEY_CODES.get(policy.order, EXPANSION) if isinstance(policy.order, str) else OWN
