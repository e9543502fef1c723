"""The API does what the library does: same numbers, files that can be read, errors in one line."""

from __future__ import annotations

import gzip
import io

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.machine.cluster import Power, RateControl
from onega.models import MODELS
from onega.web import api
from onega.web.api_runs import compared
from onega.web.store import Item

LINE = "{n} {submit} {n} {run} {width} -1 -1 {width} 60 -1 1 {user} 1 1 1 1 -1 -1"
LINES = [
    LINE.format(n=n, submit=10 * n, run=20 + n, width=1 + n % 4, user=n % 3) for n in range(1, 81)
]
SWF = "\n".join(["; MaxProcs: 4", *LINES, ""]).encode()


def as_log(content, name="x.swf", tmp_path=None):
    path = tmp_path / name
    path.write_bytes(content)
    return onega.read(path)


def test_an_upload_is_described(client, tmp_path):
    item = client.upload(gzip.compress(SWF), name="my cluster.swf.gz")
    facts = item["result"]
    assert item["name"] == "my cluster.swf.gz"
    assert (facts["jobs"], facts["procs"], facts["widest"]) == (80, 4, 4)
    assert facts["estimates"] is True
    assert facts["waits"] is True
    assert "80 jobs by 3 users on 4 processors" in facts["opening"]
    whole = client.get(f"/api/logs/{item['id']}/description").json()
    assert whole["offered_load"] == onega.describe(as_log(SWF, tmp_path=tmp_path)).load.offered_load
    for name in facts["figures"]:
        figure = client.get(f"/api/logs/{item['id']}/figures/{name}").json()
        assert figure["data"]
        assert figure["layout"]


def test_the_size_given_with_an_upload_wins(client):
    assert client.upload(SWF, procs=16)["result"]["procs"] == 16


@pytest.mark.parametrize("format", ["swf", "csv", "parquet"])
def test_a_downloaded_log_is_the_log(client, tmp_path, format):
    item = client.upload(SWF)
    answer = client.get(f"/api/logs/{item['id']}/download", params={"format": format})
    assert f'filename="log.{format}"' in answer.headers["content-disposition"]
    found = as_log(answer.content, f"x.{format}", tmp_path)
    expected = as_log(SWF, "y.swf", tmp_path)
    assert found.table.equals(expected.table)


def test_a_run_has_the_numbers_of_the_library(client, tmp_path):
    item = client.upload(SWF)
    control = {"kind": "queue", "rates": [0.5, 2.0], "k_low": [1], "k_high": [3]}
    power = {"busy": [100.0, 200.0], "idle": [10.0, 20.0]}
    more = {"procs": 8, "rate_control": control, "power": power, "enforce_limits": True}
    run = client.run(item, "spf+easy", knowledge="runtime", ties="event", **more)
    expected = onega.simulate(
        as_log(SWF, tmp_path=tmp_path),
        onega.Cluster(8, RateControl(**control), Power(**power)),
        "spf+easy",
        knowledge="runtime",
        ties="event",
        enforce_limits=True,
    ).summary()
    found = {name: run["result"][name] for name in expected}
    assert found == {k: v.item() if isinstance(v, np.generic) else v for k, v in expected.items()}
    assert run["name"] == "spf+easy, 8 processors, rates by queue, knows runtime, limits enforced"


MACHINE = """
whole_nodes = true
[[nodes]]
count = 4
procs = 2
"""


@pytest.mark.verification  # the loop of a machine with nodes takes a minute to compile
def test_a_machine_can_be_described_whole(client, tmp_path):
    run = client.run(client.upload(SWF), "easy", cluster=MACHINE)
    group = onega.NodeGroup(4, 2)
    machine = onega.Cluster(nodes=[group], whole_nodes=True)
    expected = onega.simulate(as_log(SWF, tmp_path=tmp_path), machine, "easy").summary()
    assert run["result"]["procs"] == 8
    assert run["result"]["mean_wait"] == expected["mean_wait"]
    assert run["name"] == "easy, machine as described"
    assert client.get(f"/api/runs/{run['id']}/window").json()["height"] == 8


