"""SWF the obvious way: split, float, −1 is None."""

COLUMNS = (
    *("job", "submit", "wait", "runtime", "procs", "cpu_time", "memory", "requested_procs"),
    *("estimate", "requested_memory", "status", "user", "group", "app", "queue", "partition"),
    *("after", "think"),
)
WHOLE = {
    *("job", "procs", "requested_procs", "status", "user", "group", "app", "queue", "partition"),
    "after",
}
STATES = ("failed", "completed", "partial", "partial_completed", "partial_failed", "cancelled")


def read(text: str) -> list[dict]:
    rows = []
    for line in text.split("\n"):
        words = line.partition(";")[0].split()
        if not words:
            continue
        row = dict.fromkeys(COLUMNS)
        for name, word in zip(COLUMNS, words):
            value = int(word) if name in WHOLE and word.lstrip("+-").isdigit() else float(word)
            if value >= 0:
                row[name] = int(value) if name in WHOLE else value
        for name in ("memory", "requested_memory"):
            if row[name] is not None:
                row[name] *= 1024
        if row["procs"] is None:
            row["procs"] = row["requested_procs"]
        if row["status"] is not None:
            row["status"] = STATES[row["status"]] if row["status"] < 6 else None
        if row["submit"] is not None:
            rows.append(row)
    return rows
