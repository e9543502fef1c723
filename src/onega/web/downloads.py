"""Files to take away, in pieces: what an answer holds in memory doesn't grow with the log."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, cast

import anyio
import polars as pl
from fastapi import Response
from fastapi.responses import FileResponse, StreamingResponse

from onega.core.workload.workload import Workload
from onega.web.job_broker import JobBroker
from onega.web.schemas import TableFormat

ROWS: Final = 16_384
"""Rows of a table that are written at a time."""
PIECE: Final = 1 << 18
"""Bytes of a file that are sent at a time."""
IN_MEMORY: Final = 1 << 20
"""Bytes of a written log up to which it isn't put on disk."""


def attachment(name: str) -> dict[str, str]:
    """Return the header that makes a browser save an answer."""
    return {"content-disposition": f'attachment; filename="{name}"'}


def table(path: Path, name: str, format: TableFormat) -> Response:
    """Answer with a Parquet file's table: as it is, or as CSV."""
    if format == "parquet":
        return FileResponse(path, filename=name)
    return StreamingResponse(_csv(path), media_type="text/csv", headers=attachment(name))


def _csv(path: Path) -> Iterator[bytes]:
    lazy = pl.scan_parquet(path)
    rows = lazy.select(pl.len()).collect().item()
    for begin in range(0, max(rows, 1), ROWS):
        piece = lazy.slice(begin, ROWS).collect()
        yield piece.write_csv(include_header=begin == 0).encode()


async def swf(make: Callable[[], Workload], name: str, broker: JobBroker) -> Response:
    """Answer with a workload in SWF, by way of a file that has no name."""
    folder = broker.settings.state
    written = await anyio.to_thread.run_sync(_swf, make, folder, limiter=broker.writing_out)
    return StreamingResponse(_pieces(written), media_type="text/plain", headers=attachment(name))


def _swf(make: Callable[[], Workload], folder: Path) -> IO[bytes]:
    from onega.traces.swf.writer import write_swf

    file = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=str(folder))  # noqa: SIM115
    out = cast(IO[bytes], file)
    try:
        write_swf(make(), out)
    except BaseException:
        out.close()
        raise
    out.seek(0)
    return out


def _pieces(written: IO[bytes]) -> Iterator[bytes]:
    with written:
        while piece := written.read(PIECE):
            yield piece
