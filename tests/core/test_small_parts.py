"""Reports, meta, errors, randomness, units."""

import pickle
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onega
from onega import (
    MachineError,
    Meta,
    ModelError,
    OnegaError,
    PolicyError,
    QueueingError,
    Report,
    ScheduleError,
    SimulationError,
    TableError,
    TraceError,
)
from onega.core.errors import ExperimentError, name_some, printable, suggest
from onega.core.rng import child, describe_seed, generator, seed_sequence
from onega.core.units import clock_words, duration, humanise_seconds
from onega.core.workload.report import Finding, examples


class TestReport:
    def test_rules_that_touched_nothing_are_left_out(self):
        report = Report.of([Finding("a", "dropped", 0, "x"), Finding("b", "changed", 2, "y")])
        assert len(report) == 1
        assert bool(report)
        assert not Report()

    def test_counts(self):
        report = Report((Finding("a", "dropped", 3, "x"), Finding("b", "changed", 2, "y")))
        both = report + Report((Finding("a", "changed", 1, "z"), Finding("c", "noted", 9, "w")))
        assert (both.dropped, both.changed, both.count("a"), both.count("nope")) == (3, 3, 4, 0)
        assert both.summary() == {"a": 4, "b": 2, "c": 9}
        assert [finding.rule for finding in both] == ["a", "b", "a", "c"]
        assert both.to_polars().columns == ["rule", "action", "count", "why"]
        assert both.to_polars().height == 4
        assert Report().to_polars().height == 0

    def test_text(self):
        assert str(Report((Finding("a", "dropped", 3, "bad rows"),))) == "dropped 3: bad rows"
        assert str(Report()) == "nothing changed"

    def test_examples_have_no_empty_fields(self):
        rows = pl.DataFrame({"a": range(9), "b": [None] * 9})
        assert examples(rows) == tuple({"a": n} for n in range(5))


def test_meta_notes_and_facts():
    meta = Meta(source="x", procs=4).noting("cut", procs=2)
    assert (meta.provenance, meta.procs, meta.source) == (("cut",), 2, "x")
    assert Meta(source="a").facts() == Meta(source="b", header=("h",)).facts()
    assert Meta(procs=1).facts() != Meta().facts()


class TestErrors:
    @pytest.mark.parametrize(
        ("place", "text"),
        [
            ({}, "bad"),
            ({"path": "a.swf"}, "a.swf: bad"),
            ({"path": "a.swf", "line": 3, "field": "procs"}, "a.swf, line 3, field procs: bad"),
            ({"line": 3}, "line 3: bad"),
            ({"field": "procs"}, "field procs: bad"),
        ],
    )
    def test_place(self, place, text):
        assert str(TraceError("bad", **place)) == text

    def test_one_line_whatever_the_file_says(self):
        error = TraceError("it's\nnot", path="a\x00b", field="\x1b[31m")
        assert len(str(error).splitlines()) == 1
        assert "\x1b" not in str(error)
        assert printable("é\t") == "é\\t"

    @pytest.mark.parametrize(
        "error",
        [
            TraceError("bad", path="a", line=1, field="f"),
            SimulationError("bad", jobs=[1, 2]),
            ModelError("bad"),
        ],
    )
    def test_errors_travel_between_processes(self, error):
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error)
        assert type(again) is type(error)

    def test_tree(self):
        for kind in (ModelError, SimulationError, QueueingError, ExperimentError):
            assert issubclass(kind, OnegaError)
            assert issubclass(kind, ValueError)
        assert issubclass(TraceError, OnegaError)
        assert not issubclass(TraceError, ValueError)

    def test_naming_jobs(self):
        assert name_some([]) == ""
        assert name_some([3]) == " (job 3)"
        assert name_some(range(7)) == " (jobs 0, 1, 2, 3, 4 and 2 more)"
        assert str(SimulationError("too wide", jobs=[9])) == "too wide (job 9)"

    def test_suggest(self):
        assert suggest("eazy", ["easy", "fcfs"]) == "did you mean 'easy'? accepted: easy, fcfs"
        assert suggest("xyz", ["easy", "fcfs"]) == "accepted: easy, fcfs"


