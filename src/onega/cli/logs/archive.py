"""``onega archive``: the Parallel Workloads Archive's logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from onega.cli.console import emit, emit_table, progress, remark
from onega.cli.options import JsonOption, argument, option

HELP = "Logs of the Parallel Workloads Archive."


def list_logs(*, json: JsonOption = False) -> None:
    """List the logs that can be fetched by name."""
    from onega.traces.archive import BASE_URL, CATALOGUE

    fields = ("name", "url", "machine", "procs", "jobs", "records", "figures")
    logs = [{name: getattr(log, name) for name in fields} for log in CATALOGUE]
    emit({"base_url": BASE_URL, "count": len(logs), "logs": logs}, _screen, json=json)


def _screen(_: object) -> None:
    from onega.traces.archive import CATALOGUE

    emit_table(
        "Parallel Workloads Archive",
        [(x.name, x.machine, x.procs, x.jobs, x.records, x.figures) for x in CATALOGUE],
        ("name", "machine", "procs", "jobs", "in the file", "source"),
    )
    remark("jobs: in the original log, before the archive cleaned it; –: not known here")
    remark("source of the figures: the file's header, the archive's page of the log, or papers")
    remark("fetch one with: onega archive get NAME")


def get(
    name: Annotated[str, argument("NAME", "A log's name, as KTH-SP2.")],
    *,
    base_url: Annotated[
        str | None,
        option("--base-url", "URL", "A mirror laid out like the archive."),
    ] = None,
    cache: Annotated[Path | None, option("--cache", "DIR", "Where to keep it.")] = None,
    json: JsonOption = False,
) -> None:
    """Fetch a log, check it, keep it, and print where it is.

    A download that broke off is continued. A log that is there already is not fetched again.
    """
    from onega.traces.archive import fetch, find

    log = find(name)
    with progress(log.file, total=1.0) as show:
        path = fetch(
            name,
            base_url=base_url,
            cache=cache,
            progress=lambda done, total: show(done / total if total else 0.0),
        )
    numbers = {"name": log.name, "path": str(path), "bytes": path.stat().st_size}
    emit(numbers, lambda made: print(made["path"]), json=json)


COMMANDS = {"list": list_logs, "get": get}
