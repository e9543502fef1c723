"""How adequate the models behind the report are: the simulator, and models of the workload."""

from __future__ import annotations

from collections.abc import Iterator

from onega.core.units import humanise_seconds, percent
from onega.pages import Block, Notes, Paragraph, Picture, Section, Table
from onega.report.answers import Answers
from onega.report.machine import described_parts
from onega.report.models import SAMPLES
from onega.report.present import NEAR

POINTS = 3000
"""Jobs in the figure that draws them one by one."""


def adequacy_section(answers: Answers) -> Section:
    """Say how far the simulation is from what happened, and models of the load from the load."""
    blocks: list[Block] = [*_site_blocks(answers), *_model_blocks(answers)]
    return Section("adequacy", "How adequate the models are", tuple(blocks))


def _site_blocks(answers: Answers) -> Iterator[Block]:
    site = answers.site
    if site is None:
        why = answers.missing.get("site", "unknown")
        yield Paragraph(f"Simulated waits can't be compared with observed ones: {why}.")
        return
    yield Paragraph(
        "Before believing a simulation of tomorrow, look at its simulation of yesterday. P is how "
        "far the time in the system is off, job by job, in the root mean square (Baranov et al.); "
        "“baseline” is the P of a model that gives every job the mean wait of its width. Skill is "
        "1 − (P / baseline)²: 1 is perfect, 0 or less means that nothing is explained of which "
        "job waited, though means and distributions may still be right."
    )
    first = site.results[site.best].summary()
    rows = [
        ("observed", "–", "–", humanise_seconds(first["mean_wait_real"]),
         humanise_seconds(first["p95_wait_real"]), "–")
    ]  # fmt: skip
    for name, one in site.results.items():
        found = one.summary()
        rows.append(
            (
                name,
                humanise_seconds(found["P"]),
                "undefined" if found["skill_reason"] else f"{found['skill']:.2f}",
                humanise_seconds(found["mean_wait_model"]),
                humanise_seconds(found["p95_wait_model"]),
                f"{found['ks_wait']:.2f}",
            )
        )
    rows.append(("baseline", humanise_seconds(first["baseline_P"]), "0.00", "–", "–", "–"))
    columns = ("simulated under", "P", "skill", "mean wait", "95 % wait at most",
               "distance of distributions")  # fmt: skip
    note = "The last column is the Kolmogorov–Smirnov distance of all waits: 0 alike, 1 apart."
    yield Table("The simulator against what happened", columns, tuple(rows), note)
    yield Notes((site.sentence(), *_present_note(answers)))
    yield Picture(
        "adequacy-distribution",
        site.plot("distribution"),
        meaning="Dashed: what users waited. The nearer a line, the better that policy stands for "
        "the real scheduler.",
    )
    yield Picture(
        "adequacy-jobs",
        site.plot("waits", points=POINTS),
        meaning="Every point is a job; on the dashed line it waited as long as it really did.",
    )


def _present_note(answers: Answers) -> Iterator[str]:
    """Say which rule stands for the present one in this report, and which might as well."""
    present = answers.present
    said = f"`{present.policy}` stands for the present rule in this report, {present.why}"
    if present.rivals:
        others = ", ".join(f"`{name}`" for name in present.rivals)
        said += f"; about as near (P within {percent(NEAR)} of the nearest): {others}"
    yield f"{said}."


def _plainly(answers: Answers) -> str:
    """Say what of the machine's description isn't in the simulation of models."""
    parts = described_parts(answers.cluster)
    if not parts:
        return ""
    procs = f"{answers.cluster.procs:,} equal processors"
    return f" Both run on {procs} here; left out of it: {', '.join(parts)}."


def _model_blocks(answers: Answers) -> Iterator[Block]:
    found = answers.models
    if found is None:
        why = answers.missing.get("models", "unknown")
        yield Paragraph(f"No model of the workload: {why}.")
        return
    given = "No model was given, so one was fitted to this log. " if found.own else ""
    yield Paragraph(
        f"{given}A model of the workload makes more jobs like the log's, for questions that the "
        f"log is too short for. Its adequacy: {SAMPLES} samples as long as the log beside it. KS "
        "is the largest distance between distribution functions (0 alike, 1 apart); the area is "
        "the processor time of all jobs; and EASY should make people wait as long on the model's "
        f"jobs as on the log's.{_plainly(answers)}"
    )
    rows = []
    summary = found.comparison.summary()
    for name in found.comparison.models:
        cells = [name]
        cells += [f"{summary[f'{name}.{key}']:.3f}" for key in ("ks_procs", "ks_runtime", "ks_gap")]
        cells.append(f"{100 * summary[f'{name}.d_sa']:+.1f} %")
        wait = found.waits[name]
        low, high = humanise_seconds(max(0.0, wait.low)), humanise_seconds(wait.high)
        cells.append(f"{humanise_seconds(wait.mean)} ({low} to {high})")
        rows.append(tuple(cells))
    rows.append(("the log", "0", "0", "0", "0 %", humanise_seconds(found.log_wait)))
    columns = ("model", "KS width", "KS run time", "KS gap", "area", "mean wait under EASY")
    note = "In brackets: 95 % confidence interval of the mean over samples."
    yield Table("Models of the workload", columns, tuple(rows), note)
    yield Notes(
        tuple(
            f"On the jobs of {name}, EASY makes people wait "
            f"{wait.mean / max(found.log_wait, 1e-9):.2f} times as long as on the log's."
            for name, wait in found.waits.items()
        )
    )
    yield Picture(
        "model-distributions",
        found.comparison.plot("cdf"),
        meaning="Black: the log; coloured: a sample of the model.",
    )
