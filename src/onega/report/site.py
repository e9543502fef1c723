"""`site_report`: one page that a head of a computing centre can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onega import __version__
from onega.core.machine.cluster import Cluster, Power
from onega.core.renamed import renamed
from onega.core.units import count_of, humanise_seconds, overfull
from onega.core.workload.report import Finding
from onega.core.workload.workload import Workload
from onega.models.base import WorkloadModel
from onega.pages import Block, Document, Fact, Facts, Notes, Paragraph, Section
from onega.queueing.sentences import percent
from onega.report.answers import Answers, OnStep, ask
from onega.report.machine import described_parts
from onega.report.sections.adequacy import adequacy_section
from onega.report.sections.capacity import capacity_section, keeps_up_fact
from onega.report.sections.gain import (
    against_observed,
    gain_words,
    policy_facts,
    present_words,
    trust_fact,
)
from onega.report.sections.load import load_section, people_section, time_section
from onega.report.sections.settings import clock_facts, settings_section
from onega.report.settings import REPLICATES


@dataclass(frozen=True, eq=False)
class SiteReport:
    """Everything that Onega can say of one log. See `site_report`.

    Attributes
    ----------
    answers
        What was found, part by part.
    seed
        Of everything random.
    """

    answers: Answers
    seed: int

    def __repr__(self) -> str:
        return f"<SiteReport: {len(self.answers.log)} jobs of {self.source}>"

    @property
    def source(self) -> str:
        """Where the log comes from."""
        return self.answers.log.meta.source or "a log"

    @property
    def title(self) -> str:
        """What the machine is called: as the log's header says, else by its size."""
        named = {
            key.strip().lower(): value.strip()
            for key, colon, value in (line.partition(":") for line in self.answers.log.meta.header)
            if colon and value.strip()
        }
        parts = [named[key] for key in ("computer", "installation") if key in named]
        if parts:
            return ", ".join(parts)
        return f"A machine of {self.answers.cluster.procs:,} processors"

    def document(self) -> Document:
        """Return the page: facts, sentences, tables and figures."""
        answers = self.answers
        sections = (
            Section("short", "In short", tuple(self._first())),
            load_section(answers),
            people_section(answers),
            time_section(answers),
            capacity_section(answers),
            settings_section(answers),
            adequacy_section(answers),
            Section("made", "How this was made", tuple(self._made())),
        )
        load = answers.description.load
        subtitle = f"{load.jobs:,} jobs on {answers.cluster.procs:,} processors"
        if load.start is not None and load.end is not None:
            days = dict.fromkeys(f"{moment:%Y-%m-%d}" for moment in (load.start, load.end))
            subtitle += f", {' to '.join(days)}"
        return Document(
            self.title,
            f"{subtitle}. What its load is, how full it is, and what other settings would give.",
            sections,
            (f"Onega {__version__}, seed {self.seed}: the same command gives the same page.",),
        )

    def _first(self) -> Iterator[Block]:
        """Answer first, then warn of what makes answers mislead."""
        yield Paragraph(self._verdict())
        yield Facts(tuple(self._short()))
        warnings = [*_left_out(self._findings()), *self.answers.description.warnings]
        if warnings:
            yield Notes(tuple(warnings))

    def summary(self) -> dict[str, Any]:
        """Return the report's figures in one flat dictionary."""
        answers = self.answers
        load, history = answers.description.load, answers.measured
        flat: dict[str, Any] = {
            "source": self.source,
            "jobs": load.jobs,
            "procs": answers.cluster.procs,
            "described": list(described_parts(answers.cluster)),
            "users": load.users,
            "offered_load": load.offered_load,
            "utilisation": history["utilisation"],
            **{key: value for key, value in history.items() if key.startswith("window")},
            "window_offered_load": load.window_offered_load,
            "size_warning": answers.description.size_warning,
            "warnings": list(answers.description.warnings),
            "waits_observed": answers.observed,
            "mean_wait": history["mean_wait"],
            "p95_wait": history["p95_wait"],
            "dropped_by_cleaning": answers.cleaning.dropped,
            "missing": [f"{part}: {why}" for part, why in answers.missing.items()],
        }
        if answers.stability is not None:
            flat |= {"rho": answers.stability.rho, "stable": answers.stability.stable,
                     "verdict": answers.stability.verdict.answer,
                     "min_procs": answers.stability.min_procs}  # fmt: skip
        for policy, one in answers.saturation.items():
            flat[f"{policy}_usable"] = one.utilisation_at_limit
        return flat | self._settings_summary() | self._adequacy_summary()

    def _settings_summary(self) -> dict[str, Any]:
        found = self.answers.settings
        if found is None:
            return {}
        present = self.answers.present
        flat: dict[str, Any] = {
            "best_policy": found.best,
            "present_policy": found.present,
            "present_against_observed": against_observed(self.answers),
            "present_why": present.why,
            "present_rivals": list(present.rivals),
            "gained_share": found.share_gained(found.best),
            "replicates": len(found.replicates),
        }
        for name in present.rivals:
            flat[f"gained_share_against_{name}"] = found.share_gained(found.best, name)
        for name in (*found.policies, *found.clocks[1:]):
            for measure in ("mean(wait)", "p95(wait)", "energy"):
                key = f"{name}_{measure.replace('(', '_').rstrip(')')}"
                spread = found.interval(measure, name)
                flat[key] = found.value(measure, name)
                flat |= {f"{key}_mean": spread.mean}
                flat |= {f"{key}_low": spread.low, f"{key}_high": spread.high}
        for name in found.clocks[1:]:
            flat[f"{name}_saved"] = found.saved(name).mean
        return flat

    def _adequacy_summary(self) -> dict[str, Any]:
        answers = self.answers
        flat: dict[str, Any] = {}
        if answers.site is not None:
            best = answers.site.results[answers.site.best].summary()
            flat |= {"nearest_policy": answers.site.best, "P": best["P"],
                     "baseline_P": best["baseline_P"], "skill": best["skill"]}  # fmt: skip
        if answers.models is not None:
            for name, wait in answers.models.waits.items():
                flat[f"{name}.mean_wait_easy"] = wait.mean
            flat |= answers.models.comparison.summary()
        return flat

    def _verdict(self) -> str:
        """Say the whole report in a few sentences."""
        answers = self.answers
        history = answers.measured
        share, wait = history["window_utilisation"], humanise_seconds(history["mean_wait"])
        busy = f"{percent(share)} busy{overfull(share)}"
        wrong = answers.description.size_warning
        said = [] if wrong is None else [wrong]
        if answers.observed:
            said += [f"The machine was {busy}, and jobs waited {wait} on average."]
        else:
            said += [f"Under EASY the machine would be {busy}, and jobs would wait {wait}."]
        found = answers.settings
        if found is None:
            why = answers.missing["settings"]
            return " ".join([*said, f"What other settings would give can't be told: {why}."])
        said += [*present_words(answers, found), *gain_words(answers, found)]
        if len(found.clocks) > 1:
            name = found.clocks[1]
            saved, later = found.saved(name).mean, found.later(name).mean
            said.append(
                f"With {_article(name.split(', ', 1)[-1])}, {percent(saved)} of the energy would "
                f"be saved, and a job done {humanise_seconds(later)} later, on average over "
                f"{found.replicated}."
            )
        return " ".join(said)

    def _short(self) -> Iterator[Fact]:
        answers = self.answers
        history = answers.measured
        share = history["window_utilisation"]
        waited = "waited" if answers.observed else "would have waited under EASY"
        yield Fact(
            "Busy",
            percent(share) + overfull(share),
            f"of {answers.cluster.procs:,} processors ({answers.machine_from}), {answers.over}.",
        )
        more = f"one in twenty more than {humanise_seconds(history['p95_wait'])}"
        yield Fact(
            "Mean wait",
            humanise_seconds(history["mean_wait"]),
            f"So long jobs {waited}; half of them {humanise_seconds(history['median_wait'])} or "
            f"less, {more if history['p95_wait'] else 'fewer than one in twenty at all'}.",
        )
        if answers.stability is not None and answers.stability.offered_load is not None:
            yield keeps_up_fact(answers.stability)
        if answers.settings is not None:
            yield next(policy_facts(answers, answers.settings))
            yield from list(clock_facts(answers.settings))[:1]
        yield from trust_fact(answers)

    def _findings(self) -> Iterator[Finding]:
        """Return what reading and cleaning changed or left out."""
        yield from self.answers.log.meta.report
        yield from self.answers.cleaning

    def _made(self) -> Iterator[Block]:
        answers = self.answers
        lines = [f"The log: {self.source}."]
        lines += [f"Reading: {finding}." for finding in answers.log.meta.report]
        lines += [f"Cleaning: {finding}." for finding in answers.cleaning]
        lines += [] if answers.cleaning else ["Cleaning: nothing to do."]
        lines += [f"Left out: {part}: {why}." for part, why in answers.missing.items()]
        if answers.settings is not None:
            lines += [f"Settings: {line}." for line in answers.settings.replicates.provenance]
        yield Notes(tuple(lines))


