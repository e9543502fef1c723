"""``onega demo``: the main questions, answered on jobs that come with Onega's own models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from onega.cli.console import emit, emit_table, remark, say
from onega.cli.options import JsonOption, folder_that_can_be, option
from onega.core.units import humanise_seconds

if TYPE_CHECKING:
    from onega.core.workload.workload import Workload
    from onega.report.settings import Settings
    from onega.report.site import SiteReport

JOBS: Final = 5000
PROCS: Final = 128
LOAD: Final = 0.55
SEED: Final = 1
POLICIES: Final = ("fcfs", "easy")
REPLICATES: Final = 10
MODEL: Final = "markov-pair"

JOULES_PER_KWH: Final = 3.6e6

MEASURES: Final = {
    "mean_wait": "mean wait",
    "p95_wait": "95 % wait at most",
    "mean_response": "mean wait + run",
    "mean_bounded_slowdown": "bounded slowdown",
    "utilisation": "busy processors",
    "energy": "energy",
}

TRY: Final = (
    "onega describe YOUR_LOG",
    "onega simulate YOUR_LOG --policy easy --figures figures",
    "onega report YOUR_LOG -o report.html",
)


def demo(
    *,
    folder: Annotated[
        Path,
        option("--out", "DIR", "Where the report is written.", callback=folder_that_can_be),
    ] = Path("onega-demo"),
    json: JsonOption = False,
) -> None:
    """Show what Onega does, on 5,000 jobs made by its own model.

    Describes the jobs, learns a model of them and draws more, runs them first come, first served,
    with EASY backfilling, and with a clock that slows down when there is little to do; asks whether
    the machine is stable; writes a report.
    """
    from onega.pages import write_document

    if not json:
        remark("simulating; half a minute, and longer the first time, when it compiles")
    made = answer(make_jobs())
    path = write_document(made.document(), folder / "report.html")
    emit(_flat(made), lambda _: _screen(made), json=json)
    remark(f"the report is {path}")


def make_jobs() -> Workload:
    """Draw the demonstration's jobs: always the same."""
    from onega.core.workload.workload import Workload
    from onega.models.published.lublin import Lublin

    drawn = Lublin().sample(JOBS, rng=SEED, load=LOAD, cluster=PROCS)
    return Workload(drawn.table, replace(drawn.meta, source="Lublin and Feitelson's model"))


def answer(log: Workload) -> SiteReport:
    """Fit a model to the jobs, and ask everything that a report tells of."""
    from onega.models import MODELS
    from onega.report import site_report

    model = MODELS[MODEL].fit(log, rng=SEED)
    return site_report(
        log, {MODEL: model}, cluster=PROCS, policies=POLICIES, replicates=REPLICATES, rng=SEED
    )


def _settings(made: SiteReport) -> Settings:
    found = made.answers.settings
    assert found is not None
    return found


def _runs(made: SiteReport) -> dict[str, dict[str, Any]]:
    """Return the summaries of FCFS, EASY, and EASY with a slow clock at low load."""
    found = _settings(made)
    names = (*found.policies, found.clocks[1])
    return {name: found.on_log[name].summary() for name in names}


def _screen(made: SiteReport) -> None:
    from onega.cli.logs.describe_screen import print_description
    from onega.queueing.sentences import percent

    answers = made.answers
    print_description(answers.description, brief=True)
    say("")
    runs = _runs(made)
    rows = [
        (label, *(_cell(name, one[name]) for one in runs.values()))
        for name, label in MEASURES.items()
    ]
    emit_table(f"Three ways to run them on {PROCS} processors", rows, ("", *runs))
    say(f"\n{_verdict(made)}")
    say("\nWould first come, first served keep up?", style="bold")
    assert answers.stability is not None
    say(*(f"  • {sentence}" for sentence in answers.stability.sentences()[:2]))
    usable = percent(answers.saturation["easy"].utilisation_at_limit)
    say(f"  • Backfilling, measured the same way, can use {usable} of it.")
    say("\nA model of these jobs, to make more of them", style="bold")
    say(f"  • {_model_words(made)}")
    say("\nOn a log of your own (Slurm, PBS, SWF, CSV):", *(f"  {line}" for line in TRY))


def _cell(name: str, value: float) -> str:
    if name == "energy":
        return f"{value / JOULES_PER_KWH:,.0f} kWh"
    if name == "utilisation":
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if "slowdown" in name else humanise_seconds(value)


def _verdict(made: SiteReport) -> str:
    """Say in a sentence what the three runs tell."""
    fcfs, easy, slow = _runs(made).values()
    saved = 1 - slow["energy"] / easy["energy"]
    longer = slow["mean_response"] - easy["mean_response"]
    range_of = _settings(made).saved(_settings(made).clocks[1])
    return (
        f"Backfilling cuts the mean wait by {1 - easy['mean_wait'] / fcfs['mean_wait']:.0%}. "
        f"A clock at 80% while there is little work saves {saved:.0%} of the energy "
        f"({range_of.low:.0%} to {range_of.high:.0%} over resampled weeks); "
        f"a job is done {humanise_seconds(longer)} later on average."
    )


def _model_words(made: SiteReport) -> str:
    found = made.answers.models
    assert found is not None
    flat = found.comparison.summary()
    wait = found.waits[MODEL]
    return (
        f"{MODEL}: the largest gap between distribution functions is "
        f"{flat[f'{MODEL}.ks_runtime']:.3f} for run times and {flat[f'{MODEL}.ks_procs']:.3f} for "
        f"widths; on its jobs EASY gives a mean wait of {wait.mean / 3600:.2f} h, on these "
        f"{found.log_wait / 3600:.2f} h."
    )


def _flat(made: SiteReport) -> dict[str, Any]:
    """Return one flat object: the measures of each run, the stability, the model's distance."""
    short = ("fcfs", "easy", "easy_slow")
    runs = {
        f"{name}_{measure}": one[measure]
        for name, one in zip(short, _runs(made).values(), strict=True)
        for measure in MEASURES
    }
    stability, models = made.answers.stability, made.answers.models
    assert stability is not None
    assert models is not None
    return {
        "jobs": JOBS,
        "procs": PROCS,
        **runs,
        "rho": stability.rho,
        "stable": stability.stable,
        "verdict": stability.verdict.answer,
        "offered_load": stability.offered_load,
        "utilisation_at_limit": stability.utilisation_at_limit,
        "model": MODEL,
        "model_ks_runtime": models.comparison.summary()[f"{MODEL}.ks_runtime"],
    }
