"""The store of a sweep: damage, full disks, folders of earlier versions, other file systems."""

from __future__ import annotations

import contextlib
import json
import pickle
import random
import shutil
import sqlite3
import warnings

import polars as pl
import pytest

import onega
from experiment.sweeps import same, small_log
from full_disk import full_disk, tiny_disk
from onega.core.errors import ExperimentError, FileError, OnegaWarning
from onega.experiment.sweep import database
from onega.experiment.sweep.database import Database, Row, rebuild, rows
from onega.experiment.sweep.prepare import prepare
from onega.experiment.sweep.store import Store, stored_keys, stored_rows

GRID = {"vary": {"policy": ["fcfs", "easy", "spf+easy"], "procs": [8, 16, 20]}}
FILES = ["lock", "runs.sqlite", "sweep.json"]


@pytest.fixture(scope="module", name="log")
def _log():
    return small_log()


@pytest.fixture(scope="module", name="done")
def _done(log, tmp_path_factory):
    """A sweep that nothing disturbed."""
    return onega.sweep(GRID, tmp_path_factory.mktemp("done") / "out", workload=log)


@pytest.fixture(name="copy")
def _copy(done, tmp_path):
    return shutil.copytree(done.folder, tmp_path / "out")


def again(log, folder):
    """Sweep once more; return the table and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = onega.sweep(GRID, folder, workload=log)
    assert found.problems == ()
    return found.to_polars(), [str(one.message) for one in said]


def change(path, place, value=None):
    """Change one byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] = content[place] ^ 1 if value is None else value
    path.write_bytes(content)


def test_a_changed_digit_is_found_named_and_made_again(copy, log, done):
    path = copy / "runs.sqlite"
    place = path.read_bytes().index(b'"mean_wait":') + len(b'"mean_wait":')
    change(path, place)
    half = onega.Sweep.load(copy)
    assert half.summary()["damaged"] == half.summary()["missing"] == 1
    (lost,) = set(range(9)) - set(half.to_polars()["run"])
    table, said = again(log, copy)
    assert said == [f"{copy}: 1 stored run is damaged (run {lost}) and made again"]
    assert same(table, done.to_polars())
    assert again(log, copy)[1] == []
    assert sorted(one.name for one in copy.iterdir()) == FILES


@pytest.mark.parametrize("seed", range(3))
def test_one_byte_anywhere_in_the_file(copy, log, done, seed):
    path, chance = copy / "runs.sqlite", random.Random(seed)
    whole = path.read_bytes()
    for _ in range(12):
        path.write_bytes(whole)
        change(path, chance.randrange(len(whole)), chance.randrange(256))
        assert same(again(log, copy)[0], done.to_polars())


@pytest.mark.parametrize("damage", ["empty", "zeros", "cut", "short", "words", "other table"])
def test_a_file_that_is_no_database(copy, log, done, damage):
    path = copy / "runs.sqlite"
    whole = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "zeros": b"\0" * len(whole),
            "cut": whole[: len(whole) // 2],
            "short": whole[:50],
            "words": b"no database at all",
            "other table": whole.replace(b"CREATE TABLE runs", b"CREATE TABLE rubs"),
        }[damage]
    )
    assert onega.Sweep.load(copy).summary()["missing"] > 0
    table, said = again(log, copy)
    assert same(table, done.to_polars())
    assert len(said) == (damage != "empty")
    assert again(log, copy)[1] == []


def test_pages_that_can_be_read_are_kept(tmp_path):
    path = tmp_path / "runs.sqlite"
    store = Database(path)
    store.insert((f"{number:032}", f"content {number} " * 50) for number in range(500))
    store.close()
    content = bytearray(path.read_bytes())
    half = len(content) // 2 // 4096 * 4096
    content[half : half + 4096] = b"\xff" * 4096
    path.write_bytes(content)
    found = list(rows(path))
    kept = [row for row in found if row.content is not None]
    assert len(found) == 500
    assert 480 <= len(kept) < 500
    rebuild(path)
    assert list(rows(path)) == kept
    assert database.is_sound(path)
    assert [one.name for one in tmp_path.iterdir()] == ["runs.sqlite"]