def _left_out(findings: Iterable[Finding]) -> Iterator[str]:
    """Say which rows of the log the report doesn't count, and why."""
    for one in findings:
        if one.action == "dropped":
            yield f"Not counted here: {count_of(one.count, 'row')} of the log ({one.why})."


def _article(setting: str) -> str:
    return setting if setting.startswith("the ") else f"a {setting}"


@renamed(log="workload", seed="rng", progress="on_step")
def site_report(
    workload: Workload,
    models: Mapping[str, WorkloadModel] | None = None,
    *,
    cluster: Cluster | int | None = None,
    power: Power | None = None,
    node_watts: tuple[float, float] | None = None,
    window: str = "log",
    policies: Sequence[str] | None = None,
    present: str | None = None,
    replicates: int = REPLICATES,
    rng: int = 1,
    on_step: OnStep | None = None,
) -> SiteReport:
    """Ask a log everything that a head of a computing centre would.

    What the load is, which users make it, when it comes; how stable and how full the machine is;
    what each policy and a slower clock would give, with intervals; how adequate the simulator and
    models of the workload are.

    Parameters
    ----------
    workload
        Any log; what it can't say is left out, and the report says why.
    models
        Workload models by name; one is fitted if none is given.
    cluster
        The machine, with all that is described of it: simulations run on it. By default as many
        processors as the log says.
    power
        Watts of a processor at the slow and at the full clock; assumed if nothing is given.
    node_watts
        Watts of a busy and of an idle node at the full clock, in place of ``power``.
    window
        Over what time the machine is measured: ``"log"``, ``"whole"`` or ``"START..END"``
        (docs/measures.md).
    policies
        What is compared; `onega.report.settings.default_policies` by default.
    present
        The one of them that stands for the present rule, which others are compared with. By default
        the one whose simulation is nearest to the observed waits; EASY where it is about as near
        (`onega.report.present`), and where there are none.
    replicates
        Resamples of the log's weeks behind every interval.
    rng
        Seed of everything random.
    on_step
        Called with what is being done and the share of the whole that is done.

    Returns
    -------
    SiteReport
        ``.summary()``, and ``.document()`` for `onega.pages.write_document`.
    """
    answers = ask(
        workload,
        cluster=cluster,
        power=power,
        node_watts=node_watts,
        window=window,
        models=models,
        policies=policies,
        present=present,
        replicates=replicates,
        seed=rng,
        on_step=on_step,
    )
    return SiteReport(answers, rng)
