"""Papers: formulas that must agree, experiments that must be defined."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.errors import OnegaError, QueueingError, SimulationError
from onega.core.slurm.parameters import SlurmParameters
from onega.pages import to_html, to_markdown
from onega.reproduce.adequacy import real_runs_in, reproduce_adequacy, runs_in
from onega.reproduce.limits import reproduce_limits
from onega.reproduce.rumyantsev_2014 import reproduce_rumyantsev_2014
from onega.reproduce.rumyantsev_2018 import (
    COUNT,
    FIRST,
    Experiment,
    gigahertz_seconds,
    in_gigahertz_seconds,
    reproduce_rumyantsev_2018,
)
from places import shared


def test_hpcwlds_constants_come_out():
    flat = reproduce_rumyantsev_2014().summary()
    assert flat["compared"] == flat["agree"] == 8
    half = "Equations (4), (9)/widths 0.5,0.5, s = 2"
    assert [flat[f"{half}/{way}"] for way in ("by (4)", "by (9)", "exact")] == [7 / 8] * 3
    assert "no log was given" in " ".join(flat["not_made"])


def test_the_conjecture_is_refuted_by_three_numbers():
    made = reproduce_rumyantsev_2014()
    flat = made.summary()
    found = {
        law: [flat[f"Conjecture on (3)/{law}/{way}"] for way in ("C", "C, saturated simulation")]
        for law in ("exponential", "constant", "hyperexponential")
    }
    for law, expected in (("exponential", 7 / 8), ("constant", 5 / 6)):
        assert found[law][0] == pytest.approx(expected, rel=1e-12)
    assert round(found["hyperexponential"][0], 3) == 0.964
    for exact, simulated in found.values():
        assert simulated == pytest.approx(exact, rel=0.02)
    text = to_markdown(made.document())
    assert "lacks the factor 1/Σn" in text
    assert "C depends on the law of run times" in text


def test_the_recursion_is_the_simulated_fcfs(log):
    made = reproduce_rumyantsev_2014(log)
    flat = made.summary()
    rows = {
        key.split("/")[1]: value for key, value in flat.items() if key.startswith("Equations (1")
    }
    assert rows["mean delay by (1), (2), s"] == pytest.approx(
        rows["mean wait of a simulated FCFS, s"], rel=1e-12
    )
    assert rows["ρ = λ·C·E[S] (3)"] == onega.stability(log).rho
    assert len(made.figures()) == 1


def test_a_log_without_a_machine_is_refused(log):
    bare = onega.Workload({n: log.column(n) for n in ("submit", "runtime", "procs")})
    with pytest.raises(QueueingError, match="--procs"):
        reproduce_rumyantsev_2014(bare)


@pytest.fixture(scope="module")
def krc(log):
    return reproduce_rumyantsev_2018(log.head(300))


def test_rumyantsev_2018_has_three_figures_and_both_powers(krc):
    labels = [one.label for one in krc.figures()]
    assert labels == ["Figure 1, whole", "Figure 2, busiest",
                      "Figure 3, as printed", "Figure 3, exchanged"]  # fmt: skip
    flat = krc.summary()
    assert flat["compared"] == 0  # another log than the paper's
    work = [flat[f"Figure 3, values/k = {k:.1e}/mean work, h"] for k in (0.0, 3e6)]
    assert work[0] <= work[1]  # a higher threshold keeps more work in the system
    assert "Table I" in flat["not_made"][0]
    assert "as printed" in to_markdown(krc.document())


def waiting_of_figure_2(runs):
    chosen = slice(FIRST - 1, FIRST - 1 + COUNT)
    return [int((run.jobs["wait"] > 0)[chosen].sum()) for run in runs.values()]


def test_figure_2_with_work_in_gigahertz_seconds():
    log = onega.read(shared("traces", "krc2.csv.gz"))
    runs = in_gigahertz_seconds(log, 80)
    assert waiting_of_figure_2(runs) == [500, 2, 155]
    busy = [round(run.summary()["utilisation"], 3) for run in runs.values()]
    assert busy == [0.463, 0.355, 0.401]


def test_figure_2_on_a_made_log():
    """Rows without a run time and without cores stand among the others, as in hpcwld's log."""
    rng = np.random.default_rng(1)
    jobs = FIRST + COUNT + 100
    made = onega.Workload(
        {
            "submit": np.cumsum(rng.exponential(100.0, jobs)),
            "runtime": rng.exponential(200.0, jobs).round() * (rng.random(jobs) < 0.8),
            "procs": rng.integers(0, 5, jobs),
        }
    )
    rows = gigahertz_seconds(made, 4)
    kept = made.column("procs") > 0
    assert len(rows) == kept.sum()
    work = made.column("runtime")[kept]
    assert rows.column("runtime") == pytest.approx(np.maximum(2.66 * work, 1e-3))
    slow, printed, tenfold = in_gigahertz_seconds(made, 4).values()
    waits = [run.summary()["mean_wait"] for run in (slow, tenfold, printed)]
    assert waits == sorted(waits, reverse=True)  # the sooner it speeds up, the less they wait


