"""What jobs need beside processors: read from TRES, memory, tables; used, written, read again."""

import polars as pl
import pytest

import onega
from onega import Cluster, NodeGroup, TraceError, Workload
from onega.simulation.machine.machine import find_misfits

GIB = 2**30

SACCT = """\
JobID|User|Account|Partition|QOS|State|Submit|Start|End|ElapsedRaw|AllocCPUS|NNodes|ReqMem|AllocTRES|ReqTRES|JobName|WorkDir
101|ann|physics|gpu|normal|COMPLETED|1700000000|1700000010|1700003610|3600|16|2|64G|billing=16,cpu=16,gres/gpu:a100=8,gres/gpu=8,mem=64G,node=2|cpu=16,gres/gpu=8,mem=64G,node=2|train|/home/ann
102|bob|biology|gpu|high|FAILED|1700000100|1700000110|1700000410|300|4|1|4Gc|billing=4,cpu=4,gres/gpu:v100=1,mem=16G,node=1|cpu=4,gres/gpu:v100=1,mem=16G,node=1|fold|/home/bob
103|eve|biology|cpu|normal|TIMEOUT|1700000200|1700000210|1700000510|300|40|1|0n|billing=40,cpu=40,mem=375000M,node=1|cpu=40,node=1|md|/home/eve
104|eve|biology|cpu|normal|CANCELLED by 1003|1700000300|Unknown|1700000400|0|0|1|8Gn||cpu=8,gres/gpu=2,license/matlab=1,mem=8G,node=1|md2|/home/eve
105|eve|biology|cpu|normal|RUNNING|1700000350|1700000400|Unknown|500|8|1|8Gn|cpu=8,mem=8G,node=1|cpu=8,mem=8G,node=1|md3|/home/eve
106|bob|biology|cpu|normal|PENDING|1700000360|Unknown|Unknown|0|0|2|8Gn||cpu=8,mem=8G,node=2|md4|/home/bob
"""  # noqa: E501


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return onega.read(path, timezone="UTC")


def test_tres_become_demands(log):
    assert log.demands.to_dict(as_series=False) == {
        "job": [101, 102, 103, 104],
        "gpus": [8.0, 1.0, 0.0, 2.0],
        "gpus:a100": [8.0, 0.0, 0.0, 0.0],
        "gpus:v100": [0.0, 1.0, 0.0, 0.0],
        "matlab": [0.0, 0.0, 0.0, 1.0],
        "nodes": [2.0, 1.0, 1.0, 1.0],
    }
    # 64G for the job, 4G a processor, all of the node (AllocTRES says how much), 8G a node.
    assert log.table["requested_memory"].to_list() == [
        4 * GIB,
        4 * GIB,
        375000 * 2**20 / 40,
        GIB,
    ]


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("8000", 8000 * 2**20 / 4),
        ("8000K", 8000 * 2**10 / 4),
        ("8G", 8 * GIB / 4),
        ("1.5T", 1.5 * 2**40 / 4),
        ("8Gn", 2 * 8 * GIB / 4),
        ("512Mc", 512 * 2**20),
        ("0n", None),
        ("", None),
    ],
)
def test_memory_asked_for(tmp_path, text, each):
    path = tmp_path / "sacct.txt"
    path.write_text(f"JobID|Submit|ElapsedRaw|AllocCPUS|NNodes|ReqMem\n1|1700000000|9|4|2|{text}\n")
    assert onega.read(path).table["requested_memory"].to_list() == [each]


def test_what_has_no_use_is_named_once(log):
    said = {one.rule: one.why for one in log.meta.report}
    assert said["unused_columns"] == "columns without use here: JobName, WorkDir"
    assert said["unused_tres"] == "TRES without use here: billing"
    assert str(log.meta.report).count("JobName") == 1


def test_amounts_that_are_none_are_refused(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT.replace("gres/gpu=8,mem=64G,node=2|cpu", "gres/gpu=x,mem=64G,node=2|cpu"))
    with pytest.raises(TraceError, match="line 2, field AllocTRES: 'x' is not an amount"):
        onega.read(path)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.csv.gz"])
