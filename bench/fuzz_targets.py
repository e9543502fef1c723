"""What is fuzzed: every reader with small files of its kind, and what is done with what it read."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import fuzz_seeds as seeds
import numpy as np

import onega
from onega.comparison.golden import read_golden
from onega.core.machine.laws import Law
from onega.core.machine.overheads import Overheads
from onega.core.machine.settings.reading import read_cluster
from onega.core.machine.speedup import parse_speedup
from onega.core.slurm.conf import read_slurm_conf
from onega.core.slurm.parameters import SlurmParameters
from onega.experiment.planning.targets import Precision, parse_targets
from onega.experiment.sweep.spec import read_spec
from onega.experiment.sweep.store import read_design
from onega.models import MODELS
from onega.queueing.limits.laws import parse_limit
from onega.queueing.runtime_laws import RuntimeLaw
from onega.queueing.widths import Widths
from onega.simulation.machine.machine import find_misfits
from onega.traces.files import Limits
from onega.traces.reading import FORMATS
from onega.traces.swf import reader as swf_reader
from onega.traces.tables.named import read_events, read_table
from onega.traces.tables.parquet import META_KEY

LIMITS = Limits(size=1 << 26, ratio_from=1 << 20)

WIDEST = 4096
"""Machines up to so many processors are simulated."""

Use = Callable[[Path, random.Random], object]


@dataclass(frozen=True)
class Target:
    """A reader: the name of the file it is given, files to begin with, and what is done."""

    name: str
    file: str
    made: list[bytes] | Callable[[], list[bytes]]
    use: Use

    @cached_property
    def seeds(self) -> list[bytes]:
        """Files to begin with; those of models are made by fits, where they are wanted."""
        return self.made() if callable(self.made) else self.made


SMALL = onega.Workload(
    {
        "job": [1, 2, 3], "submit": [0.0, 5.0, 9.0], "runtime": [100.0, 50.0, 20.0],
        "procs": [4, 8, 2], "estimate": [120.0, 60.0, 60.0], "user": [1, 2, 1],
        "partition": [1, 1, 1], "queue": [1, 1, None],
    }
)  # fmt: skip


def read_log(path: Path, rng: random.Random, formats: tuple[str | None, ...] = (None,)) -> None:
    """Read a log by either algorithm, and do one of three things with what was read."""
    swf_reader.SMALL = rng.choice([-1, 1 << 30])
    zone = rng.choice([None, None, "America/Denver"])
    log = onega.read(path, rng.choice(formats), timezone=zone, limits=LIMITS)
    then = rng.choice([_round_trip, _cleaned, _simulated])
    then(log, path.with_name("again.swf"))


def _round_trip(log: onega.Workload, again: Path) -> None:
    report = onega.write(log, again)
    if not report and len(onega.read(again)) != len(log):
        raise AssertionError("another number of jobs after a round trip")


def _cleaned(log: onega.Workload, _: Path) -> None:
    onega.clean(log, flurries=True, jitter=True, rng=1)


def _simulated(log: onega.Workload, _: Path) -> None:
    cleaned, _ = onega.clean(log)
    widest = int(cleaned.table["procs"].max() or 0)
    if 0 < widest <= WIDEST:
        policy = ("slurm", "easy", "fcfs+conservative")[len(log) % 3]
        onega.simulate(cleaned, widest, policy).summary()


def _any_log(path: Path, rng: random.Random) -> None:
    read_log(path, rng, (None, *(one.name for one in FORMATS)))


def _mapped(path: Path, _: random.Random) -> None:
    table = path.with_name("mapped.csv")
    table.write_bytes(seeds.MAPPED)
    onega.read(table, limits=LIMITS, columns=path)


def _stored(path: Path, rng: random.Random) -> None:
    """Read what a Parquet file says of a log beside its jobs, and use it."""
    told = path.read_bytes().decode("utf-8", "replace")
    table = path.with_name("stored.parquet")
    SMALL.table.write_parquet(table, metadata={META_KEY: told})
    log = onega.read(table, limits=LIMITS)
    if rng.random() < 0.5:
        onega.describe(log).summary()
    else:
        _round_trip(log, path.with_name("again.swf"))


def _cluster(path: Path, _: random.Random) -> None:
    machine = read_cluster(path)
    if machine.procs <= WIDEST:
        find_misfits(SMALL, machine)
        onega.simulate(SMALL, machine, "easy", rng=1).summary()


def _events(path: Path, _: random.Random) -> None:
    machine = onega.Cluster(8, power=onega.Power(10, 5))
    onega.simulate(SMALL, machine, "easy", events=read_events(path), rng=1).summary()


def _node_events(path: Path, _: random.Random) -> None:
    machine = onega.Cluster(nodes=[onega.NodeGroup(2, 4)])
    onega.simulate(SMALL, machine, "easy", events=read_events(path), rng=1).summary()


def _demands(path: Path, _: random.Random) -> None:
    machine = onega.Cluster(nodes=[onega.NodeGroup(2, 4, gpus=2)])
    onega.simulate(SMALL, machine, "easy", demands=read_table(path), rng=1).summary()


def _options(path: Path, _: random.Random) -> None:
    onega.simulate(SMALL, 8, "easy", moldable=read_table(path), rng=1).summary()


def _conf(path: Path, _: random.Random) -> None:
    parameters = SlurmParameters.of(read_slurm_conf(path))
    policy = onega.Policy("slurm", knowledge="estimate", slurm=parameters)
    onega.simulate(SMALL, 8, policy).summary()


def _model(path: Path, _: random.Random) -> None:
    onega.models.load(path).sample(30, rng=1)


def _golden(path: Path, _: random.Random) -> None:
    read_golden(path.read_text(encoding="utf-8", errors="replace").splitlines(), "golden")


def _of_text(parse: Callable[[str], object]) -> Use:
    """Use what is read from a text, as the command line gives it."""
    return lambda path, _: parse(path.read_bytes().decode("utf-8", "replace"))


def _drawn(parse: Callable[[str], object]) -> Callable[[str], object]:
    return lambda text: parse(text).draw(20, np.random.default_rng(1))  # type: ignore[attr-defined]


FAMILIES = ("independent", "markov", "markov-pair", "vlmc", "lublin", "jann", "downey",
            "feitelson96", "svr", "neural", "user-groups")  # fmt: skip


def _models() -> list[bytes]:
    rng = np.random.default_rng(1)
    log = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(300, 300)).round(),
            "runtime": rng.lognormal(6, 1.5, 300).round() + 1,
            "procs": 2 ** rng.integers(0, 6, 300),
            "estimate": rng.choice([3600.0, 7200.0, 86400.0], 300),
            "user": rng.integers(1, 9, 300),
        }
    )
    return [MODELS[name].fit(log, rng=1).to_json().encode() for name in FAMILIES]


def _text(name: str, made: list[bytes], parse: Callable[[str], object]) -> Target:
    return Target(name, "text", made, _of_text(parse))


TARGETS = [
    *(Target(name, "log", [seed], read_log) for name, seed in seeds.LOGS.items()),
    Target("any log", "log", list(seeds.LOGS.values()), _any_log),
    Target("stored meta", "meta.json", [seeds.STORED], _stored),
    Target("map", "map.toml", [seeds.MAP], _mapped),
    Target("cluster", "cluster.toml", [seeds.CLUSTER, seeds.NODES, seeds.POOL], _cluster),
    Target("events", "events.csv", [seeds.EVENTS, seeds.POWER_EVENTS], _events),
    Target("node events", "node-events.csv", [seeds.NODE_EVENTS], _node_events),
    Target("demands", "demands.csv", [seeds.DEMANDS], _demands),
    Target("options", "options.csv", [seeds.OPTIONS], _options),
    Target("sweep", "sweep.toml", [seeds.SPEC], lambda path, _: read_spec(path)),
    Target("manifest", "sweep.json", [seeds.MANIFEST], lambda path, _: read_design(path.parent)),
    Target("slurm.conf", "slurm.conf", [seeds.CONF], _conf),
    Target(
        "overheads",
        "overheads.json",
        [seeds.OVERHEADS],
        lambda path, _: Overheads.load(path),
    ),
    Target("model", "model.json", _models, _model),
    Target("golden", "golden.txt", [seeds.GOLDEN], _golden),
    _text("policy", seeds.POLICIES, onega.Policy.parse),
    _text("law", seeds.LAWS, _drawn(Law.parse)),
    _text("speed-up", seeds.SPEEDUPS, lambda text: parse_speedup(text).speedup([1, 2, 4])),
    _text("widths", seeds.WIDTHS, lambda text: Widths.parse(text).mean),
    _text("run times", seeds.RUNTIMES, _drawn(RuntimeLaw.parse)),
    _text("limit", seeds.TIME_LIMITS, parse_limit),
    _text("target", seeds.GOALS, parse_targets),
    _text("precision", seeds.PRECISIONS, Precision.parse),
]
