"""From what a sweep file says to its runs: each with its parameters and a key of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from onega import __version__
from onega.core.rng import child, generator
from onega.experiment.sweep.keys import CASE, OF_WORKLOAD, TABLES
from onega.experiment.sweep.policies import ABOUT
from onega.experiment.sweep.policies import KEY as POLICY
from onega.experiment.sweep.spec import RandomDesign, Spec
from onega.experiment.sweep.tables import Range

FILES = ("trace", "model", "cluster", "overheads", *TABLES)
"""Keys whose values are (or may be) paths: what counts is what the files hold."""

COLUMNS = "columns"
"""Of how logs are read: a map of columns, or the path of one."""


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation of a sweep.

    Attributes
    ----------
    number
        Its place in the design, from 0.
    key
        A digest of everything that its result depends on; the name of its file.
    parameters
        Key → value, those that are fixed included.
    """

    number: int
    key: str
    parameters: Mapping[str, Any]

    def workload_key(self) -> str:
        """Return what decides which jobs come, as a text: equal for runs with the same jobs."""
        named = {name: self.parameters.get(name) for name in OF_WORKLOAD}
        if "load" in self.parameters:
            named["machine"] = {
                key: value
                for key, value in self.parameters.items()
                if key in ("procs", "cluster") or key == "cluster.procs"
            }
        return canonical(named)


@dataclass(frozen=True, slots=True)
class Design:
    """All runs of a sweep.

    Attributes
    ----------
    spec
        What varies.
    contents
        Path (as the spec says it) → digest of what the file holds.
    version
        Of Onega: another one may give other results.
    """

    spec: Spec
    contents: Mapping[str, str]
    version: str = __version__

    def __len__(self) -> int:
        count = max(1, len(self.spec.cases))
        for values in self.spec.grid.values():
            count *= len(values)
        return count * (self.spec.random.runs if self.spec.random else 1)

    def __iter__(self) -> Iterator[Run]:
        """Yield the runs: the last key of the grid changes fastest, then cases, then draws."""
        spec = self.spec
        grid = [[(key, value) for value in values] for key, values in spec.grid.items()]
        draws = draw(spec.random) if spec.random else [{}]
        combinations: Any = itertools.product(*grid, spec.cases or [{}], draws)
        for number, (*cell, case, drawn) in enumerate(combinations):
            parameters = {**spec.fixed, **dict(cell), **case, **drawn}
            yield Run(number, self._key(parameters), parameters)

    def _key(self, parameters: Mapping[str, Any]) -> str:
        """Digest what a result depends on: files by content, a case by what it sets."""
        facts = {
            key: self.contents.get(value, value) if key in FILES else value
            for key, value in parameters.items()
            if key != CASE
        }
        if POLICY in facts:
            facts[POLICY] = self.contents.get(f"{ABOUT}{facts[POLICY]}", facts[POLICY])
        read = dict(self.spec.read)
        if isinstance(columns := read.get(COLUMNS), str):
            read[COLUMNS] = self.contents.get(columns, columns)
        whole = {
            "onega": self.version,
            "parameters": facts,
            "measures": list(self.spec.measures),
            "read": read,
            "workload": self.contents.get(""),
        }
        return hashlib.sha256(canonical(whole).encode()).hexdigest()[:32]

    def digest(self) -> str:
        """Digest the whole sweep: two sweeps with the same one have the same table."""
        spec = {name: value for name, value in self.spec.to_dict().items() if name != "note"}
        whole = {"onega": self.version, "spec": spec, "contents": dict(self.contents)}
        return hashlib.sha256(canonical(whole).encode()).hexdigest()

    def to_polars(self) -> pl.DataFrame:
        """One row per run: its number, key and what varies."""
        varied = self.spec.varied
        rows = list(self)
        columns: dict[str, Any] = {
            "run": pl.Series("run", [run.number for run in rows], dtype=pl.Int64),
            "key": pl.Series("key", [run.key for run in rows], dtype=pl.String),
        }
        for name in varied:
            columns[name] = column(name, [run.parameters.get(name) for run in rows])
        return pl.DataFrame(columns)


def draw(random: RandomDesign) -> list[dict[str, Any]]:
    """Draw the random part: each key from a stream of its own, so that adding one moves no other.

    ``latin``: a Latin hypercube (McKay, Beckman and Conover 1979): each key's range is cut into as
    many equal parts as there are runs, and each part is drawn from once.
    """
    columns: dict[str, list[Any]] = {}
    for name, source in random.keys.items():
        # By name, not by place, so that the order in the file doesn't matter either.
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
        stream = generator(child(random.seed, number))
        shares = stream.random(random.runs)
        if random.method == "latin":
            shares = (stream.permutation(random.runs) + shares) / random.runs
        columns[name] = [_at(source, float(min(share, np.nextafter(1, 0)))) for share in shares]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _at(source: Range | tuple[Any, ...], share: float) -> Any:  # noqa: ANN401
    if isinstance(source, Range):
        return source.drawn(share)
    return source[int(share * len(source))]


def column(name: str, values: list[Any]) -> pl.Series:
    """Make a column of parameters: numbers, texts, truths, lists of numbers; else JSON."""
    known = [value for value in values if value is not None]
    kinds = {type(value) for value in known}
    if kinds <= {int}:
        return pl.Series(name, values, dtype=pl.Int64)
    if kinds <= {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    if kinds in ({str}, {bool}):
        return pl.Series(name, values)
    numeric = all(
        isinstance(value, list) and all(type(one) in (int, float) for one in value)
        for value in known
    )
    if numeric:
        lists = [None if value is None else [float(one) for one in value] for value in values]
        return pl.Series(name, lists, dtype=pl.List(pl.Float64))
    texts = [None if value is None else canonical(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def canonical(value: Any) -> str:  # noqa: ANN401
    """Write a value as JSON with one spelling."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
