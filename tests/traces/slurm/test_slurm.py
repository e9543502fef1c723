"""sacct output and jobcomp/filetxt logs, in the spellings that Slurm has."""

import polars as pl
import pytest

import onega
from onega import TraceError


def sacct(path, header, *rows, separator="|"):
    lines = [header, *rows]
    path.write_text("\n".join(line.replace("|", separator) for line in lines) + "\n")
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "sacct.txt"


HEADER = (
    "JobID|User|Account|Partition|QOS|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|ReqCPUS"
)
JOB = (
    "100|ann|physics|batch|normal|COMPLETED|2024-01-10T10:00:00|2024-01-10T10:05:00|"
    "2024-01-10T11:05:00|01:00:00|1-00:00:00|32|32"
)


@pytest.mark.parametrize("separator", ["|", ",", ";"])
def test_a_job(out, separator):
    log = onega.read(sacct(out, HEADER, JOB, separator=separator))
    job = log.table.row(0, named=True)
    assert log.meta.format == "sacct"
    assert log.meta.epoch == 1704880800.0
    assert (job["job"], job["submit"], job["wait"], job["runtime"]) == (100, 0.0, 300.0, 3600.0)
    assert (job["procs"], job["requested_procs"], job["estimate"]) == (32, 32, 86400.0)
    assert job["status"] == "completed"
    assert log.meta.labels == {
        "user": {1: "ann"},
        "group": {1: "physics"},
        "partition": {1: "batch"},
        "queue": {1: "normal"},
    }
    assert log.meta.report.count("no_timezone") == 1


def test_time_zone_with_a_clock_change(out):
    rows = [
        JOB.replace("2024-01-10T10:00:00", "2024-03-31T01:30:00")
        .replace("2024-01-10T10:05:00", "2024-03-31T02:30:00")
        .replace("2024-01-10T11:05:00", "2024-03-31T03:30:00"),
    ]
    log = onega.read(sacct(out, HEADER, *rows), timezone="Europe/Berlin")
    assert log.meta.timezone == "Europe/Berlin"
    assert log.meta.epoch == 1711845000.0  # 00:30 UTC
    # 02:30 doesn't exist that night; time goes on, so it is 01:30 UTC.
    assert log.table["wait"].to_list() == [3600.0]
    assert not log.meta.report.count("no_timezone")


def test_the_hour_that_a_clock_shows_twice_is_the_earlier(out):
    row = (
        JOB.replace("2024-01-10T10:00:00", "2024-10-27T02:30:00")
        .replace("2024-01-10T10:05:00", "2024-10-27T02:40:00")
        .replace("2024-01-10T11:05:00", "2024-10-27T04:00:00")
    )
    log = onega.read(sacct(out, HEADER, row), timezone="Europe/Berlin")
    assert log.meta.epoch == 1729989000.0  # 00:30 UTC; an hour later it is 02:30 again
    assert log.table["wait"].to_list() == [600.0]


def test_epoch_seconds_and_raw_columns(out):
    log = onega.read(
        sacct(
            out,
            "JobIDRaw|NCPUS|Submit|Start|End|ElapsedRaw|TimelimitRaw|State",
            "7|756|1703688808|1703987306|1704129658|142352|1440|COMPLETED",
            "8|1|1703688809|Unknown|1703688900|0|UNLIMITED|CANCELLED by 1000",
        )
    )
    assert log.table["wait"].to_list() == [298498.0, None]
    assert log.table["runtime"].to_list() == [142352.0, None]
    assert log.table["estimate"].to_list() == [86400.0, None]
    assert log.table["status"].to_list() == ["completed", "cancelled"]
    assert not log.meta.report


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:30", 30),
        ("05:30", 330),
        ("01:02:03", 3723),
        ("2-00:00:00", 172800),
        ("1-01", 90000),
        ("1-01:30", 91800),
        ("100-00:00:01", 8640001),
        ("00:00:01.500", 1.5),
        ("120", 120),
    ],
)
def test_elapsed(out, text, seconds):
    log = onega.read(sacct(out, "JobID|Submit|NCPUS|Elapsed", f"1|1700000000|1|{text}"))
    assert log.table["runtime"].to_list() == [seconds]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("90", 5400), ("1-00:00:00", 86400), ("30:00", 1800), ("02:00:00", 7200)],
        *[("UNLIMITED", None), ("Partition_Limit", None), ("", None), ("1-12:30", 131400)],
    ],
)
def test_time_limits(out, text, seconds):
    log = onega.read(
        sacct(out, "JobID|Submit|NCPUS|ElapsedRaw|Timelimit", f"1|1700000000|1|5|{text}")
    )
    assert log.table["estimate"].to_list() == [seconds]


