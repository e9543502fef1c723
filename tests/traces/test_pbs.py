"""PBS and Torque accounting logs."""

import pytest

import onega
from onega import TraceError

TORQUE = (
    "{stamp};E;{job};user=ann group=users jobname=a queue=batch ctime=1704880800 qtime=1704880801 "
    "etime=1704880801 start=1704880900 owner=ann@head exec_host={host} "
    "Resource_List.neednodes=2:ppn=4 Resource_List.nodect=2 Resource_List.nodes=2:ppn=4 "
    "Resource_List.walltime=01:00:00 session=1 end=1704881900 Exit_status={status} "
    "resources_used.cput=02:13:20 resources_used.mem=8192kb resources_used.walltime=00:16:40"
)
STAMP = "01/10/2024 11:18:20"  # one hour east of UTC


def line(job="7.head", host="n1/0+n1/1+n1/2+n1/3+n2/0+n2/1+n2/2+n2/3", status="0", stamp=STAMP):
    return TORQUE.format(job=job, host=host, status=status, stamp=stamp)


@pytest.fixture
def log(tmp_path):
    def write(*lines):
        path = tmp_path / "20240110"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def test_a_job(log):
    read = onega.read(log(line()))
    assert read.meta.format == "pbs"
    assert read.meta.epoch == 1704880800.0
    job = read.table.row(0, named=True)
    assert (job["job"], job["submit"], job["wait"], job["runtime"]) == (7, 0.0, 100.0, 1000.0)
    assert (job["procs"], job["requested_procs"], job["estimate"]) == (8, 8, 3600.0)
    assert job["cpu_time"] == 8000 / 8
    assert job["memory"] == 8192 * 1024 / 8
    assert job["status"] == "completed"
    assert read.meta.labels == {"user": {1: "ann"}, "group": {1: "users"}, "queue": {1: "batch"}}


@pytest.mark.parametrize(
    ("host", "procs"),
    [
        ("n1/0", 1),
        ("n1/0*8+n2/0*8", 16),
        ("n1/0-7+n2/0-3", 12),
        ("n1/0,2,4", 3),
        ("n1/1*2+n2/0", 3),
    ],
)
def test_places(log, host, procs):
    assert onega.read(log(line(host=host))).table["procs"].to_list() == [procs]


def test_pbs_pro_without_places(log):
    text = line().replace("exec_host=n1/0+n1/1+n1/2+n1/3+n2/0+n2/1+n2/2+n2/3 ", "")
    text = text.replace("Resource_List.nodect=2", "Resource_List.ncpus=12")
    assert onega.read(log(text)).table["procs"].to_list() == [12]


@pytest.mark.parametrize(
    ("status", "limit", "expected"),
    [
        ("0", "01:00:00", "completed"),
        ("1", "01:00:00", "failed"),
        ("271", "01:00:00", "cancelled"),
        ("271", "00:16:40", "timeout"),
        ("-29", "01:00:00", "timeout"),
        ("-1", "01:00:00", "failed"),
    ],
)
def test_exit_states(log, status, limit, expected):
    text = line(status=status).replace("walltime=01:00:00", f"walltime={limit}")
    assert onega.read(log(text)).table["status"].to_list() == [expected]


def test_clocks_that_are_half_an_hour_off(log):
    """India is 5:30 east of UTC: 10:00 UTC is 15:30 there."""
    read = onega.read(
        log(
            "01/10/2024 15:30:00;Q;8.head;queue=batch",
            "01/10/2024 15:30:05;D;8.head;requestor=ann@head",
            line(stamp="01/10/2024 15:48:20"),
        )
    )
    assert read.table["submit"].to_list() == [0.0, 0.0]
    assert read.meta.epoch == 1704880800.0


def test_deleted_before_start(log):
    read = onega.read(
        log(
            "01/10/2024 11:00:00;Q;8.head;queue=batch",
            "01/10/2024 11:00:05;D;8.head;requestor=ann@head",
            "01/10/2024 11:00:06;Q;9.head;queue=batch",
            "01/10/2024 11:00:07;D;10.head;requestor=ann@head",
            "01/10/2024 11:00:08;L;license;floating license hour:3",
            line(),
        )
    )
    assert read.table["job"].to_list() == [8, 7]
    # 11:00 local is 10:00 UTC: the offset is found from the E record.
    assert read.table["submit"].to_list() == [0.0, 0.0]
    assert read.meta.epoch == 1704880800.0
    assert read.table["status"].to_list() == ["cancelled", "completed"]
    assert read.table["runtime"].to_list() == [None, 1000.0]
    assert read.meta.report.count("unfinished") == 1
    assert read.meta.report.count("no_submit") == 1


def test_stamps_in_a_given_zone(log):
    read = onega.read(
        log(
            "01/10/2024 05:00:00;Q;8.head;queue=batch",
            "01/10/2024 05:00:05;A;8.head;",
            line(stamp="01/10/2024 05:18:20"),
        ),
        timezone="America/New_York",
    )
    assert read.table["submit"].to_list() == [0.0, 0.0]
    assert read.table["status"].to_list() == ["failed", "completed"]


def test_deleted_while_running(log):
    read = onega.read(log("01/10/2024 11:18:19;D;7.head;requestor=a", line(status="271")))
    assert read.table["status"].to_list() == ["cancelled"]


def test_arrays(log):
    read = onega.read(
        log(line("7[].head"), line("7[1].head"), line("7[2].head"), line("5-3.head"), line("6"))
    )
    assert read.table["job"].to_list() == [8, 9, 10, 6]
    assert read.meta.report.count("array_parents") == 1
    assert read.meta.report.count("array_tasks") == 3


@pytest.mark.parametrize(
    ("text", "number", "field"),
    [
        ("nonsense", 2, "record"),
        (line("x.head"), 2, "job"),
        (line().replace("ctime=1704880800", "ctime=soon"), 2, "ctime"),
        (line().replace("end=1704881900", "end=nan"), 2, "end"),
        (line().replace("walltime=01:00:00", "walltime=forever"), 2, "Resource_List.walltime"),
        (line(status="oops"), 2, "Exit_status"),
    ],
)
def test_errors(log, text, number, field):
    with pytest.raises(TraceError) as caught:
        onega.read(log(line(), text))
    assert (caught.value.line, caught.value.field) == (number, field)


def test_no_ends(log):
    with pytest.raises(TraceError, match="no job ended"):
        onega.read(log("01/10/2024 11:00:00;Q;8.head;queue=batch"))


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_a_date_that_does_not_exist(log, zone):
    stamps = ("13/45/2024 11:00:00;Q;8.head;queue=batch", "13/45/2024 11:00:05;D;8.head;")
    read = onega.read(log(*stamps, line()), timezone=zone)
    assert read.table["job"].to_list() == [7]
    assert read.meta.report.count("no_submit") == 1
