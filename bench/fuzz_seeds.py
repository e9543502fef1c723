"""Small files of every kind that Onega reads: what fuzzing begins with, each of them right."""

from __future__ import annotations

import io
import json

import polars as pl

SWF = b"""; Version: 2.2
; UnixStartTime: 843480031
; TimeZoneString: Europe/Stockholm
; MaxProcs: 100
; Queue: 1 short
 1 0 10 100 4 90.5 2048 8 3600 4096 1 3 2 7 1 0 -1 -1
 2 5 -1 100 4 -1 -1 -1 3600 -1 0 3 2 7 1 0 1 60
 3 9 10 1e2 4 90.5 2048 8 3600 4096 5 3 2 7 1 0 -1 -1
"""
SACCT = b"""JobID|User|Account|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|MaxRSS|ReqMem
1|ann|ph|COMPLETED|2024-01-10T10:00:00|2024-01-10T10:05:00|2024-01-10T11:05:00|01:00:00|1-00|3||4Gc
1.batch||ph|COMPLETED|2024-01-10T10:05:00|2024-01-10T10:05:00|Unknown|01:00:00||32|123K|
101_4|bob|ph|CANCELLED by 5|2024-01-10T10:00:00|Unknown|2024-01-10T11:05:00|00:00|UNLIMITED|0||1M
102+0|bob|ph|TIMEOUT|1704880800|1704880900|1704880910|10|90|2||1M
"""
JOBCOMP = (
    b"JobId=1 UserId=ann(1001) GroupId=users(100) Name=x JobState=COMPLETED Partition=debug "
    b"TimeLimit=2 StartTime=2024-01-10T10:00:00 EndTime=2024-01-10T10:01:41 NodeList=n1 NodeCnt=2 "
    b"ProcCnt=2 WorkDir=/ ReservationName= Tres=cpu=2 Account= QOS=normal WcKey= Cluster=c "
    b"SubmitTime=2024-01-10T09:59:59 EligibleTime=Unknown DerivedExitCode=0:0 ExitCode=0:0\n"
)
PBS = (
    b"01/10/2024 11:00:00;Q;8.head;queue=batch\n01/10/2024 11:00:05;D;8.head;requestor=a\n"
    b"01/10/2024 11:18:20;E;7.head;user=ann group=users queue=batch ctime=1704880800 "
    b"start=1704880900 exec_host=n1/0*8+n2/0-3 Resource_List.nodes=2:ppn=4 "
    b"Resource_List.walltime=01:00:00 end=1704881900 Exit_status=0 resources_used.cput=02:13:20 "
    b"resources_used.mem=8192kb resources_used.walltime=00:16:40\n"
)
CSV = b"""job_id,user,submit_time,start_time,end_time,cores,memory,state
9,eve,2024-01-01 00:00:00,2024-01-01 00:00:05,2024-01-01 00:01:05+01:00,8,4G,TIMEOUT
8,"b, x",2024-01-01 00:00:02.5,2024-01-01 00:00:05Z,2024-01-01 00:01:05,4,,completed
"""
BATSIM = b"""{"nb_res": 4, "jobs": [
{"id": "w0!1", "subtime": 0, "walltime": 100, "res": 2, "profile": "short"},
{"id": "w0!2", "subtime": 1.5, "res": 4, "profile": "long"},
{"id": "w0!3", "subtime": 1.5, "walltime": -1, "res": 1, "profile": "short"}],
"profiles": {"short": {"type": "delay", "delay": 10},
"long": {"type": "DelayProfile", "delay": 2e2}}}
"""
GAPS = b"interarrival,service,cores,delays\n10,5,1,0\n-20,6,2,3\n99,7.5,0,4\n"

