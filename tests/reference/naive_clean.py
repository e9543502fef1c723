"""Cleaning the obvious way, row by row."""

from itertools import pairwise


def flooded(rows: list[dict], jobs: int, window: float) -> set[int]:
    """Rows in some window [t, t + window) of one user's that holds at least ``jobs`` of them."""
    out = set()
    for first in rows:
        if first["user"] is None:
            continue
        inside = [
            j
            for j, row in enumerate(rows)
            if row["user"] == first["user"] and 0 <= row["submit"] - first["submit"] < window
        ]
        if len(inside) >= jobs:
            out |= set(inside)
    return out


def clean(rows: list[dict], procs: int | None) -> list[dict]:
    """All default rules."""
    seen, used, kept = [], set(), []
    largest = max((row["job"] for row in rows), default=0)
    for row in rows:
        if row["job"] in used:
            if row in seen:
                continue
            seen.append(row)
            largest += 1
            row = {**row, "job": largest}
        else:
            seen.append(row)
        used.add(row["job"])
        kept.append(row)
    kept = [
        row
        for row in kept
        if (row["runtime"] or 0) > 0
        and (row["procs"] or 0) > 0
        and (procs is None or row["procs"] <= procs)
    ]
    in_order = all(a["submit"] <= b["submit"] for a, b in pairwise(kept))
    return kept if in_order else sorted(kept, key=lambda row: (row["submit"], row["job"]))