def test_one_threshold_is_one_run(log):
    made = Experiment.of(log.head(60), servers=64, seed=1)
    table = made.trade_off((0.04, 0.03))
    alone = made.run(1e6, 1e6, (0.04, 0.03)).summary()
    row = table.filter(threshold=1e6)
    assert row["mean_power"][0] == alone["mean_power"]
    assert row["mean_wait"][0] == alone["mean_wait"]


def test_an_empty_experiment_is_refused(log):
    with pytest.raises(OnegaError):
        reproduce_rumyantsev_2018(log.head(1))


def test_formulas_of_the_limit_on_execution_come_out():
    made = reproduce_limits()
    flat = made.summary()
    assert flat["compared"] == flat["agree"] == 32
    assert flat["Examples 4, 5, (44), (45), (48)/z_cr for P_cr = 0.9/value"] == pytest.approx(9)
    page = to_html(made.document())
    assert page.count('class="plot"') == 2


def test_limits_on_a_log(log):
    made = reproduce_limits(log)
    assert made.logs == ("mine.swf",)
    assert made.chapters[-1].title == "On a log"


def runs(log):
    """Two runs of one stream: the second waits ten seconds longer in every tenth job."""
    other = log.column("wait") + 10.0 * (np.arange(len(log)) % 10 == 0)
    second = onega.Workload(
        log.table.with_columns(wait=other), log.meta.noting("again", source="again.swf")
    )
    return log, second


def test_table_one(log):
    made = reproduce_adequacy(runs(log), policies=("fcfs", "easy"))
    flat = made.summary()
    assert flat["Table I/100/P, s"] == pytest.approx(np.sqrt(10))  # ten jobs of a hundred by 10 s
    assert flat["Table I/100/different waits"] == 10
    assert flat["Table I/100/P, s/printed"] == 12.0
    models = "Models/{}/900"
    assert flat[models.format("easy")] < 1e-6  # the log is a simulated EASY
    assert flat[models.format("fcfs")] > flat[models.format("the system against itself")]
    verdict = next(table for table in made.tables() if table.label == "Models").notes[0]
    assert verdict.endswith("no further from the system than that: easy.")
    assert len(made.figures()) == 2


def test_several_runs_are_told_by_the_mean_over_their_pairs(log):
    first, second = runs(log)
    made = reproduce_adequacy([first, second, second], policies=())
    assert made.tables()[0].columns == ("first jobs", "P, s", "least", "most", "different waits")
    flat = made.summary()
    # Two pairs differ in ten jobs of a hundred by 10 s, the third is of equal runs.
    assert flat["Table I/100/P, s"] == pytest.approx(np.sqrt(10) * 2 / 3)
    assert flat["Table I/100/least"] == 0.0
    assert flat["Table I/100/most"] == pytest.approx(np.sqrt(10))
    assert flat["Table I/100/different waits"] == pytest.approx(20 / 3)
    assert flat["figures"] == 1


def test_waits_that_are_near_count_as_the_same(log):
    made = reproduce_adequacy(runs(log), policies=(), same_within=10.0)
    assert made.summary()["Table I/100/different waits"] == 0


