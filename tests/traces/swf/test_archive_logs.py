"""The archive's logs come in whole and go out the same."""

import polars as pl
import pytest

import onega

LOGS = {
    "KTH-SP2-1996-2.1-cln.swf.gz": (28476, 100, "Europe/Stockholm", 843480031.0),
    "SDSC-SP2-1998-4.2-cln.swf.gz": (59715, 128, "US/Pacific", 893466664.0),
    "LANL-CM5-1994-4.1-cln.swf.gz": (122060, 1024, "US/Mountain", 781275672.0),
    "HPC2N-2002-2.2-cln.swf.gz": (202871, 240, "Europe/Stockholm", 1027839845.0),
    "lublin_256.swf.gz": (10000, 256, None, None),
    "pyss-easy-KTH-SP2.swf.gz": (28481, 100, None, None),
}


@pytest.mark.parametrize("name", LOGS)
def test_facts_and_round_trip(name, tmp_path, shared):
    log = onega.read(shared("traces", name))
    jobs, procs, zone, epoch = LOGS[name]
    assert (len(log), log.meta.procs, log.meta.timezone, log.meta.epoch) == (
        jobs,
        procs,
        zone,
        epoch,
    )
    report = onega.write(log, tmp_path / "again.swf.zst")
    again = onega.read(tmp_path / "again.swf.zst")
    assert not report
    assert again == log
    assert again.meta.labels == log.meta.labels


def test_kth_by_hand(shared):
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    first = log.table.row(0, named=True)
    assert first["job"] == 15
    assert (first["submit"], first["wait"], first["runtime"]) == (599850.0, 192180.0, 3477.0)
    assert (first["procs"], first["estimate"], first["status"]) == (4, 53940.0, "completed")
    assert (first["user"], first["group"], first["app"], first["memory"]) == (12, 12, None, None)
    assert log.table["status"].value_counts().sort("count")["count"].to_list() == [7946, 20530]


def test_lanl_names_and_bytes(shared):
    log = onega.read(shared("traces", "LANL-CM5-1994-4.1-cln.swf.gz"))
    assert log.meta.labels["queue"][4] == "scavenge_benchmark"
    first = log.table.row(0, named=True)
    assert first["memory"] == 6676 * 1024
    assert first["requested_memory"] == 5904 * 1024
    assert log.table.filter(pl.col("job") == 2)["cpu_time"].item() == 489.0
