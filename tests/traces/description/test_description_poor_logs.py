"""Logs that lack things never crash: not the numbers, not the screen, not the figures."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onega.cli.logs.describe_screen import print_description
from onega.core.json_safe import json_safe
from onega.core.workload.meta import Meta
from onega.core.workload.workload import Workload
from onega.figures.describe import KINDS, draw_all
from onega.traces.description import describe
from traces.description.logs import full_log, small_log

OPTIONAL = ("estimate", "wait", "user")
MACHINE = Meta(procs=4, epoch=1e9, timezone="Europe/Stockholm")


def without(*names):
    log = full_log(60)
    empty = [pl.lit(None, dtype=log.table[name].dtype).alias(name) for name in names]
    return Workload(log.table.with_columns(empty), log.meta)


def everything(log):
    """Describe, write, print and draw; returns the figures' names and why others are missing."""
    description = describe(log)
    json.dumps(json_safe(description.summary()), allow_nan=False)
    print_description(description)
    figures, left_out = draw_all(description)
    for figure in figures.values():
        json.loads(figure.to_json())
    assert set(figures) | set(left_out) == set(KINDS)
    assert all(left_out.values())
    return description, set(figures), left_out


@pytest.mark.parametrize(
    ("log", "undrawn"),
    [
        (without("estimate"), {"accuracy", "estimates"}),
        (without("user"), {"submissions", "users"}),
        (without("wait"), set()),
        (without("runtime"), {"runtimes", "runs", "tail", "accuracy"}),
        (without("procs"), {"widths", "runs", "users", "accuracy"}),
        (without("runtime", "procs", *OPTIONAL), set(KINDS) - {"daily", "weekly"}),
        (without().head(1), {"runs", "tail"}),
        (small_log(runtime=[0.0, 0.0, 0.0], meta=MACHINE), {"runs", "tail"}),
        (small_log(procs=[4, 4, 4], meta=MACHINE), {"width_successors"}),
        (small_log(submit=[0.0, 0.0, 0.0], runtime=[7.0, 7.0, 7.0], meta=MACHINE), {"tail"}),
        (small_log(runtime=[0.5, 0.25, 0.1], meta=MACHINE), {"tail"}),
        (small_log(estimate=[1.0, 1.0, 1.0], meta=MACHINE), {"accuracy"}),
        (small_log(submit=[-5e8, 0.0, 5e9], meta=MACHINE), {"tail"}),
        (small_log(procs=[1, 2**40, 3], runtime=[1e12, 1.0, 1.0], meta=MACHINE), {"tail"}),
    ],
)
def test_poor_logs(log, undrawn, capsys):
    description, drawn, _ = everything(log)
    assert not undrawn & drawn
    screen = capsys.readouterr().out
    assert f"{len(log):,} job" in screen
    assert "nan" not in screen.replace("Not measured", "").lower().split()
    assert "None" not in screen.replace("None of", "")
    for name in description.missing:
        assert f"• {name}: " in screen


JOB = st.fixed_dictionaries(
    {
        "runtime": st.none() | st.sampled_from([0.0, -1.0, 1.0, 59.5, 86400.0, 1e9]),
        "procs": st.none() | st.sampled_from([-1, 0, 1, 2, 3, 64, 10**6]),
        "estimate": st.none() | st.sampled_from([0.0, 60.0, 3600.0]),
        "wait": st.none() | st.sampled_from([0.0, 5.0, 1e6]),
        "user": st.none() | st.integers(0, 12),
    }
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(JOB, min_size=1, max_size=12), st.sampled_from([Meta(), MACHINE]))
def test_any_mixture_of_missing_things(capsys, rows, meta):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    everything(Workload({"submit": [300.0 * i for i in range(len(rows))], **columns}, meta))
    capsys.readouterr()