def test_the_model_of_slurm_takes_the_settings_that_are_given(log):
    """A cycle an hour apart shows."""
    seldom = SlurmParameters.of(
        {"schedulerparameters": "bf_interval=3600,bf_window=1,sched_interval=3600"}, "as run"
    )
    stock = reproduce_adequacy([log, log], policies=("slurm",)).summary()
    as_run = reproduce_adequacy([log, log], policies=("slurm",), slurm=seldom).summary()
    assert as_run["Models/slurm:as run/900"] > stock["Models/slurm/900"]
    expected = onega.simulate(log, log.meta.procs, onega.Policy("slurm", slurm=seldom))
    assert as_run["Models/slurm:as run/mean wait, s"] == expected.summary()["mean_wait"]


def test_models_with_and_without_overheads_from_a_folder(log, tmp_path):
    """The folder of `onega virtual`: "real" runs that the model of Slurm made itself."""
    stream = log.head(120)
    laws = onega.Overheads(completion="gamma(mean=5, sd=3)", release="2s")
    assert real_runs_in(tmp_path) is None
    onega.write(stream, tmp_path / "stream.swf")
    laws.save(tmp_path / "overheads.json")
    told = {"procs": log.meta.procs, "scheduler_parameters": "bf_interval=60"}
    (tmp_path / "report.json").write_text(json.dumps(told))
    cluster = onega.Cluster(log.meta.procs, overheads=laws)
    logs = []
    for number in (1, 2, 3):
        run = onega.simulate(stream, cluster, "slurm:bf_interval=60", rng=number)
        columns = {"wait": run.start - stream.column("submit"), "runtime": run.end - run.start}
        table = stream.table.with_columns(**{k: pl.Series(v) for k, v in columns.items()})
        logs.append(onega.Workload(table, stream.meta))
        onega.write(logs[-1], tmp_path / f"run-{number}.swf")
    real = real_runs_in(tmp_path)
    made = reproduce_adequacy(logs, policies=("slurm", "easy"), real=real, draws=4, rng=1)
    flat = made.summary()
    itself, drawn = (
        f"Models/{name}" for name in ("the system against itself", "slurm with overheads")
    )
    every = [onega.adequacy(a, b).P for a, b in itertools.combinations(real.logs, 2)]
    assert flat[f"{itself}/120"] == pytest.approx(np.mean(every))
    assert flat[f"{itself}/ratio"] == 1
    assert (flat[f"{itself}/least"], flat[f"{itself}/most"]) == (min(every), max(every))
    waits = np.mean([np.mean(one.column("wait")) for one in logs])
    assert flat[f"{itself}/mean wait, s"] == pytest.approx(waits, rel=1e-6)
    # The model is one of them; without overheads, and EASY, are another machine.
    assert flat[f"{drawn}/ratio"] < 1.3
    assert abs(flat[f"{drawn}/off by, %"]) < 10
    assert flat["Models/easy/ratio"] > flat[f"{drawn}/ratio"]
    assert flat[f"{drawn}/ratio"] == pytest.approx(flat[f"{drawn}/120"] / flat[f"{itself}/120"])
    (tmp_path / "overheads.json").unlink()
    with pytest.raises(SimulationError, match=r"lacks overheads\.json"):
        real_runs_in(tmp_path)
    assert real_runs_in(tmp_path, onega.Overheads(2)).overheads == onega.Overheads(2)
    (tmp_path / "report.json").unlink()
    assert real_runs_in(tmp_path) is None
    laws.save(tmp_path / "overheads.json")
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(SimulationError, match="isn't a folder of `onega virtual`"):
        real_runs_in(tmp_path)


def test_adequacy_refuses_what_is_undefined(log):
    with pytest.raises(SimulationError, match="two runs"):
        reproduce_adequacy([log])
    with pytest.raises(SimulationError, match="undefined: the numbers of jobs differ"):
        reproduce_adequacy([log, log.head(50)])


def test_without_a_machine_no_models(log):
    bare = onega.Workload(log.table, onega.Meta(source="bare"))
    made = reproduce_adequacy([bare, bare])
    assert [one.label for one in made.absent] == ["models beside it"]


def test_runs_in_a_folder(tmp_path):
    for name in ("run-10.swf", "run-2.swf", "stream.swf"):
        (tmp_path / name).write_text("")
    assert [path.name for path in runs_in(tmp_path)] == ["run-2.swf", "run-10.swf"]
    (tmp_path / "run-2.swf").unlink()
    with pytest.raises(SimulationError, match="--repeat 2"):
        runs_in(tmp_path)