STATES = {
    "COMPLETED": "completed",
    "CD": "completed",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "failed",
    "OUT_OF_ME+": "failed",
    "BOOT_FAIL": "failed",
    "CANCELLED by 1000": "cancelled",
    "CANCELLED+": "cancelled",
    "CANCELLED": "cancelled",
    "PREEMPTED": "cancelled",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "NODE_FAIL": "node_fail",
    "REQUEUED": "partial",
}


@pytest.mark.parametrize("state", STATES)
def test_states(out, state):
    log = onega.read(sacct(out, "JobID|Submit|NCPUS|ElapsedRaw|State", f"1|1700000000|1|5|{state}"))
    assert log.table["status"].to_list() == [STATES[state]]


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "PD", "SUSPENDED", "COMPLETING", "R"])
def test_unfinished_jobs_are_kept_apart(out, state):
    log = onega.read(
        sacct(
            out,
            "JobID|Submit|Start|End|NCPUS|ElapsedRaw|State",
            "1|1700000000|1700000001|1700000009|1|8|COMPLETED",
            f"2|1700000000|Unknown|Unknown|1|0|{state}",
        )
    )
    assert log.table["job"].to_list() == [1]
    finding = log.meta.report.findings[0]
    assert (finding.rule, finding.action, finding.count) == ("unfinished", "kept apart", 1)
    assert finding.examples[0]["line"] == 3
    assert log.meta.report.dropped == 0
    assert sum(log.meta.unfinished.values()) == 1


def test_steps_are_folded(out):
    log = onega.read(
        sacct(
            out,
            "JobID|Submit|ElapsedRaw|AllocCPUS|State|MaxRSS|TotalCPU|ReqMem",
            "1|1700000000|100|4|COMPLETED||06:40.000|16G",
            "1.batch|1700000000|100|4|COMPLETED|1024K|05:00|",
            "1.extern|1700000000|100|4|COMPLETED|0||",
            "1.0|1700000000|90|4|COMPLETED|2.5M|01:40|",
            "2|1700000050|5|1|FAILED||00:01|4Gc",
            "9.batch|1700000000|5|1|FAILED|7K|00:01|",
        )
    )
    assert log.table["job"].to_list() == [1, 2]
    # What the largest task used belongs to the job: a quarter of it to each of 4 processors.
    assert log.table["memory"].to_list() == [2.5 * 2**20 / 4, None]
    assert log.table["cpu_time"].to_list() == [100.0, 1.0]
    assert log.table["requested_memory"].to_list() == [4 * 2**30, 4 * 2**30]
    assert log.meta.report.count("steps_folded") == 3
    assert log.meta.report.count("orphan_steps") == 1


def test_memory_per_node(out):
    log = onega.read(
        sacct(out, "JobID|Submit|ElapsedRaw|AllocCPUS|NNodes|ReqMem", "1|1700000000|9|8|2|32Gn")
    )
    assert log.table["requested_memory"].to_list() == [8 * 2**30]


def test_arrays(out):
    rows = ["5|{s}|9|1|COMPLETED", "6_1|{s}|9|1|COMPLETED", "6_2|{s}|9|1|COMPLETED"]
    rows += ["6_[3-9%2]|{s}|0|1|CANCELLED by 5", "7|{s}|9|1|COMPLETED"]
    rows = [row.format(s=1700000000) for row in rows]
    log = onega.read(sacct(out, "JobID|Submit|ElapsedRaw|NCPUS|State", *rows))
    assert log.table["job"].to_list() == [5, 8, 9, 10, 7]
    assert log.meta.report.count("array_tasks") == 3
    assert log.meta.report.count("array_rests") == 1


