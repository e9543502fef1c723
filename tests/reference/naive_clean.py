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


def repeated(rows: list[dict]) -> set[int]:
    """Rows that repeat an earlier one; tasks of an array that share an id don't."""
    same_id = {row["job"]: [one for one in rows if one["job"] == row["job"]] for row in rows}
    several = {job for job, them in same_id.items() if any(one != them[0] for one in them)}
    in_a_row = {a["job"] for a, b in pairwise(rows) if a["job"] == b["job"]} if several else set()
    seen, out = set(), set()
    for number, row in enumerate(rows):
        if row["job"] in seen and row["job"] not in several | in_a_row:
            out.add(number)
        seen.add(row["job"])
    return out


def clean(rows: list[dict], procs: int | None) -> list[dict]:
    """All default rules."""
    used, kept = set(), []
    largest = max((row["job"] for row in rows), default=0)
    copies = repeated(rows)
    for number, row in enumerate(rows):
        if number in copies:
            continue
        if row["job"] in used:
            largest += 1
            row = {**row, "job": largest}
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