class TestRng:
    @given(st.integers(0, 2**40))
    def test_seeds_repeat(self, seed):
        assert generator(seed).random() == generator(seed).random()
        assert seed_sequence(np.int64(seed)).entropy == seed

    def test_children_are_reachable_alone_and_differ(self):
        parent = seed_sequence(5)
        third = parent.spawn(4)[3]
        assert child(5, 3).generate_state(4).tolist() == third.generate_state(4).tolist()
        draws = {float(generator(child(5, k)).random()) for k in range(20)}
        assert len(draws) == 20
        assert child(child(5, 1), 2).spawn_key == (1, 2)

    def test_a_generator_is_advanced(self):
        given_one = np.random.default_rng(1)
        assert generator(given_one) is given_one
        assert seed_sequence(given_one).entropy != seed_sequence(given_one).entropy

    def test_fresh_entropy_can_be_recorded(self):
        seed = seed_sequence(None)
        assert f"SeedSequence({seed.entropy}" in describe_seed(seed)
        assert describe_seed(child(7, 2)) == "SeedSequence(7, spawn_key=(2,))"

    @pytest.mark.parametrize("wrong", [-1, 1.5, "5", True, [1]])
    def test_refused(self, wrong):
        with pytest.raises(ValueError, match="rng must be"):
            seed_sequence(wrong)


class TestUnits:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            *[(90, 90.0), ("90", 90.0), ("1.5", 1.5), ("90s", 90.0), ("15m", 900.0)],
            *[("15min", 900.0), ("1h", 3600.0), ("1h30m", 5400.0), ("1 h 30 m", 5400.0)],
            *[("2D", 172800.0), ("1w", 604800.0), ("0.5h", 1800.0)],
        ],
    )
    def test_duration(self, text, seconds):
        assert duration(text) == seconds

    @pytest.mark.parametrize("text", ["", "h", "5x", "1h30", "1:30", "-5m"])
    def test_not_a_duration(self, text):
        with pytest.raises(ValueError, match="not a duration"):
            duration(text)

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            *[(None, "–"), (float("nan"), "–"), (float("inf"), "inf s"), (42, "42 s")],
            *[(750, "12.5 min"), (11520, "3.2 h"), (14 * 86400, "14 d"), (7e7, "2.22 years")],
            *[(-42, "-42 s"), (0.5, "0.5 s")],
        ],
    )
    def test_for_people(self, seconds, text):
        assert humanise_seconds(seconds) == text

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0, "0 s"), (59.6, "1 min"), (300, "5 min"), (12000, "3 h 20 min"), (3601, "1 h 1 s")],
    )
    def test_clock_words(self, seconds, text):
        assert clock_words(seconds) == text


@pytest.mark.parametrize("kind", [OnegaError, ModelError, SimulationError, TraceError])
def test_a_message_is_one_line(kind):
    error = kind("no column 'ev\u2028nt'; there are: a\x1cb\r\nc\x85d")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert len(str(one).splitlines()) == 1
        assert "ev\\u2028nt" in str(one)


ONE_JOB = onega.Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]})
WHERE = {
    MachineError: lambda: onega.Cluster(0),
    PolicyError: lambda: onega.Policy.parse("esay"),
    TableError: lambda: onega.Events({"time": [-1.0], "event": ["fail"], "node": ["1"]}),
    ScheduleError: lambda: onega.simulate(ONE_JOB, 1, "fcfs").events,
}


@pytest.mark.parametrize("kind", WHERE)
def test_errors_tell_where_the_fault_is(kind):
    """And code that catches the error of simulations goes on catching them."""
    with pytest.raises(SimulationError) as caught:
        WHERE[kind]()
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(caught.value) is type(again) is kind
    assert str(again) == str(caught.value)


def test_the_core_runs_no_simulations():
    """So none of its modules raises the error of simulations itself."""
    core = Path(onega.core.errors.__file__).parent
    raised = [
        path.name
        for path in core.rglob("*.py")
        if re.search(r"(raise|return) SimulationError", path.read_text(encoding="utf-8"))
    ]
    assert raised == []
