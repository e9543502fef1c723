"""The Kiefer–Wolfowitz recursion: against its twin, hpcwld's own answers, and the simulator."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onega
from onega import QueueingError, workload_recursion
from onega.core.workload.workload import Workload
from reference import recursion as twin


@st.composite
def customers(draw, most_servers=6):
    servers = draw(st.integers(1, most_servers))
    row = st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(1, servers))
    rows = draw(st.lists(row, min_size=1, max_size=40))
    gaps, service, widths = (list(column) for column in zip(*rows))
    return gaps, service, widths, servers


@settings(max_examples=300, deadline=None)
@given(customers())
def test_concurrent_release_is_the_twin(case):
    gaps, service, widths, servers = case
    delays, busy = twin.workload_recursion(gaps, service, widths, servers)
    out = workload_recursion(gaps, service, widths, servers=servers)
    assert out.delay.tolist() == delays
    assert out.busy.tolist() == busy


@settings(max_examples=300, deadline=None)
@given(customers(), st.integers(0, 2**32))
def test_independent_release_is_the_twin(case, seed):
    gaps, _, widths, servers = case
    service = np.random.default_rng(seed).integers(0, 9, (len(gaps), servers)).tolist()
    delays, busy = twin.workload_recursion(gaps, service, widths, servers, "independent")
    out = workload_recursion(gaps, service, widths, servers=servers, release="independent")
    assert out.delay.tolist() == delays
    assert out.busy.tolist() == busy


@settings(max_examples=100, deadline=None)
@given(customers(), st.integers(0, 2**32))
def test_the_vectors_are_the_twin_s(case, seed):
    gaps, service, widths, servers = case
    each = np.random.default_rng(seed).integers(0, 9, (len(gaps), servers)).tolist()
    for release, work in (("concurrent", service), ("independent", each)):
        expected = twin.workload_vectors(gaps, work, widths, servers, release)
        out = workload_recursion(
            gaps, work, widths, servers=servers, release=release, keep_vectors=True
        )
        assert out.vectors.tolist() == expected
        rows = np.arange(len(gaps))
        assert out.vectors[rows, np.array(widths) - 1].tolist() == out.delay.tolist()
        assert (out.vectors > 0).sum(axis=1).tolist() == out.busy.tolist()


def test_vectors_are_kept_only_if_asked_for_and_if_they_fit():
    assert workload_recursion([1], [1], [1], servers=2).vectors is None
    with pytest.raises(QueueingError, match="keep_vectors"):
        workload_recursion([1] * 10, [1] * 10, [1] * 10, servers=10**8, keep_vectors=True)


@settings(max_examples=100, deadline=None)
@given(customers(most_servers=40))
def test_fcfs_waits_are_its_delays(case):
    gaps, service, widths, servers = case
    submit = np.concatenate([[0], np.cumsum(gaps[:-1])])
    service = [1 + work for work in service]
    delays = workload_recursion(gaps, service, widths, servers=servers).delay
    log = Workload({"submit": submit, "runtime": service, "procs": widths})
    for ties in ("instant", "event"):
        schedule = onega.simulate(log, servers, "fcfs", ties=ties)
        assert (schedule.start - submit).tolist() == delays.tolist()


def test_an_empty_machine_delays_nobody():
    out = workload_recursion([9, 9, 9], [5, 5, 5], [1, 4, 2], servers=4)
    assert out.delay.tolist() == [0, 0, 0]
    assert out.busy.tolist() == [0, 0, 0]
    summary = out.summary()
    assert summary["share_delayed"] == 0
    assert out.to_polars().columns == ["delay", "busy"]


# -- hpcwld's own answers


def golden(shared, name: str) -> pl.DataFrame:
    return pl.read_csv(shared("golden", name), infer_schema_length=None)


def test_hpcwld_on_kth(shared):
    table = golden(shared, "hpcwld-kth-wld.csv.gz")
    assert table.height == 28467
    out = workload_recursion(table["interarrival"], table["service"], table["procs"], servers=100)
    assert out.delay.tolist() == table["delay"].cast(float).to_list()
    assert out.busy.tolist() == table["busy"].to_list()


def test_fcfs_is_hpcwld_on_kth(shared):
    table = golden(shared, "hpcwld-kth-wld.csv.gz")
    gaps = table["interarrival"].to_numpy()
    submit = np.concatenate([[0], np.cumsum(gaps[:-1])])
    log = Workload({"submit": submit, "runtime": table["service"], "procs": table["procs"]})
    for ties in ("instant", "event"):
        schedule = onega.simulate(log, 100, "fcfs", ties=ties)
        assert schedule.jobs["wait"].to_list() == table["delay"].cast(float).to_list()


def test_hpcwld_with_independent_release(shared):
    # For a customer as wide as the machine, hpcwld's loop over the other servers runs from s+1
    # down to s (R's `(s+1):s`) and overwrites the last server with max(0 - gap, 0): its work is
    # lost. Setting that work to zero gives hpcwld's numbers; ours keeps it.
    table = golden(shared, "hpcwld-independent-10.csv.gz")
    service = table.select([f"X{j}" for j in range(1, 11)]).to_numpy().copy()
    widths = table["procs"].to_numpy()
    columns = (table["interarrival"], service, widths)
    ours = workload_recursion(*columns, servers=10, release="independent")
    service[widths == 10, 9] = 0.0
    theirs = workload_recursion(*columns, servers=10, release="independent")
    delay = table["delay"].cast(float).to_numpy()
    # The file has 15 digits, and hpcwld subtracts gaps one by one where we keep absolute times.
    np.testing.assert_allclose(theirs.delay, delay, rtol=1e-9, atol=1e-9)
    assert theirs.busy.tolist() == table["busy"].to_list()
    first_wide = int(np.argmax(widths == 10))
    np.testing.assert_allclose(
        ours.delay[: first_wide + 1], delay[: first_wide + 1], rtol=1e-9, atol=1e-9
    )
    assert (ours.delay >= theirs.delay - 1e-9).all()


# -- bad input


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1], [1], [1]), {"servers": 0}, "servers"),
        (([1], [1], [3]), {"servers": 2}, "widths must be from 1 to 2; customer 1"),
        (([1], [1], [0]), {"servers": 2}, "widths"),
        (([1, -1], [1, 1], [1, 1]), {"servers": 2}, "gaps .* customer 2"),
        (([1, 1], [1, float("nan")], [1, 1]), {"servers": 2}, "service .* customer 2"),
        (([1, 1], [1], [1, 1]), {"servers": 2}, "belong together"),
        (([], [], []), {"servers": 2}, "belong together"),
        (([1], [1], [1]), {"servers": 2, "release": "independent"}, r"\(1, 2\)"),
        (([1], [1], [1]), {"servers": 2, "release": "concurent"}, "did you mean 'concurrent'"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(QueueingError, match=message):
        workload_recursion(*arguments, **options)
