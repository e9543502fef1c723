"""What every reader owes: a workload or one line, whatever the bytes; no change of state."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega import OnegaError, TraceError, Workload
from onega.traces.reading import FORMATS
from places import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import fuzz_seeds
from fuzz_mutations import mutated
from fuzz_targets import read_log

NAMES = [one.name for one in FORMATS]


@pytest.fixture(scope="module")
def seeds():
    return fuzz_seeds.LOGS


@pytest.mark.parametrize("name", NAMES)
def test_recognised_and_read(name, seeds, tmp_path):
    path = tmp_path / "unnamed"
    path.write_bytes(seeds[name])
    log = onega.read(path)
    assert isinstance(log, Workload)
    assert log.meta.format == name
    assert log.meta.source == "unnamed"
    assert log.meta.provenance == (f"read from unnamed ({name})",)
    assert onega.read(path, name) == log
    assert log.table["submit"].min() == 0.0 or log.meta.epoch is None
    assert path.read_bytes() == seeds[name]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_mutations(name, seeds, tmp_path_factory, seed):
    if name == "parquet":
        return  # Polars' own decoder: bench/fuzz.py
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("m")
    path = folder / "log"
    path.write_bytes(mutated(seeds[name], rng, list(seeds.values())))
    told = ""
    try:
        read_log(path, rng, (None, name))
    except OnegaError as error:
        told = str(error)
    assert len(told.splitlines()) <= 1


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(data=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes(name, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("m") / "log"
    path.write_bytes(data)
    try:
        outcome = repr(onega.read(path, name))
    except TraceError as error:
        outcome = str(error)
    assert len(outcome.splitlines()) == 1
    assert outcome.startswith(("<Workload", str(path)))


@pytest.mark.parametrize("name", NAMES)
def test_every_format_takes_a_zone_and_limits(name, seeds, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(seeds[name])
    log = onega.read(path, timezone="America/Denver", limits=onega.traces.files.Limits())
    assert log.meta.timezone == "America/Denver"


def test_unknown_format_and_zone(tmp_path):
    with pytest.raises(TraceError, match="did you mean 'sacct'"):
        onega.read(tmp_path / "x", "sact")
    with pytest.raises(TraceError, match="did you mean 'Europe/Paris'"):
        onega.read(tmp_path / "x", timezone="Europe/Pari")
