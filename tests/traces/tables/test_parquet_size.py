"""How much a Parquet file holds is known before it is decoded, whatever its footer says."""

from __future__ import annotations

import io
import random

import polars as pl
import pytest

import onega
from onega.core.errors import TraceError
from onega.traces.files import DEFAULT_LIMITS, Limits
from onega.traces.tables.parquet_size import TooMuchError, check_decoded_size

MIB = 1 << 20
LIMITS = Limits(size=200 * MIB, ratio=100, ratio_from=4 * MIB)


def stored(table, **options):
    out = io.BytesIO()
    table.write_parquet(out, **options)
    return out.getvalue()


def ones(count, *names):
    one = pl.select(pl.lit(1.0).repeat_by(count).explode().alias("x"))
    return one.select(pl.col("x").alias(name) for name in names)


BOMBS = {
    "equal numbers": ones(2_000_000, "submit", "runtime", "procs"),
    "one long text": pl.DataFrame({"submit": ["x" * (20 * MIB)]}),
    "one long list": pl.DataFrame({"submit": [[1.0] * 2_000_000]}),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_bomb_is_refused_unread(tmp_path, monkeypatch, what):
    content = stored(BOMBS[what])
    assert len(content) < MIB
    with pytest.raises(TooMuchError, match="grows more than 100 times"):
        check_decoded_size(content, LIMITS)
    with pytest.raises(TooMuchError, match="more than 5,000 bytes"):
        check_decoded_size(content, Limits(size=5000))
    path = tmp_path / "bomb.parquet"
    path.write_bytes(content)
    monkeypatch.setattr(pl, "read_parquet", None)  # isn't called
    with pytest.raises(TraceError, match="grows more than 100 times"):
        onega.read(path, limits=LIMITS)


def test_text_that_is_kept_once_counts_as_often_as_it_stands_there(tmp_path):
    table = pl.DataFrame({"submit": [0.0, 1.0], "runtime": 1.0, "procs": 1, "user": "x" * 100_000})
    path = tmp_path / "x.parquet"
    pl.concat([table] * 500).write_parquet(path)
    with pytest.raises(TraceError, match="bytes of text"):
        onega.read(path, limits=Limits(size=20 * MIB))


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "gzip", "lz4", "zstd", "brotli"])
def test_what_is_written_elsewhere_is_let_through(compression):
    table = pl.DataFrame(
        {
            "number": range(20_000),
            "text": ["a", "b"] * 10_000,
            "nothing": [None] * 20_000,
            "flag": [True] * 20_000,
            "nested": [{"list": [1, 2], "text": "x"}] * 20_000,
        }
    )
    for rows in (None, 100):
        check_decoded_size(stored(table, compression=compression, row_group_size=rows), LIMITS)
    check_decoded_size(stored(table.clear()), LIMITS)


def test_values_are_counted():
    """Two columns of eight bytes a row, and some bytes of levels and dictionaries."""
    content = stored(pl.DataFrame({"a": range(10_000), "b": range(10_000)}))
    check_decoded_size(content, Limits(size=400_000))
    with pytest.raises(TooMuchError):
        check_decoded_size(content, Limits(size=150_000))


def test_a_damaged_file_is_a_line_and_not_a_crash(tmp_path):
    content = stored(pl.DataFrame({"submit": [0.0, 1.0], "runtime": 5.0, "procs": ["1", "2"]}))
    dice = random.Random(1)
    path = tmp_path / "x.parquet"
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(dice.choice((1, 1, 3))):
            damaged[dice.randrange(4, len(damaged) - 4)] = dice.randrange(256)
        path.write_bytes(damaged)
        try:
            check_decoded_size(bytes(damaged), DEFAULT_LIMITS)
        except (ValueError, TooMuchError):
            with pytest.raises(TraceError):
                onega.read(path)


@pytest.mark.parametrize("cut", [b"", b"PAR1", b"PAR1PAR1", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_no_footer(cut):
    with pytest.raises(ValueError, match="footer"):
        check_decoded_size(cut, DEFAULT_LIMITS)