def test_demands_and_names_survive(log, tmp_path, name):
    onega.write(log, tmp_path / name)
    again = onega.read(tmp_path / name)
    assert again.table.equals(log.table)
    assert again.demands.equals(log.demands)
    assert again.meta.labels == log.meta.labels
    if "csv" in name:
        assert again.names("user").to_list() == ["ann", "bob", "eve", "eve"]


def test_swf_says_what_it_leaves_out(log, tmp_path):
    report = onega.write(log, tmp_path / "out.swf")
    assert "gpus, gpus:a100, gpus:v100, matlab, nodes" in str(report)


def test_a_table_of_a_site(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(
        "submit_time,run_time,cores,nodes_req,gpus_req,mem_req,lic,nodes\n"
        "0,60,8,2,4,64000,1,cn[1-2]\n"
        "5,60,4,1,0,16000,0,cn1\n"
    )
    columns = {"requested_memory": "mem_req:mb/job", "demand_matlab": "lic"}
    log = onega.read(path, columns=columns)
    assert log.demands.to_dict(as_series=False) == {
        "job": [1, 2],
        "gpus": [4.0, 0.0],
        "matlab": [1.0, 0.0],
        "nodes": [2.0, 1.0],
    }
    assert log.table["requested_memory"].to_list() == [8000 * 2**20, 4000 * 2**20]
    per_node = onega.read(path, columns={"requested_memory": "mem_req:mb/node"})
    assert per_node.table["requested_memory"].to_list() == [16000 * 2**20, 4000 * 2**20]
    unmapped = onega.read(path).meta.report
    assert "columns without use here: mem_req, lic, nodes" in str(unmapped)


def test_a_real_table_of_a_site(shared):
    log = onega.read(shared("traces", "nrel-eagle-sample.csv"), timezone="America/Denver")
    assert log.demands["gpus"].sum() > 0
    assert (log.demands["nodes"] > 0).all()
    assert log.names("user")[0] == "user0014"
    assert "mem_req, name, work_dir, submit_line" in str(log.meta.report)


# -- on a machine


def test_memory_of_the_largest_task_is_not_that_of_every_processor(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(
        "JobID|Submit|ElapsedRaw|AllocCPUS|State|MaxRSS\n"
        "1|1700000000|100|40|COMPLETED|\n"
        "1.batch|1700000000|100|40|COMPLETED|200G\n"
    )
    log = onega.read(path)
    node = Cluster(nodes=[NodeGroup(4, 40, memory="384GiB")])
    assert log.table["memory"].to_list() == [200 * GIB / 40]
    assert find_misfits(log, node) == ()


@pytest.mark.parametrize(
    ("columns", "values", "used"),
    [
        ("MaxRSS", "4G", 4 * GIB),
        ("MaxRSS|AveRSS|NTasks", "4G|3G|8", 24 * GIB),
        ("MaxRSS|TRESUsageInTot", "4G|cpu=00:01:40,mem=20G", 20 * GIB),
    ],
)
def test_memory_that_all_tasks_used(tmp_path, columns, values, used):
    path = tmp_path / "sacct.txt"
    empty = "|" * columns.count("|")
    path.write_text(
        f"JobID|Submit|ElapsedRaw|AllocCPUS|State|{columns}\n"
        f"1|1700000000|100|8|COMPLETED|{empty}\n1.0|1700000000|100|8|COMPLETED|{values}\n"
    )
    assert onega.read(path).table["memory"].to_list() == [used / 8]


def test_jobs_that_do_not_fit_are_told_what_is_missing():
    log = demanding(procs=[1, 2, 80], requested_memory=[600 * GIB, GIB, GIB])
    (found,) = find_misfits(log, Cluster(nodes=[NodeGroup(2, 40, memory="384GiB")]))
    assert found.jobs == (1,)
    assert found.why == (
        "they need 600 GiB of memory on one node, and the largest node of the machine has 384 GiB"
    )
    narrow = Cluster(nodes=[NodeGroup(1, 40, gpus=4)])
    found = find_misfits(demanding(procs=[1, 2, 80], demand_gpus=[6, 1, 0]), narrow)
    assert [one.why for one in found] == [
        "wider than the machine of 40 processors, with 80",
        "they need 6 of GPUs on one node, and the largest node of the machine has 4",
    ]


def demanding(**columns):
    base = {"submit": [0.0, 0.0, 0.0], "runtime": [10.0, 10.0, 10.0], "procs": [2, 2, 2]}
    return Workload(base | columns)


def test_the_machine_uses_what_the_log_says():
    machine = Cluster(nodes=[NodeGroup(1, 8, gpus=2)])
    assert onega.simulate(demanding(), machine).start.tolist() == [0, 0, 0]
    three = onega.simulate(demanding(demand_gpus=[2, 1, 1]), machine)
    assert three.start.tolist() == [0, 10, 10]
    why = r"first needs 2 × \(processors 1, GPUs 2\), .* at most \(processors 8, GPUs 2\), nodes: 1"
    with pytest.raises(onega.SimulationError, match=why):
        onega.simulate(demanding(demand_gpus=[4, 0, 0]), machine)


def test_jobs_keep_to_their_nodes():
    """Two nodes of 4: jobs of 2 on one node each leave 2 there, which 4 on one node can't have."""
    machine = Cluster(nodes=[NodeGroup(2, 4)], placement="spread")
    columns = {"procs": [2, 2, 4], "submit": [0.0, 0.0, 1.0]}
    assert onega.simulate(demanding(**columns), machine).start.tolist() == [0, 0, 1]
    told = demanding(**columns, demand_nodes=[1, 1, 1])
    assert onega.simulate(told, machine).start.tolist() == [0, 0, 10]
    # A job that had more on a node than there is here is spread, and that is said.
    wide = demanding(procs=[2, 2, 8], submit=[0.0, 0.0, 1.0], demand_nodes=[1, 1, 1])
    schedule = onega.simulate(wide, machine)
    assert schedule.start.tolist() == [0, 0, 10]
    assert schedule.report.count("nodes_too_small") == 1


def test_what_the_machine_does_not_describe_is_noted():
    schedule = onega.simulate(demanding(demand_gpus=[1, 1, 0]), Cluster(nodes=[NodeGroup(1, 8)]))
    finding = next(one for one in schedule.report if one.rule == "not_described")
    assert (finding.count, "gpus" in finding.why) == (2, True)


# -- the table itself


def test_demands_are_part_of_the_table(log):
    assert log.select(pl.col("job") == 102).demands["gpus:v100"].to_list() == [1.0]
    joined = Workload.concat([log, demanding()])
    assert joined.demands["gpus"].null_count() == 3
    with pytest.raises(TraceError, match=r"field demand_gpus: .* is 0 or from .*; row 2 has -1"):
        demanding(demand_gpus=[1, -1, 0])
    with pytest.raises(TraceError, match=r"unknown columns gpus; .* demand_NAME"):
        demanding(gpus=[1, 1, 0])


# -- jobs that go on


def test_running_and_pending_jobs_are_kept_apart(tmp_path, log):
    assert log.meta.unfinished == {"PENDING": 1, "RUNNING": 1}
    finding = next(one for one in log.meta.report if one.rule == "unfinished")
    assert finding.action == "kept apart"
    assert "1 PENDING, 1 RUNNING" in finding.why
    apart = onega.read(tmp_path / "sacct.txt", rows="unfinished", timezone="UTC")
    assert apart.table.select("job", "submit", "wait", "runtime", "procs").rows() == [
        (105, 350.0, 50.0, 500.0, 8),
        (106, 360.0, None, None, 8),
    ]
    assert apart.meta.epoch == log.meta.epoch
    assert apart.names("user").to_list() == ["eve", "bob"]


def test_without_any_there_are_none(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text("1 0 0 1 1\n")
    with pytest.raises(TraceError, match="doesn't keep unfinished jobs apart"):
        onega.read(path, rows="unfinished")
    path = tmp_path / "jobs.csv"
    path.write_text("submit,runtime,procs,state\n0,1,1,COMPLETED\n")
    with pytest.raises(TraceError, match="all jobs of this log have finished"):
        onega.read(path, rows="unfinished")