def test_what_the_log_says_happened_is_a_run_too(client, tmp_path):
    run = client.run(client.upload(SWF), "observed")
    expected = onega.Schedule.observed(as_log(SWF, tmp_path=tmp_path)).summary()
    assert run["result"]["mean_wait"] == expected["mean_wait"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_downloads_of_a_run_are_its_tables(client, tmp_path, format):
    run = client.run(client.upload(SWF), "easy")
    schedule = onega.simulate(as_log(SWF, tmp_path=tmp_path), 4, "easy")
    read = pl.read_csv if format == "csv" else pl.read_parquet
    for table, expected in (("jobs", schedule.jobs), ("system", schedule.system)):
        query = {"table": table, "format": format}
        answer = client.get(f"/api/runs/{run['id']}/download", params=query)
        found = read(io.BytesIO(answer.content))
        assert found.columns == expected.columns
        for name in ("submit", "start", "wait") if table == "jobs" else ("time", "busy"):
            assert found[name].to_list() == expected[name].to_list()


def test_a_schedule_as_swf_has_the_simulated_waits(client, tmp_path):
    run = client.run(client.upload(SWF), "fcfs")
    answer = client.get(f"/api/runs/{run['id']}/download", params={"table": "swf"})
    found = as_log(answer.content, "z.swf", tmp_path)
    schedule = onega.simulate(as_log(SWF, tmp_path=tmp_path), 4, "fcfs")
    assert found.table["wait"].to_list() == schedule.jobs["wait"].to_list()
    assert onega.Schedule.observed(found).start.tolist() == schedule.start.tolist()


def test_runs_side_by_side(client, runs):
    ids = ",".join(run["id"] for run in runs)
    found = client.get("/api/compare", params={"runs": ids, "figure": "waits"}).json()
    rows = {row["key"]: row for row in found["measures"]}
    waits = [run["result"]["mean_wait"] for run in runs]
    assert rows["mean_wait"]["values"] == waits
    assert rows["mean_wait"]["change"] == [0.0, pytest.approx(waits[1] / waits[0] - 1)]
    ends = [[run["result"][f"mean_wait_{end}"] for end in ("low", "high")] for run in runs]
    apart = None not in ends[0] + ends[1] and ends[1][1] < ends[0][0]
    assert rows["mean_wait"]["best"] == [False, apart]
    assert not any(any(row["best"]) for key, row in rows.items() if key != "mean_wait")
    assert [line["name"] for line in found["figure"]["data"]] == ["fcfs", "easy"]
    colours = {line["line"]["color"] for line in found["figure"]["data"]}
    assert len(colours) == 2


def test_a_window_can_be_all_or_an_hour(client, runs):
    base = f"/api/runs/{runs[1]['id']}/window"
    whole = client.get(base, params={"width": 300}).json()
    assert whole["begin"] == runs[1]["result"]["begin"]
    assert whole["jobs"] == 300
    assert len(whole["series"]["busy"]) == 300
    middle = (whole["begin"] + whole["end"]) / 2
    hour = client.get(base, params={"from": middle, "to": middle + 3600, "width": 50}).json()
    assert hour["kind"] == "jobs"
    assert hour["jobs"] < 300


def test_a_model_is_fitted_and_sampled(client, log):
    model = client.wait(
        "models", client.post("/api/models", json={"log": log["id"], "model": "lublin"})
    )
    saved = client.get(f"/api/models/{model['id']}/download")
    drawn = client.post(
        f"/api/models/{model['id']}/sample", json={"jobs": 400, "seed": 5, "load": 0.5}
    )
    sampled = client.wait("logs", drawn)
    assert sampled["result"]["jobs"] == 400
    assert 0 <= sampled["result"]["likeness"]["ks_runtime"] <= 1
    expected = onega.models.from_json(saved.text).sample(400, rng=5, load=0.5)
    table = client.get(f"/api/logs/{sampled['id']}/download", params={"format": "parquet"})
    assert pl.read_parquet(io.BytesIO(table.content)).equals(expected.table)


def test_sizing_is_the_verdict(client, log):
    """The page's yes or no is `onega.stability`'s; ρ stays the formula's."""
    text = client.get(f"/api/logs/{log['id']}/download", params={"format": "parquet"}).content
    jobs = onega.Workload(pl.read_parquet(io.BytesIO(text)), onega.Meta(procs=64))
    seen = set()
    for procs, factor in ((64, 1), (64, 4), (100, 1), (100, 3), (500, 1)):
        query = {"log": log["id"], "procs": procs, "load_factor": factor}
        found = client.get("/api/sizing", params=query).json()
        own = onega.stability(jobs, procs=procs)
        expected = onega.stability(jobs, procs=procs, arrival_rate=factor * own.arrival_rate)
        summary = found["summary"]
        assert summary["C"] == expected.C
        assert summary["rho"] == pytest.approx(expected.rho, rel=1e-12)
        assert summary["offered_load"] == pytest.approx(expected.offered_load, rel=1e-12)
        inside = expected.window_load and pytest.approx(expected.window_load, rel=1e-12)
        assert summary["window_offered_load"] == inside
        low, high = (summary[f"saturation_utilisation_{end}"] for end in ("low", "high"))
        assert low - 1e-9 <= expected.utilisation_at_limit <= high + 1e-9
        if summary["stable"] is not None:
            assert summary["stable"] == expected.stable
            assert found["headline"].startswith({True: "Yes: ", False: "No: "}[expected.stable])
        seen.add(summary["stable"])
        assert max(found["curve"]["measured"]) <= 1
    assert {True, False} <= seen
    today = client.get("/api/sizing", params={"log": log["id"]}).json()["summary"]
    assert today["stable"] is onega.stability(jobs).stable  # measured at just this size
    assert today["min_procs"] == pytest.approx(onega.stability(jobs).min_procs, rel=0.02)


def test_sizing_of_a_log_that_fills_its_machine_only_at_its_end(client):
    """Few jobs for three days, then more than there is: neither place says yes."""
    submit = [*range(0, 3 * 86400, 86400), *(3 * 86400 + 864 * i for i in range(500))]
    rows = "".join(f"{one},3600,2\n" for one in submit)
    made = client.upload(f"submit,runtime,procs\n{rows}".encode(), name="late.csv", procs=8)
    found = client.get("/api/sizing", params={"log": made["id"]}).json()
    text = client.get(f"/api/logs/{made['id']}/download", params={"format": "parquet"}).content
    jobs = onega.Workload(pl.read_parquet(io.BytesIO(text)), onega.Meta(procs=8))
    expected = onega.stability(jobs)
    assert expected.verdict.basis == "window"
    assert found["summary"]["verdict_basis"] == "window"
    assert found["summary"]["stable"] is None
    assert found["headline"] == expected.sentences()[0]
    assert found["summary"]["min_procs"] == expected.min_procs == 10


def test_sizing_without_a_log(client):
    query = {"widths": "1:0.5,4:0.5", "procs": 16, "arrival_rate": 0.01, "mean_runtime": 300}
    found = client.get("/api/sizing", params=query).json()
    expected = onega.stability("1:0.5,4:0.5", procs=16, arrival_rate=0.01, mean_runtime=300)
    assert found["summary"]["rho"] == pytest.approx(expected.rho, rel=1e-12)
    assert found["summary"]["min_procs"] == expected.min_procs


@pytest.mark.parametrize("load", [0.05, 0.8])
def test_a_plan_is_the_librarys(client, load):
    """A log of some weeks is resampled by them; one of two days decides alone."""
    made = client.make_log(load=load)
    asked = {"log": made["id"], "target": "p95(wait)<4h", "vary": "load", "policy": "fcfs"}
    found = client.wait("plans", client.post("/api/plans", json=asked))["result"]
    jobs = onega.models.Lublin().sample(300, rng=3, load=load, cluster=64)
    resample = "weeks" if load == 0.05 else "none"
    expected = onega.plan(
        jobs, "p95(wait)<4h", vary="load", policy="fcfs", resample=resample, rng=1
    )
    assert found["summary"]["best"] == expected.best
    assert found["summary"]["runs"] == expected.runs
    assert found["summary"]["confidence"] == (0.95 if resample == "weeks" else None)
    assert found["sentences"] == list(expected.sentences())


def test_a_target_that_is_none_is_refused(client, log):
    answer = client.post("/api/plans", json={"log": log["id"], "target": "wait is short"})
    assert answer.status_code == 422
    assert "wait is short" in answer.json()["error"]


OUTSIDE = '[[partitions]]\nname = "a"\nprocs = 64\npolicy = "slurm:/etc/passwd"'

REFUSED = [
    ({"policy": "nonsense"}, "unknown policy"),
    ({"policy": "slurm:/etc/passwd"}, "policy"),
    ({"policy": "../easy"}, "policy"),
    ({"procs": 0}, "procs"),
    ({"rate_control": {"kind": "queue", "rates": [1, 2]}}, "k_low"),
    ({"power": {"busy": [-1]}}, "power"),
    ({"unknown": 1}, "unknown"),
    ({"knowledge": "all"}, "knowledge"),
    ({"cluster": "procs = "}, "not a TOML file"),
    ({"cluster": "prcs = 4"}, "prcs"),
    (
        {"cluster": '[[partitions]]\nname = "a"\nprocs = 64\npolicy = "slurm:/etc/passwd"'},
        "partition",
    ),
]


@pytest.mark.parametrize(("wrong", "word"), REFUSED, ids=[w for _, w in REFUSED])
def test_a_wrong_request_is_refused_in_one_line(client, log, wrong, word):
    answer = client.post("/api/runs", json={"log": log["id"], **wrong})
    assert answer.status_code == 422
    assert word in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


BROKEN = {
    "empty": (b"", "is empty"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), "is a picture"),
    "cut gzip": (gzip.compress(SWF)[:-9], "cut short"),
    "prose": (b"This is no log at all.\nReally not.\n", "not a job log"),
    "no jobs": (b"; MaxProcs: 4\n", "no jobs"),
    "bad line": (SWF + b"81 x 1 1\n", "line 82"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_upload_says_what_is_wrong_with_it(client, name):
    content, word = BROKEN[name]
    item = client.upload(content, fails=True, name="mine.swf")
    assert word in item["error"]
    assert "mine.swf" in item["error"]
    assert "/" not in item["error"].replace("mine.swf", "").replace("csv/", "")


def test_unknown_items_are_not_found(client):
    for path in (
        "logs/0123456789abcdef",
        "runs/0123456789abcdef/window",
        "models/0123456789abcdef",
    ):
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 404
        assert "there is no" in answer.json()["error"]


def test_deleting_stops_and_forgets(client):
    item = client.make_log(jobs=2000)
    answer = client.post("/api/runs", json={"log": item["id"], "policy": "conservative"})
    run = answer.json()["id"]
    assert client.delete(f"/api/runs/{run}").status_code == 204
    assert client.get(f"/api/runs/{run}").status_code == 404
    assert client.delete(f"/api/logs/{item['id']}").status_code == 204
    assert client.get(f"/api/logs/{item['id']}").status_code == 404
    folder = client.settings.state
    assert not (folder / "logs" / item["id"]).exists()


def test_titles_of_models_are_theirs():
    assert set(api.CALLED) == set(MODELS)
    for name, title in api.CALLED.items():
        if name != "user-groups":  # said shorter here
            assert title == MODELS[name].TITLE


def test_what_can_be_chosen_is_listed(client):
    found = client.get("/api/options").json()
    assert set(found["models"]) == set(MODELS)
    for name in found["policies"]:
        onega.Policy.parse(name)


@pytest.mark.parametrize(
    ("ends", "best"),
    [
        ([(10.0, 20.0), (30.0, 40.0)], [True, False]),
        ([(10.0, 31.0), (30.0, 40.0)], [False, False]),
        ([(10.0, 20.0), (None, None)], [False, False]),
        ([(10.0, 20.0)], [False]),
    ],
)
def test_the_best_is_called_so_only_where_intervals_are_apart(ends, best):
    results = [
        {"mean_wait": 1.0, "mean_wait_low": low, "mean_wait_high": high} for low, high in ends
    ]
    items = [Item("0" * 12, "runs", "x", 0.0, result=one) for one in results]
    row = next(one for one in compared(items) if one["key"] == "mean_wait")
    assert row["best"] == best
    assert row["sure"] == any(best)