MAP = b"""separator = ","
timezone = "Europe/Stockholm"
[columns]
submit = { name = "submit_time" }
runtime = "runtime"
procs = "cores"
[states]
DONE = "completed"
[machine]
procs = 64
"""
MAPPED = b"submit_time,runtime,cores\n1,2,3\n4,5,6\n"
CLUSTER = b"""procs = 8
[rate_control]
kind = "queue"
rates = [0.5, 1.0]
k_low = 1
k_high = 3
[power]
busy = [10, 20]
idle = [5, 8]
"""
NODES = b"""[[nodes]]
count = 2
procs = 4
memory = "8GiB"
gpus = 1
[[partitions]]
name = "1"
nodes = "1-2"
policy = "multifactor+easy"
default = true
[[queues]]
name = 1
priority = 5
max_jobs = 3
max_time = "12h"
default = true
[user_limits]
max_procs = 8
[power]
busy = 10
idle = 5
[sleep]
states = [{timeout = "5m", power = 2, delay = 10, wake_power = 9}]
[failures]
time_to_failure = "weibull(shape=0.7, mean=10d)"
time_to_repair = "lognormal(sigma=0.8, median=1h)"
[overheads]
launch = "gamma(mean=2, sd=1)"
completion = "5s"
[interruption]
rule = "checkpoint"
interval = "1h"
[multifactor]
age = 1
max_age = "7d"
half_life = "7d"
period = 300
[multifactor.shares]
1 = 2
"""
POOL = b"""procs = 8
power_cap = [[0, 90], [50, 85.5]]
[power]
busy = 10
idle = 5
[resources]
matlab = 2
[[partitions]]
name = 1
procs = 8
placement = "best-fit"
[multifactor]
fair_share = 10
"""
EVENTS = b"time,event,node,job,procs\n5,down,,,8\n7,up,,,8\n9,cancel,,2,\n"
POWER_EVENTS = b"""time,event,job,procs,until,watts
3,reserve,,4,50,
5,cap,,,,85
6,interrupt,1,,,
8,kill,3,,,
"""
NODE_EVENTS = b"time,event,node,job\n50,fail,1-2,\n55,return,1,\n60,drain,1,\n70,return,2,\n"
OPTIONS = b"job,procs,runtime,estimate\n1,2,150,200\n1,8,60,90\n2,4,80,\n"
DEMANDS = b"job,gpus\n1,0\n2,2\n3,1\n"
SPEC = b"""[fixed]
trace = "log.swf"
procs = 8
[vary]
policy = ["easy", "fcfs"]
seed = { from = 1, to = 3 }
[[cases]]
name = "slow"
"cluster.power.busy" = 5
"""
CONF = b"""ClusterName=x
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=45,bf_resolution=300,\\
defer
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityMaxAge=2-12
NodeName=n[1-4] CPUs=4
"""
MANIFEST = json.dumps(
    {
        "onega_sweep": 1, "onega": "0.1.0", "runs": 2, "varied": ["policy"], "contents": {"": "ab"},
        "spec": {"fixed": {"trace": "log.swf"}, "vary": {"policy": ["easy", "fcfs"]}},
    }
).encode()  # fmt: skip
OVERHEADS = json.dumps(
    {
        "about": "a word", "submission": "gamma(mean=1, sd=2)", "launch": 0.5,
        "completion": "lognormal(sigma=1, median=2s)", "release": "0.5s", "report": "fixed(0.01)",
    }
).encode()  # fmt: skip

STORED = json.dumps(
    {
        "source": "a.swf", "format": "swf", "epoch": 1e9, "timezone": "Europe/Stockholm",
        "utc_offset": 3600.0, "procs": 8, "nodes": 2, "header": [" Note: x"], "provenance": ["y"],
        "labels": {"user": {"1": "ann"}, "queue": {"1": "short"}}, "unfinished": {"RUNNING": 2},
    }
).encode()  # fmt: skip
GOLDEN = b"; policy: easy\n; procs: 8\n1 0 100\n2 100 150.5\n3 5 25\n"

POLICIES = [b"easy", b"fcfs+conservative", b"spf+easy", b"lcfs-pr", b"multifactor", b"wfp3+easy"]
LAWS = [
    *(b"weibull(shape=0.7, mean=30d)", b"lognormal(mean=10, sd=5)", b"gamma(shape=2, scale=3)"),
    *(b"lognormal(sigma=0.8, median=1h)", b"exponential(1d)", b"90s"),
]
SPEEDUPS = [b"amdahl(0.05, most=16)", b"downey(16, 1)"]
WIDTHS = [
    *(b"fixed:4", b"geometric:0.3", b"poisson:2.5", b"uniform:8-16", b"list:1:0.5,2:0.5"),
    *(b"1:0.5,2:0.5", b"0.5,0.3,0.2"),
]
RUNTIMES = [
    *(b"exponential", b"erlang(3)", b"constant", b"weibull(shape=0.7)", b"lognormal(sigma=1)"),
    b"hyperexponential(0.9:0.1, 0.1:9.1)",
]
TIME_LIMITS = [b"none", b"exponential:1h", b"deterministic:90", b"gamma:2:15m", b"weibull:0.7:1h"]
GOALS = [b"p95(wait)<1h", b"mean(bounded_slowdown)<4", b"utilisation>0.8", b"share(wait>1h)<5%"]
PRECISIONS = [b"ci(mean(wait))<5%", b"ci(p95(wait))<10m"]


def parquet() -> bytes:
    """Return a small log as Parquet."""
    columns = {"submit": [1.0, 2.0], "runtime": [3, None], "procs": [1, 2], "user": ["a", "b"]}
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


LOGS = {
    "swf": SWF, "sacct": SACCT, "jobcomp": JOBCOMP, "pbs": PBS, "csv": CSV, "gaps": GAPS,
    "batsim": BATSIM,    "parquet": parquet(),
}  # fmt: skip
"""A log of each format, by the format's name."""