def test_arrays_with_slurms_own_numbers(out):
    log = onega.read(
        sacct(
            out,
            "JobID|JobIDRaw|Submit|ElapsedRaw|NCPUS",
            "6_1|7|1700000000|9|1",
            "6_2|6|1700000000|9|1",
            "6_2.batch|6.batch|1700000000|9|1",
        )
    )
    assert log.table["job"].to_list() == [7, 6]
    assert log.meta.report.summary() == {"steps_folded": 1}


def test_heterogeneous_jobs(out):
    log = onega.read(
        sacct(
            out,
            "JobID|Submit|Start|End|NCPUS|State",
            "1|1700000000|1700000010|1700000020|3|COMPLETED",
            "4+0|1700000001|1700000010|1700000020|8|COMPLETED",
            "4+1|1700000001|1700000010|1700000025|16|COMPLETED",
        )
    )
    assert log.table["job"].to_list() == [1, 4]
    assert log.table["procs"].to_list() == [3, 24]
    assert log.table["runtime"].to_list() == [10.0, 15.0]


def test_tres_and_zero_allocations(out):
    log = onega.read(
        sacct(
            out,
            "JobID|Submit|ElapsedRaw|AllocTRES|ReqTRES",
            "1|1700000000|9|billing=8,cpu=16,mem=4G,node=1|cpu=8,mem=4G",
            "2|1700000000|9||cpu=8,mem=4G",
        )
    )
    assert log.table["procs"].to_list() == [16, 8]
    assert log.table["requested_procs"].to_list() == [8, 8]


def test_only_nodes(out):
    log = onega.read(sacct(out, "JobID|Submit|ElapsedRaw|NNodes", "1|1700000000|9|12"))
    assert log.table["procs"].to_list() == [12]


def test_trailing_separator(out):
    log = onega.read(sacct(out, "JobID|Submit|ElapsedRaw|NCPUS|", "1|1700000000|9|2|"))
    assert log.table["procs"].to_list() == [2]


@pytest.mark.parametrize(
    ("header", "row", "field", "message"),
    [
        ("JobID|Submit|NCPUS|State", "1|5|1|RUNNING", "End", "no such column"),
        ("JobID|Start|End|NCPUS", "1|5|6|1", "Submit", "no such column"),
        ("JobID|Submit|End|State", "1|5|6|FAILED", "AllocCPUS", "no such column"),
        ("JobID|Submit|NCPUS|Elapsed", "1|1700000000|x|5", "NCPUS", "'x' is not a whole"),
        ("JobID|Submit|NCPUS|Elapsed", "1|yesterday|1|5", "Submit", "point in time"),
        ("JobID|Submit|NCPUS|Elapsed", "1|2024-02-30T00:00:00|1|5", "Submit", "point in time"),
        ("JobID|Submit|NCPUS|Elapsed", "one|1700000000|1|5", "JobID", "job id"),
        ("JobID|Submit|NCPUS|Elapsed", "1|1700000000|1|1:2:3:4", "Elapsed", "length of time"),
        ("JobID|Submit|NCPUS|Elapsed|State", "1|1700000000|1|5|DANCING", "State", "job state"),
        ("JobID|Submit|NCPUS|Elapsed", "1|1700000000|1", "Elapsed", "3 fields"),
        ("JobID|Submit|NCPUS|Elapsed", "1|1700000000|1|5|6", "5", "5 fields"),
        ("JobID|Submit|NCPUS|ElapsedRaw", "1|1700000000|1|inf", "ElapsedRaw", "length of time"),
        ("JobID|Submit|NCPUS|ElapsedRaw", "1|1e18|1|5", "Submit", "below"),
    ],
)
def test_errors(out, header, row, field, message):
    with pytest.raises(TraceError, match=message) as caught:
        onega.read(sacct(out, header, row))
    assert caught.value.field == field
    assert caught.value.line == (1 if "column" in message else 2)
    assert str(out) in str(caught.value)


