"""A process that does one task after another, within its memory: ``python -m onega.web.worker``.

Tasks come as lines of JSON on standard input: ``{"task", "folder", "request", "limits"}``. Lines on
standard output say ``{"progress", "stage"}``, and at the end ``{"result"}`` or ``{"error"}``. A
process that dies says nothing more: whoever started it tells the reader.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import IO, Any

from onega.core.errors import OnegaError, TraceError
from onega.core.plain import plain

POLITE = 5
"""How far behind the page's own process a worker stands when both want the processor."""

QUIET = 0.1
"""Seconds between two words about progress."""


def main() -> None:
    """Do tasks until standard input ends."""
    speaking = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not get between our lines
    _limit_memory(int(sys.argv[1]))
    if hasattr(os, "nice"):
        os.nice(POLITE)  # whoever looks at the page goes before who computes
    for line in sys.stdin:
        order = json.loads(line)
        _say(speaking, _answer(order, speaking))


def _answer(order: dict[str, Any], speaking: IO[str]) -> dict[str, Any]:
    from onega.web import tasks

    said = 0.0

    def tell(progress: float, stage: str | None = None) -> None:
        nonlocal said
        now = time.monotonic()
        if stage is not None or now - said >= QUIET:
            said = now
            _say(speaking, {"progress": progress, "stage": stage})

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = tasks.TASKS[order["task"]](Path(order["folder"]), order["request"], tell)
    except TraceError as error:
        name = str(order["request"].get("name", "the log"))
        return {
            "error": str(TraceError(error.message, path=name, line=error.line, field=error.field))
        }
    except (OnegaError, ValueError) as error:
        return {"error": " ".join(str(error).split())}
    except MemoryError:
        return {"error": "not enough memory for this task within the page's limit"}
    except OSError as error:
        return {"error": f"can't read or write: {error.strerror or error}"}
    except Exception as error:
        # A mistake of ours: the reader learns that it is one, the log on stderr where.
        import traceback

        traceback.print_exc()
        return {"error": f"an error inside Onega ({type(error).__name__}); please report it"}
    return {"result": plain(result)}


def _say(speaking: IO[str], words: dict[str, Any]) -> None:
    print(json.dumps(words), file=speaking, flush=True)


def _limit_memory(size: int) -> None:
    """Bound this process's data, where the system can.

    Data, not address space: threads and compilers reserve far more addresses than they use.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        bound = size if most == resource.RLIM_INFINITY else min(size, most)
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))


if __name__ == "__main__":
    main()
