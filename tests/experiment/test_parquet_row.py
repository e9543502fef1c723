"""Files of one row, read back by Polars."""

from __future__ import annotations

import io

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from onega.experiment.parquet_row import Column, parquet_row

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
columns = st.one_of(
    st.builds(lambda value: Column(value, text=False), st.none() | st.floats(allow_nan=False)),
    st.builds(lambda value: Column(value, text=True), st.none() | texts),
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abcdefgh_é()>", min_size=1, max_size=40), columns, min_size=1))
def test_what_is_written_is_read(row):
    found = pl.read_parquet(io.BytesIO(parquet_row(row)))
    assert found.height == 1
    assert dict(found.schema) == {
        name: pl.String if column.text else pl.Float64 for name, column in row.items()
    }
    assert found.row(0) == tuple(column.value for column in row.values())


def test_many_columns_and_long_texts():
    """Numbers of columns and sizes that take more than one byte, and beyond 16 bits."""
    row = {f"column_{i}": Column(i / 7, text=False) for i in range(300)}
    row["long"] = Column("ä" * 50_000, text=True)
    row["after"] = Column(1.0, text=False)
    found = pl.read_parquet(io.BytesIO(parquet_row(row)))
    assert found.row(0) == tuple(column.value for column in row.values())


def test_nan_and_infinity_stay_what_they_are():
    row = {name: Column(float(name), text=False) for name in ("nan", "inf", "-inf")}
    found = pl.read_parquet(io.BytesIO(parquet_row(row)))
    assert found["nan"].is_nan().all()
    assert (found["inf"][0], found["-inf"][0]) == (float("inf"), float("-inf"))


def test_files_are_scanned_together_whatever_columns_they_have(tmp_path):
    (tmp_path / "a.parquet").write_bytes(parquet_row({"x": Column(1.0, text=False)}))
    with_text = {"x": Column(None, text=False), "error": Column("no", text=True)}
    (tmp_path / "b.parquet").write_bytes(parquet_row(with_text))
    schema = {"x": pl.Float64, "error": pl.String}
    paths = sorted(tmp_path.iterdir())
    found = pl.scan_parquet(paths, schema=schema, missing_columns="insert").collect()
    assert found.rows() == [(1.0, None), (None, "no")]