def test_dump_without_end_times(out):
    rows = [f"{n}|1700000000|Unknown|Unknown|4|RUNNING" for n in range(1, 4)]
    with pytest.raises(
        TraceError, match=r"no job is left; 3 kept apart.*not finished.*3 RUNNING.*line 2"
    ):
        onega.read(sacct(out, "JobID|Submit|Start|End|NCPUS|State", *rows))


def test_table_for_people(out):
    out.write_text("JobID    State\n-------- -----\n1        COMPLETED\n")
    with pytest.raises(TraceError, match="--parsable2"):
        onega.read(out)


def test_a_real_extract(shared):
    log = onega.read(shared("traces", "epcc-cirrus-2024q1-sacct.csv"))
    assert len(log) == 11635
    assert log.meta.epoch == 1703688808.0
    assert log.table["status"].value_counts().sort("status").rows() == [
        ("failed", 109),
        ("completed", 11124),
        ("cancelled", 266),
        ("timeout", 136),
    ]
    assert log.table["job"].n_unique() == 11635
    raw = pl.read_csv(shared("traces", "epcc-cirrus-2024q1-sacct.csv"), infer_schema=False)
    wait = raw["Start"].cast(pl.Int64, strict=False) - raw["Submit"].cast(pl.Int64)
    assert log.table["wait"].sum() == wait.sum()


JOBCOMP = (
    "JobId={job} UserId=ann(1001) GroupId=users(100) Name=my job=x JobState={state} "
    "Partition=debug TimeLimit=2 StartTime={start} EndTime=2024-01-10T10:01:41 "
    "NodeList=v[001-002] NodeCnt=2 ProcCnt=2 WorkDir=/home/a b ReservationName= "
    "Tres=cpu=2,mem=1M Account= QOS=normal WcKey= Cluster=unknown "
    "SubmitTime=2024-01-10T09:59:59 EligibleTime=2024-01-10T09:59:59 "
    "DerivedExitCode=0:0 ExitCode=0:0"
)


def test_jobcomp(out):
    lines = [
        JOBCOMP.format(job=1, state="COMPLETED", start="2024-01-10T10:00:00"),
        "",
        JOBCOMP.format(job=2, state="CANCELLED", start="Unknown"),
    ]
    out.write_text("\n".join(lines))
    log = onega.read(out, timezone="UTC")
    assert log.meta.format == "jobcomp"
    assert log.meta.labels == {
        "user": {1: "ann"},
        "group": {1: "users"},
        "partition": {1: "debug"},
        "queue": {1: "normal"},
    }
    assert log.table.select("job", "submit", "wait", "runtime", "procs", "estimate").rows() == [
        (1, 0.0, 1.0, 101.0, 2, 120.0),
        (2, 0.0, None, None, 2, 120.0),
    ]
    assert log.table["status"].to_list() == ["completed", "cancelled"]


def test_jobcomp_errors(out):
    good = JOBCOMP.format(job=1, state="COMPLETED", start="2024-01-10T10:00:00")
    out.write_text(f"{good}\nnonsense\n")
    with pytest.raises(TraceError, match="line 2, field JobId"):
        onega.read(out)
    out.write_text(good.replace("EndTime=2024", "EndTime=2O24"))
    with pytest.raises(TraceError, match="line 1, field End: '2O24"):
        onega.read(out)


def test_without_states_the_end_tells(out):
    log = onega.read(
        sacct(
            out,
            "JobID|Submit|Start|End|NCPUS|Comment",
            "1|1700000000|1700000001|1700000009|1|x",
            "2|1700000000|1700000001|Unknown|1|y",
        )
    )
    assert log.table["job"].to_list() == [1]
    assert log.meta.report.summary() == {"unused_columns": 1, "unfinished": 1}
