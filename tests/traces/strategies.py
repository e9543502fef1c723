"""Workloads and pieces of logs for hypothesis."""

import numpy as np
import polars as pl
from hypothesis import strategies as st

from onega import Meta, Workload
from onega.core.workload.schema import JOB_TABLE, STATUSES

seconds = st.one_of(
    st.integers(0, 10**6).map(float),
    st.floats(0, 1e12, allow_nan=False),
    st.floats(0, 1e-5, allow_nan=False),
)
# Bytes in the table, 1024 of them in the file: exact but for numbers near the smallest float.
memory = st.one_of(
    st.integers(0, 2**40).map(float),
    st.floats(0, 1e18).filter(lambda v: v == 0 or v > 1e-290),
)
widths = st.one_of(st.integers(0, 300), st.integers(0, 10**12))
ids = st.one_of(st.integers(0, 50), st.integers(0, 2**31 - 1))
long_ids = st.one_of(st.integers(0, 10**6), st.integers(0, 2**63 - 1))

_VALUES = {
    "submit": seconds,
    "runtime": st.none() | seconds,
    "procs": st.none() | widths,
    "estimate": st.none() | seconds,
    "wait": st.none() | seconds,
    "user": st.none() | ids,
    "group": st.none() | ids,
    "app": st.none() | ids,
    "queue": st.none() | ids,
    "partition": st.none() | ids,
    "status": st.none() | st.sampled_from(STATUSES),
    "memory": st.none() | memory,
    "cpu_time": st.none() | seconds,
    "requested_procs": st.none() | widths,
    "requested_memory": st.none() | memory,
    "after": st.none() | long_ids,
    "think": st.none() | seconds,
}

names = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=12)
labels = st.dictionaries(
    st.sampled_from(["user", "group", "app", "queue", "partition"]),
    st.dictionaries(st.integers(0, 10**8), names, min_size=1, max_size=4),
    max_size=3,
)
metas = st.builds(
    Meta,
    epoch=st.none() | st.integers(0, 2**33).map(float) | st.floats(0, 1e11),
    timezone=st.none() | st.sampled_from(["Europe/Stockholm", "US/Pacific", "UTC"]),
    utc_offset=st.none() | st.sampled_from([-28800.0, 0.0, 3600.0, 20700.0]),
    procs=st.integers(1, 2**31 - 1),
    nodes=st.none() | st.integers(1, 2**31 - 1),
    header=st.lists(
        st.sampled_from([" Version: 2.2", " Note: hello", "", " MaxProcs: 3", " Queue: 1 old"]),
        max_size=4,
    ).map(tuple),
    labels=labels,
)


@st.composite
def workloads(draw, min_size=1, max_size=8):
    n = draw(st.integers(min_size, max_size))
    columns = {"job": draw(st.lists(long_ids, min_size=n, max_size=n, unique=True))}
    for name, values in _VALUES.items():
        if name != "submit" and draw(st.booleans()):
            continue
        columns[name] = draw(st.lists(values, min_size=n, max_size=n))
    for name in ("runtime", "procs"):
        columns.setdefault(name, [None] * n)
    # A width that isn't known while the request is can't be said in SWF.
    asked = columns.get("requested_procs", [None] * n)
    columns["procs"] = [a if p is None else p for p, a in zip(columns["procs"], asked)]
    frame = pl.DataFrame(columns, schema={name: JOB_TABLE[name] for name in columns})
    return Workload(frame, draw(metas))


def identical(a: Workload, b: Workload) -> bool:
    """Equal tables to the last bit of every float, and equal facts."""
    if a != b:
        return False
    for name, dtype in JOB_TABLE.items():
        if dtype == pl.Float64:
            left, right = (w.table[name].fill_null(-1.0).to_numpy() for w in (a, b))
            if not np.array_equal(left.view(np.int64), right.view(np.int64)):
                return False
    return True
