"""Bytes in and out: compression found by magic bytes, guarded sizes, whole lines.

Everything that could make a hostile or damaged file expensive is bounded here, in `Limits`:
how much a compressed file may grow, by which factor, and how long one line may be.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, cast

import numpy as np

from onega.core.errors import FileError, TraceError
from onega.core.files import StrPath, atomic_writer
from onega.traces.notes import Notes

BLOCK: Final = 1 << 22
"""Bytes that are handled at a time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a file may ask of the machine that reads it.

    Attributes
    ----------
    size
        Bytes of text (after decompression) at most.
    ratio
        Bytes of text per compressed byte at most; looked at once a file has grown past
        ``ratio_from`` bytes. Logs shrink 5 to 30 times.
    ratio_from
        Bytes of text below which no ratio is suspicious.
    line
        Bytes of one line at most.
    """

    size: int = 64 << 30
    ratio: float = 400.0
    ratio_from: int = 256 << 20
    line: int = 4 << 20


DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Compression:
    """One compressed format: how it is recognised, undone and done."""

    name: str
    suffix: str
    magic: bytes
    new: Callable[[], Any]
    piece: int
    open_writer: Callable[[IO[bytes]], IO[bytes]]


def _zstd_decompressor() -> Any:  # noqa: ANN401
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


def _zstd_writer(raw: IO[bytes]) -> IO[bytes]:
    import zstandard

    return zstandard.ZstdCompressor().stream_writer(raw, closefd=False)


def _xz_writer(raw: IO[bytes]) -> IO[bytes]:
    return lzma.LZMAFile(raw, "wb")


def _gzip_writer(raw: IO[bytes]) -> IO[bytes]:
    import gzip

    # No time stamp and no name: the same workload gives the same bytes.
    writer = gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0)
    return cast(IO[bytes], writer)


COMPRESSIONS: Final = (
    Compression("gzip", ".gz", b"\x1f\x8b", lambda: zlib.decompressobj(31), 1 << 14, _gzip_writer),
    Compression("xz", ".xz", b"\xfd7zXZ\x00", lzma.LZMADecompressor, 1 << 12, _xz_writer),
    Compression("bzip2", ".bz2", b"BZh", bz2.BZ2Decompressor, 256, lambda f: bz2.BZ2File(f, "wb")),
    # A zstd block of four bytes can hold 128 KiB: small pieces keep one step's output small.
    Compression("zstd", ".zst", b"\x28\xb5\x2f\xfd", _zstd_decompressor, 1 << 10, _zstd_writer),
)

_TO_UTF8: Final = "logs are read in UTF-8: iconv -f UTF-16 -t UTF-8 LOG > NEW makes one of it"

_FOREIGN: Final = {
    b"PK\x03\x04": "a zip archive: unpack it and give the log inside",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive: unpack it and give the log inside",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
    b"\x7fELF": "a program",
    b"SQLite format 3\x00": "an SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"\xff\xfe": f"a text in UTF-16; {_TO_UTF8}",
    b"\xfe\xff": f"a text in UTF-16; {_TO_UTF8}",
}


def compression_of_name(path: StrPath) -> Compression | None:
    """Return the compression that a file name's last suffix asks for."""
    suffix = Path(path).suffix.lower()
    return next((c for c in COMPRESSIONS if c.suffix == suffix), None)


def _opened(path: Path) -> IO[bytes]:
    """Open for reading; a missing file, a directory or a refusal is one clear line."""
    try:
        if path.is_dir():
            raise TraceError("is a directory; give one log file", path=path)
        return path.open("rb")
    except FileNotFoundError:
        raise TraceError("no such file", path=path) from None
    except PermissionError:
        raise TraceError("can't be read: permission denied", path=path) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise TraceError(f"can't be read: {_reason(error)}", path=path) from None


def _reason(error: Exception) -> str:
    return str((error.strerror if isinstance(error, OSError) else None) or error)


