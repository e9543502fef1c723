"""Workloads of Batsim: read, refused, written, and read again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from onega import Meta, TraceError, Workload

JOBS = [
    {"id": "1", "subtime": 10, "walltime": 100, "res": 4, "profile": "a", "extra_data": "{}"},
    {"id": 2, "subtime": 20.25, "res": 1, "profile": "b"},
    {"id": "w0!3", "subtime": 20.5, "walltime": -1, "res": 2, "profile": "a"},
]
PROFILES = {
    "a": {"type": "delay", "delay": 20.25, "ret": 1},
    "b": {"type": "DelayProfile", "delay": 5},
    "unused": {"type": "ParallelTaskHomogeneousProfile", "cpu": 1e6, "com": 0},
}


def written(folder, **changes):
    path = folder / "workload.json"
    content = {"nb_res": 8, "description": "x", "jobs": JOBS, "profiles": PROFILES} | changes
    path.write_text(json.dumps({key: value for key, value in content.items() if value != "none"}))
    return path


def test_a_workload(tmp_path):
    log = onega.read(written(tmp_path))
    assert (log.meta.format, log.meta.procs, log.meta.epoch) == ("batsim", 8, None)
    rows = log.table.select("job", "submit", "runtime", "procs", "estimate").rows()
    assert rows == [
        (1, 10.0, 20.25, 4, 100.0),
        (2, 20.25, 5.0, 1, None),
        (3, 20.5, 20.25, 2, None),
    ]
    assert not log.meta.report
    assert onega.read(written(tmp_path, nb_res="none")).meta.procs is None


@pytest.mark.parametrize("ids", [("first", "second", "third"), ("a!1", "b!1", "a!2"), (1, "x", 2)])
def test_ids_that_are_no_numbers(tmp_path, ids):
    jobs = [job | {"id": one} for job, one in zip(JOBS, ids, strict=True)]
    log = onega.read(written(tmp_path, jobs=jobs))
    assert log.table["job"].to_list() == [1, 2, 3]
    assert log.meta.report.count("ids_numbered") == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"jobs": []}, "holds no jobs"),
        ({"jobs": "none"}, "is no workload of Batsim: jobs: Field required"),
        ({"jobs": [{"id": 1}]}, "jobs.0.subtime"),
        ({"jobs": [JOBS[0] | {"res": 0}]}, "jobs.0.res"),
        ({"jobs": [JOBS[0] | {"res": 2.5}]}, "jobs.0.res"),
        ({"jobs": [JOBS[0] | {"subtime": "soon"}]}, "jobs.0.subtime"),
        ({"jobs": [JOBS[0] | {"subtime": 1e300}]}, "jobs.0.subtime"),
        ({"jobs": [JOBS[0] | {"profile": "c"}]}, "profile 'c', which isn't among the profiles"),
        ({"jobs": [JOBS[0] | {"profile": "unused"}]}, "only delays are read"),
        ({"profiles": {"a": {}, "b": {}}}, "profile 'a' is of type None"),
        ({"profiles": {"a": {"type": "delay"}, "b": {}}}, "a delay is from 0 to .*, got None"),
        ({"profiles": {"a": {"type": "delay", "delay": -1}, "b": {}}}, "a delay is from 0"),
        ({"profiles": []}, "profiles"),
    ],
)
def test_what_is_refused(tmp_path, changes, message):
    path = written(tmp_path, **changes)
    with pytest.raises(TraceError, match=message) as caught:
        onega.read(path)
    assert str(caught.value).startswith(str(path))


def test_written_and_read_again(tmp_path):
    log = onega.read(written(tmp_path))
    for name in ("again.json", "again.json.gz"):
        assert not onega.write(log, tmp_path / name)
        assert onega.read(tmp_path / name) == log


def test_what_it_cannot_say(tmp_path):
    log = Workload(
        {
            "submit": [-1.0, 0.0, 1.0, 2.0],
            "runtime": [1.0, None, 1.0, 1.0],
            "procs": [1, 1, None, 3],
            "user": [1, 1, 1, 1],
            "wait": [None, None, None, 4.0],
        },
        Meta(epoch=1e9),
    )
    report = onega.write(log, tmp_path / "a.json")
    counts = {"not_for_batsim": 3, "columns_left_out": 2, "epoch_left_out": 1, "size_from_jobs": 1}
    assert report.summary() == counts
    again = onega.read(tmp_path / "a.json")
    assert again.table["job"].to_list() == [4]
    assert again.meta.procs == 3


seconds = st.floats(0, 1e12) | st.integers(0, 10**6).map(float)
rows = st.tuples(seconds, seconds, st.integers(1, 10**6), st.none() | seconds)


@given(st.lists(rows, min_size=1, max_size=20))
def test_any_times_come_back_the_same(tmp_path_factory, jobs):
    submit, runtime, procs, estimate = map(list, zip(*jobs, strict=True))
    columns = {"submit": submit, "runtime": runtime, "procs": procs, "estimate": estimate}
    log = Workload(columns, Meta(procs=10**6))
    path = tmp_path_factory.mktemp("batsim") / "a.json"
    assert not onega.write(log, path)
    assert onega.read(path) == log
