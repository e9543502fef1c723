"""The files of ``onega simulate --out``: all of them whole, or none."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from onega.core.json_safe import json_safe

if TYPE_CHECKING:
    from onega.core.schedule.schedule import Schedule

FORMATS: Final = ("csv", "parquet", "batsim")

BATSIM_JOBS: Final = "out_jobs.csv"
"""What Batsim calls its table of jobs, unless it is told otherwise."""

Save = Callable[["Schedule", Mapping[str, Any]], None]


@contextlib.contextmanager
def result_files(folder: Path, names: Sequence[str]) -> Iterator[Save]:
    """Open the files of a run (``jobs.csv``, ``summary.json``, …); yield what fills them.

    They are opened before the simulation, so that a folder that can't be written is found out at
    once, beside their places; they appear under their names, replacing older ones, only when all
    are complete. A folder made for them goes away again if nothing came of it.
    """
    from onega.core.files import atomic_writers, write_table_into
    from onega.traces.batsim.jobs import batsim_jobs

    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_writers(*(folder / name for name in names)) as files:
            opened = dict(zip(names, files, strict=True))

            def save(schedule: Schedule, numbers: Mapping[str, Any]) -> None:
                for name, out in opened.items():
                    what, _, format = name.partition(".")
                    if what == "summary":
                        text = json.dumps(json_safe(numbers), ensure_ascii=False, indent=2)
                        out.write(f"{text}\n".encode())
                    elif name == BATSIM_JOBS:
                        write_table_into(out, batsim_jobs(schedule), format)
                    else:
                        write_table_into(out, getattr(schedule, what), format)

            yield save
    except BaseException:
        for one in made:
            with contextlib.suppress(OSError):
                one.rmdir()
        raise
