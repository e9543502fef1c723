"""What is fuzzed: every reader with small files of its kind, and what is done with what it read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from fuzz_readers import CSV, GAPS, JOBCOMP, PBS, SACCT, SWF

import onega
from onega.comparison.adequacy.overheads import Overheads
from onega.core.machine.file import read_cluster
from onega.core.slurm.conf import read_slurm_conf
from onega.core.slurm.parameters import SlurmParameters
from onega.experiment.sweep.spec import read_spec
from onega.experiment.sweep.store import read_design
from onega.models import MODELS
from onega.simulation.machine.machine import find_misfits
from onega.traces.files import Limits
from onega.traces.tables.named import read_events, read_table


@dataclass(frozen=True)
class Target:
    """A reader: the name of the file it is given, files to begin with, and what is done."""

    name: str
    file: str
    made: list[bytes] | Callable[[], list[bytes]]
    use: Callable[[Path], object]

    @cached_property
    def seeds(self) -> list[bytes]:
        """Files to begin with; those of models are made by fits, where they are wanted."""
        return self.made() if callable(self.made) else self.made


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
policy = "spf+easy"
default = true
[sleep]
states = [{timeout = "5m", power = 2, delay = 10, wake_power = 9}]
[failures]
mean_up = "10d"
mean_down = "1h"
[multifactor]
age = 1
max_age = "7d"
[multifactor.shares]
1 = 2
"""
EVENTS = b"time,event,node,job,procs\n5,down,,,8\n7,up,,,8\n9,cancel,,2,\n"
NODE_EVENTS = b"time,event,node,job\n50,fail,1-2,\n60,return,1,\n"
DEMANDS = b"job,gpus\n1,0\n2,1\n"
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

LIMITS = Limits(size=1 << 26, ratio_from=1 << 20)


def _parquet() -> bytes:
    columns = {"submit": [1.0, 2.0], "runtime": [3, None], "procs": [1, 2], "user": ["a", "b"]}
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out)
    return out.getvalue()


def _log() -> onega.Workload:
    rng = np.random.default_rng(1)
    return onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(300, 300)).round(),
            "runtime": rng.lognormal(6, 1.5, 300).round() + 1,
            "procs": 2 ** rng.integers(0, 6, 300),
            "estimate": rng.choice([3600.0, 7200.0, 86400.0], 300),
            "user": rng.integers(1, 9, 300),
        }
    )


SMALL = onega.Workload(
    {
        "job": [1, 2, 3], "submit": [0.0, 5.0, 9.0], "runtime": [100.0, 50.0, 20.0],
        "procs": [4, 8, 2], "estimate": [120.0, 60.0, 60.0], "user": [1, 2, 1],
        "partition": [1, 1, 1],
    }
)  # fmt: skip


def _read(path: Path) -> None:
    log = onega.read(path, limits=LIMITS)
    again = path.with_name("again.swf")
    report = onega.write(log, again)
    if not report and len(onega.read(again)) != len(log):
        raise AssertionError("another number of jobs after a round trip")
    cleaned, _ = onega.clean(log, flurries=True, jitter=True, rng=1)
    widest = int(cleaned.column("procs").max()) if len(cleaned) else 0
    if 0 < widest <= 4096:
        # Jobs without a run time or so are refused in a line.
        policy = ("slurm", "easy", "fcfs+conservative")[len(log) % 3]
        onega.simulate(cleaned, widest, policy).summary()


def _mapped(path: Path) -> None:
    table = path.with_name("mapped.csv")
    table.write_bytes(MAPPED)
    onega.read(table, limits=LIMITS, columns=path)


def _cluster(path: Path) -> None:
    machine = read_cluster(path)
    if machine.procs <= 4096:
        find_misfits(SMALL, machine)
        onega.simulate(SMALL, machine, "easy", rng=1).summary()


def _events(path: Path) -> None:
    onega.simulate(SMALL, 8, "easy", events=read_events(path), rng=1).summary()


def _node_events(path: Path) -> None:
    machine = onega.Cluster(nodes=[onega.NodeGroup(2, 4)])
    onega.simulate(SMALL, machine, "easy", events=read_events(path), rng=1).summary()


def _demands(path: Path) -> None:
    machine = onega.Cluster(nodes=[onega.NodeGroup(2, 4, gpus=2)])
    onega.simulate(SMALL, machine, "easy", demands=read_table(path), rng=1).summary()


def _conf(path: Path) -> None:
    parameters = SlurmParameters.of(read_slurm_conf(path))
    policy = onega.Policy("slurm", knowledge="estimate", slurm=parameters)
    onega.simulate(SMALL, 8, policy).summary()


def _model(path: Path) -> None:
    onega.models.load(path).sample(30, rng=1)


LOGS = {
    "swf": SWF, "sacct": SACCT, "jobcomp": JOBCOMP, "pbs": PBS, "csv": CSV, "gaps": GAPS,
    "parquet": _parquet(),
}  # fmt: skip
FAMILIES = ("independent", "markov", "markov-pair", "vlmc", "lublin", "jann", "downey",
            "feitelson96", "svr", "neural", "user-groups")  # fmt: skip
LAW = {"mean": 1.5, "sd": 1.0, "median": 1.0, "count": 9}
OVERHEADS = json.dumps(
    {
        "submission": LAW, "launch": LAW, "completion": LAW,
        "release": {"base": 0.5, "per_node": 0.01},
    }
).encode()  # fmt: skip


def _models() -> list[bytes]:
    return [MODELS[name].fit(_log(), rng=1).to_json().encode() for name in FAMILIES]


TARGETS = [
    *(Target(name, "log", [seed], _read) for name, seed in LOGS.items()),
    Target("any log", "log", list(LOGS.values()), _read),
    Target("map", "map.toml", [MAP], _mapped),
    Target("cluster", "cluster.toml", [CLUSTER, NODES], _cluster),
    Target("events", "events.csv", [EVENTS], _events),
    Target("node events", "node-events.csv", [NODE_EVENTS], _node_events),
    Target("demands", "demands.csv", [DEMANDS], _demands),
    Target("sweep", "sweep.toml", [SPEC], read_spec),
    Target("manifest", "sweep.json", [MANIFEST], lambda path: read_design(path.parent)),
    Target("slurm.conf", "slurm.conf", [CONF], _conf),
    Target("overheads", "overheads.json", [OVERHEADS], lambda path: Overheads.load(path).summary()),
    Target("model", "model.json", _models, _model),
]