def test_a_damaged_row_number_is_not_counted_up_to(tmp_path):
    path = tmp_path / "runs.sqlite"
    store = Database(path)
    store.insert((f"{number:032}", f"content {number} " * 50) for number in range(100))
    store._db.execute("UPDATE runs SET rowid = ? WHERE rowid = 100", (2**60,))
    store.close()
    content = bytearray(path.read_bytes())
    content[5 * 4096 : 6 * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    assert sum(row.content is not None for row in rows(path)) >= 80


def test_a_damaged_manifest_says_what_to_do(copy, log, done):
    path = copy / "sweep.json"
    whole = path.read_text()
    for text in ("", "{", "[]", whole.replace('"spec"', '"spac"'), whole.replace("vary", "vory")):
        path.write_text(text)
        with pytest.raises(ExperimentError, match=r"sweep.json: .*--replace-spec"):
            onega.sweep(GRID, copy, workload=log)
    told = []
    found = onega.sweep(GRID, copy, workload=log, replace_spec=True, on_run=told.append)
    assert told[-1].before == 9
    assert same(found.to_polars(), done.to_polars())


def write_old(folder):
    """Store the runs of a folder as earlier versions did: a Parquet file of one row each."""
    for row in list(stored_rows(folder)):
        told = json.loads(row.content)
        measures = told.pop("measures")
        told["parameters"] = json.dumps(told["parameters"])
        place = folder / "runs" / row.key[0]
        place.mkdir(parents=True, exist_ok=True)
        frame = pl.DataFrame({"key": row.key, **told, **measures})
        frame.with_columns(pl.col("error").cast(pl.String)).write_parquet(
            place / f"{row.key}.parquet"
        )
    (folder / "runs.sqlite").unlink()
    return sorted(folder.glob("runs/*/*.parquet"))


def test_folders_of_earlier_versions_are_read(copy, log, done):
    assert len(write_old(copy)) == 9
    before = sorted(copy.rglob("*"))
    assert same(onega.Sweep.load(copy).to_polars(), done.to_polars())
    assert sorted(copy.rglob("*")) == before
    told = []
    found = onega.sweep(GRID, copy, workload=log, on_run=told.append)
    assert told[-1].before == 9
    assert same(found.to_polars(), done.to_polars())
    assert sorted(one.name for one in copy.iterdir()) == FILES


def test_damaged_files_of_earlier_versions_are_made_again(copy, log, done):
    files = write_old(copy)
    files[0].unlink()
    files[1].write_bytes(b"")
    files[2].write_bytes(b"\0" * files[2].stat().st_size)
    files[3].write_bytes(files[3].read_bytes()[:-10])
    change(files[4], files[4].stat().st_size - 20, 0xFF)
    files[5].write_bytes(files[6].read_bytes())  # another run's
    (files[6].parent / ".half.parquet.1.part").write_bytes(b"PAR1")
    half = onega.Sweep.load(copy)
    assert half.to_polars().height == 3
    assert half.summary()["damaged"] == 5
    table, said = again(log, copy)
    assert len(said) == 1
    assert "5 stored runs are damaged (run" in said[0]
    assert same(table, done.to_polars())
    assert sorted(one.name for one in copy.iterdir()) == FILES


def test_a_full_disk(log, done, tmp_path):
    """Files can't grow: what doesn't fit is named, and the same call makes it afterwards."""
    with full_disk(15_000), pytest.warns(OnegaWarning, match="can't be stored"):
        found = onega.sweep(GRID, tmp_path / "out", workload=log)
    assert 0 < len(found.problems) <= 9
    assert "runs.sqlite: can't be written" in found.problems[0]
    assert found.summary()["damaged"] == 0
    assert same(again(log, tmp_path / "out")[0], done.to_polars())


def test_a_file_system_that_is_full(log, done):
    with tiny_disk("128k") as place:
        (place / "ballast").write_bytes(b"x" * 60_000)
        with pytest.warns(OnegaWarning, match="can't be stored.*(full|error)"):
            found = onega.sweep(GRID, place / "out", workload=log)
        assert found.problems
        assert found.summary()["damaged"] == 0
        (place / "ballast").unlink()
        assert same(again(log, place / "out")[0], done.to_polars())


def test_a_file_system_without_a_byte(log):
    with tiny_disk("64k") as place:
        with pytest.raises(OSError), (place / "ballast").open("wb", 0) as file:  # noqa: PT012
            while True:
                file.write(b"x" * 4096)
        with pytest.raises(FileError, match="out: can't be written: No space left"):
            onega.sweep(GRID, place / "out", workload=log)
        assert [one.name for one in place.iterdir()] == ["ballast"]


def test_others_may_read_while_one_writes(tmp_path):
    store = Database(tmp_path / "runs.sqlite")
    for number in range(20):
        store.insert([(f"key {number}", "content")])
        assert list(rows(store.path))[-1] == Row(f"key {number}", "content")
    store.close()
    assert [one.name for one in tmp_path.iterdir()] == ["runs.sqlite"]


def test_somebody_who_reads_does_not_hold_up_the_end(tmp_path):
    store = Database(tmp_path / "runs.sqlite")
    store.insert((f"key {number}", "content" * 100) for number in range(100))
    reader = rows(store.path)
    next(reader)
    store.close()
    assert len(list(reader)) == 99


def test_what_a_killed_process_left_beside_the_file_is_taken_in(copy, log, done, tmp_path):
    """All runs are there, so that nothing is written; one file has them all the same."""
    one = next(stored_rows(copy))
    left = tmp_path / "left"
    database = Database(copy / "runs.sqlite")
    database.insert([(one.key, one.content)])
    shutil.copytree(copy, left)  # as it stands when a process is killed now
    database.close()
    assert (left / "runs.sqlite-wal").exists()
    again = onega.sweep(GRID, left, workload=log)
    assert same(again.to_polars(), done.to_polars())
    assert sorted(path.name for path in left.iterdir()) == FILES


def test_runs_are_all_stored_or_none(tmp_path):
    store = Database(tmp_path / "runs.sqlite")

    def broken():
        yield "one", "content"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.insert(broken())
    store.insert([("two", "content")])
    assert [row.key for row in rows(store.path)] == ["two"]
    store.close()


@pytest.mark.parametrize(
    ("kind", "journal"),
    [
        ("ext4", b"wal"),
        ("", b"wal"),
        ("fuseblk", b"wal"),
        ("nfs4", b"truncate"),
        ("lustre", b"truncate"),
        ("fuse.sshfs", b"truncate"),
    ],
)
def test_file_systems_of_a_network_have_no_write_ahead_log(
    copy, log, done, monkeypatch, kind, journal
):
    monkeypatch.setattr(database, "file_system", lambda path: kind)
    store = Database(copy / "other.sqlite")
    assert store._db.execute("PRAGMA journal_mode").fetchone() == (journal,)
    store.close()
    (copy / "other.sqlite").unlink()
    with contextlib.closing(sqlite3.connect(copy / "runs.sqlite")) as db, db:
        db.execute("DELETE FROM runs WHERE rowid > 5")
    assert same(again(log, copy)[0], done.to_polars())
    assert sorted(one.name for one in copy.iterdir()) == FILES


def test_the_kind_of_a_file_system():
    assert database.file_system(database.Path("/proc/self")) == "proc"
    assert database.file_system(database.Path("/")) != ""


def test_only_the_driver_writes(log, tmp_path):
    """Processes and other hosts can't be handed the store: it can't be sent."""
    plan = prepare(GRID, log)
    with Store.opened(tmp_path / "out", plan.design, replace_spec=False) as store:
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(store)
        store.write(next(iter(plan.design)), "{}")
        assert len(stored_keys(store.folder)) == 1


def test_a_store_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(FileError, match=r"runs.sqlite: can't be opened: unable to open"):
        Database(tmp_path / "nowhere" / "runs.sqlite")