def blocks(path: StrPath, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    """Yield a file's content, decompressed if need be, in pieces of some megabytes.

    Raises
    ------
    TraceError
        If the file can't be opened, its compressed data are damaged or cut short, or it grows
        past ``limits``.
    """
    path = Path(path)
    with _opened(path) as raw:
        raw_pieces = _raw_pieces(raw, path)
        first = next(raw_pieces, b"")
        raw_pieces = chain((first,), raw_pieces)
        compression = next((c for c in COMPRESSIONS if first.startswith(c.magic)), None)
        if compression is None:
            yield from _bounded(raw_pieces, limits, path)
        else:
            yield from _bounded(_decompressed(raw_pieces, compression, limits, path), limits, path)


def _raw_pieces(raw: IO[bytes], path: Path) -> Iterator[bytes]:
    while True:
        try:
            piece = raw.read(BLOCK)
        except OSError as error:
            raise TraceError(f"can't be read: {_reason(error)}", path=path) from None
        if not piece:
            return
        yield piece


def _bounded(pieces: Iterator[bytes], limits: Limits, path: Path) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > limits.size:
            raise TraceError(
                f"holds more than {limits.size:,} bytes of text, the limit in force", path=path
            )
        yield piece


def _decompressed(
    pieces: Iterator[bytes], compression: Compression, limits: Limits, path: Path
) -> Iterator[bytes]:
    """Undo a compression, member after member, gathering the output into blocks."""
    state = compression.new()
    consumed = produced = 0
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        for begin in range(0, len(piece), compression.piece):
            feed = piece[begin : begin + compression.piece]
            consumed += len(feed)
            state, text = _step(state, feed, compression, path)
            produced += len(text)
            size += len(text)
            gathered.append(text)
            _check_ratio(produced, consumed, limits, path)
            if size >= BLOCK:
                yield b"".join(gathered)
                gathered, size = [], 0
    if not state.eof:
        raise TraceError(
            f"the {compression.name} data end too early: the file is cut short", path=path
        )
    if size:
        yield b"".join(gathered)


def _step(
    state: Any,  # noqa: ANN401
    feed: bytes,
    compression: Compression,
    path: Path,
) -> tuple[Any, bytes]:
    """Feed some bytes; begin a new member where one ends. Zero padding at the end is allowed."""
    texts = []
    try:
        while feed:
            if state.eof:
                feed = feed.lstrip(b"\0")
                if not feed:
                    break
                state = compression.new()
            texts.append(state.decompress(feed))
            feed = state.unused_data
    except (zlib.error, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        raise TraceError(f"damaged {compression.name} data ({error})", path=path) from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":
            raise TraceError(f"damaged {compression.name} data ({error})", path=path) from None
        raise
    return state, b"".join(texts)


def _check_ratio(produced: int, consumed: int, limits: Limits, path: Path) -> None:
    if produced > limits.ratio_from and produced > limits.ratio * consumed:
        raise TraceError(
            f"grows more than {limits.ratio:g} times when decompressed, which no log does; "
            "raise the limit if it is one",
            path=path,
        )


def count_lines(block: bytes) -> int:
    """Count newlines; several times as fast as ``bytes.count`` where they are frequent."""
    return int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == 10))


def line_blocks(path: StrPath, limits: Limits = DEFAULT_LIMITS) -> Iterator[bytes]:
    r"""Yield a file's content in blocks that end where a line ends.

    The last block may lack its newline. A UTF-8 byte order mark is taken off. Lines that are
    longer than ``limits.line`` are refused before they fill the memory.
    """
    carried: list[bytes] = []
    carried_size = 0
    lines = 0
    first = True
    for block in blocks(path, limits):
        if first:
            block = block.removeprefix(b"\xef\xbb\xbf")
            first = False
        cut = block.rfind(b"\n") + 1
        if cut == 0:
            carried.append(block)
            carried_size += len(block)
        else:
            whole = b"".join([*carried, memoryview(block)[:cut]])
            carried, carried_size = [block[cut:]], len(block) - cut
            lines += count_lines(whole)
            yield whole
        if carried_size > limits.line:
            raise TraceError(
                f"a line of more than {limits.line:,} bytes; this is no job log",
                path=path,
                line=lines + 1,
            )
    if carried_size:
        yield b"".join(carried)


def text_lines(
    path: StrPath, notes: Notes, limits: Limits = DEFAULT_LIMITS
) -> Iterator[tuple[int, str]]:
    """Yield the lines that aren't blank, each with its number."""
    number = 0
    for block in line_blocks(path, limits):
        for line in notes.text(block).removesuffix("\n").split("\n"):
            number += 1
            if line.strip():
                yield number, line


def sample(path: StrPath, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return the first block of a file's text, to find out what it is.

    Raises
    ------
    TraceError
        Also if the file is empty, or of a kind that is certainly no log.
    """
    stream = blocks(path, limits)
    try:
        start = next((block for block in stream if block), b"")
    finally:
        stream.close()  # type: ignore[attr-defined]
    if not start.strip():
        raise TraceError("is empty; at least one line is needed", path=path)
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise TraceError(f"is {what}", path=path)
    return start.removeprefix(b"\xef\xbb\xbf")


@contextlib.contextmanager
def seekable(path: StrPath, limits: Limits = DEFAULT_LIMITS) -> Iterator[Path]:
    """Give a path that can be opened more than once: a pipe's content goes to a temporary file."""
    given = Path(path)
    try:
        piped = given.exists() and not (given.is_file() or given.is_dir())
    except (OSError, ValueError):
        piped = False
    if not piped:
        yield given
        return
    with tempfile.NamedTemporaryFile(prefix="onega-") as copy:
        for block in blocks(given, limits):
            copy.write(block)
        copy.flush()
        yield Path(copy.name)


def whole(path: StrPath, limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return all of a file's content, decompressed if need be."""
    return b"".join(blocks(path, limits))


@contextlib.contextmanager
def log_writer(path: StrPath) -> Iterator[IO[bytes]]:
    """Open a log for writing, there whole or not at all, as `onega.core.files.atomic_writer`.

    Compressed if the name ends in ``.gz``, ``.xz``, ``.bz2`` or ``.zst``.
    """
    compression = compression_of_name(path)
    try:
        with atomic_writer(path) as raw:
            if compression is None:
                yield raw
            else:
                with contextlib.closing(compression.open_writer(raw)) as writer:
                    yield writer
    except FileError as error:
        raise TraceError(error.message, path=path) from None
