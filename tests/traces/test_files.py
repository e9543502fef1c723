"""Compression, limits, whole lines, atomic writing."""

import bz2
import gzip
import lzma
import os
import stat

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from onega import TraceError
from onega.traces import files
from onega.traces.files import Limits, blocks, line_blocks, log_writer, sample, whole

PACK = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.fixture(params=PACK)
def pack(request):
    return PACK[request.param]


def test_found_by_content_not_name(tmp_path, pack):
    path = tmp_path / "plain.txt"
    path.write_bytes(pack(b"hello\nworld\n"))
    assert whole(path) == b"hello\nworld\n"


def test_members_one_after_another(tmp_path, pack):
    path = tmp_path / "a"
    path.write_bytes(pack(b"one\n") + pack(b"two\n") + pack(b""))
    assert whole(path) == b"one\ntwo\n"


def test_many_blocks(tmp_path, pack, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 50_000)
    data = os.urandom(30_000) * 20
    path = tmp_path / "a"
    path.write_bytes(pack(data))
    assert whole(path) == data


def test_cut_short(tmp_path, pack):
    packed = pack(os.urandom(5000))
    for size in (len(packed) - 1, len(packed) // 2, 8):
        path = tmp_path / "a"
        path.write_bytes(packed[:size])
        with pytest.raises(TraceError, match=r"a: .*(cut short|damaged)"):
            whole(path)


def test_damaged(tmp_path, pack):
    packed = bytearray(pack(os.urandom(5000)))
    packed[len(packed) // 2] ^= 0x55
    path = tmp_path / "a"
    path.write_bytes(packed)
    if pack is PACK[".zst"]:
        return  # carries no checksum by default: what can't be seen can't be said
    with pytest.raises(TraceError, match=r"damaged|cut short"):
        whole(path)


def test_rubbish_behind_the_data(tmp_path, pack):
    path = tmp_path / "a"
    path.write_bytes(pack(b"x") + b"rubbish")
    with pytest.raises(TraceError, match="damaged"):
        whole(path)
    path.write_bytes(pack(b"x") + bytes(512))
    assert whole(path) == b"x"


def test_bombs_are_stopped(tmp_path, pack):
    path = tmp_path / "bomb"
    path.write_bytes(pack(bytes(30_000_000)))
    seen = []
    with pytest.raises(TraceError, match="50 times"):
        seen.extend(map(len, blocks(path, Limits(ratio=50, ratio_from=1_000_000))))
    assert sum(seen) < 30_000_000
    with pytest.raises(TraceError, match="1,000,000 bytes"):
        whole(path, Limits(size=1_000_000))


@given(st.binary(max_size=400), st.integers(1, 60))
def test_line_blocks_lose_nothing(tmp_path_factory, data, size):
    path = tmp_path_factory.mktemp("b") / "a"
    path.write_bytes(b"x" + data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", size)
        parts = list(line_blocks(path))
    assert b"".join(parts) == b"x" + data
    assert all(part.endswith(b"\n") for part in parts[:-1])


def test_long_line_is_refused_early(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 1000)
    path = tmp_path / "a"
    path.write_bytes(b"short\n" * 3 + b"9" * 50_000 + b"\nshort\n")
    with pytest.raises(TraceError, match=r"line 4: a line of more than 5,000 bytes"):
        list(line_blocks(path, Limits(line=5000)))


def test_byte_order_mark_is_taken_off(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfabc\n")
    assert list(line_blocks(path)) == [b"abc\n"]
    assert sample(path) == b"abc\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"PK\x03\x04...", "zip archive"),
        (b"SQLite format 3\x00...", "SQLite"),
        (gzip.compress(b"", mtime=0), "is empty"),
    ],
)
def test_not_a_log(tmp_path, content, message):
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        sample(path)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(TraceError, match="no such file"):
        whole(tmp_path / "nope")
    with pytest.raises(TraceError, match="is a directory"):
        whole(tmp_path)
    with pytest.raises(TraceError, match="can't be read"):
        whole("a\0b")


@pytest.mark.parametrize("suffix", ["", *PACK])
def test_written_whole(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with log_writer(path) as out:
        out.write(b"hello")
        assert not path.exists()
    assert whole(path) == b"hello"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(b"before")

    def fails():
        with log_writer(path) as out:
            out.write(b"half")
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        fails()
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["a.gz"]


def test_what_cannot_be_written(tmp_path):
    for path, message in ((tmp_path, "directory"), (tmp_path / "no" / "a", "can't be written")):
        with pytest.raises(TraceError, match=message), log_writer(path):
            pass


def test_a_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # or opening it for writing would wait
    try:
        with log_writer(pipe) as out:
            out.write(b"x")
        assert os.read(end, 10) == b"x"
    finally:
        os.close(end)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with log_writer(tmp_path / "link") as out:
        out.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_read_once(tmp_path):
    import threading

    import onega

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for text, jobs in (("1 0 0 5 4\n2 3 0 5 4\n", 2), ("1 0 0 x 4\n", None)):
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        if jobs:
            log = onega.read(pipe)
            assert (len(log), log.meta.source) == (jobs, str(pipe))
        else:
            with pytest.raises(TraceError, match=rf"{pipe}, line 1, field runtime"):
                onega.read(pipe)
        writer.join()
