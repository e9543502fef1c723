"""`site_report`: one page that a head of a computing centre can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onega import __version__
from onega.core.cluster import Cluster, Power
from onega.core.units import humanise_seconds
from onega.core.workload import Workload
from onega.pages import Block, Document, Fact, Facts, Notes, Paragraph, Section
from onega.queueing.words import percent
from onega.report.answers import Answers, Progress, ask
from onega.report.settings import POLICIES, REPLICATES

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel


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

    def document(self) -> Document:
        """Return the page: facts, sentences, tables and figures."""
        from onega.report.sections_adequacy import adequacy_section
        from onega.report.sections_capacity import capacity_section
        from onega.report.sections_load import load_section, people_section, time_section
        from onega.report.sections_settings import settings_section

        answers = self.answers
        sections = (
            Section("short", "In short", (Paragraph(self._verdict()), Facts(tuple(self._short())))),
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
            subtitle += f", {load.start:%Y-%m-%d} to {load.end:%Y-%m-%d}"
        return Document(
            f"The machine of {self.source}",
            f"{subtitle}. What its load is, how full it is, and what other settings would give.",
            sections,
            (f"Onega {__version__}, seed {self.seed}: the same command gives the same page.",),
        )

    def summary(self) -> dict[str, Any]:
        """Return the report's figures in one flat dictionary."""
        answers = self.answers
        load, history = answers.description.load, answers.history.summary()
        flat: dict[str, Any] = {
            "source": self.source,
            "jobs": load.jobs,
            "procs": answers.cluster.procs,
            "users": load.users,
            "offered_load": load.offered_load,
            "utilisation": history["utilisation"],
            "waits_observed": answers.observed,
            "mean_wait": history["mean_wait"],
            "p95_wait": history["p95_wait"],
            "dropped_by_cleaning": answers.cleaning.dropped,
            "missing": [f"{part}: {why}" for part, why in answers.missing.items()],
        }
        if answers.stability is not None:
            flat |= {"rho": answers.stability.rho, "stable": answers.stability.stable,
                     "min_procs": answers.stability.min_procs}  # fmt: skip
        for policy, one in answers.saturation.items():
            flat[f"{policy}_usable"] = one.utilisation_at_limit
        return flat | self._settings_summary() | self._adequacy_summary()

    def _settings_summary(self) -> dict[str, Any]:
        found = self.answers.settings
        if found is None:
            return {}
        flat: dict[str, Any] = {"best_policy": found.best, "replicates": len(found.replicates)}
        for name in (*found.policies, *found.clocks[1:]):
            for measure in ("mean(wait)", "p95(wait)", "energy"):
                key = f"{name}_{measure.replace('(', '_').rstrip(')')}"
                spread = found.interval(measure, name)
                flat[key] = found.value(measure, name)
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
        history = answers.history.summary()
        busy, wait = percent(history["utilisation"]), humanise_seconds(history["mean_wait"])
        if answers.observed:
            said = [f"The machine was {busy} busy, and jobs waited {wait} on average."]
        else:
            said = [f"Under EASY the machine would be {busy} busy, and jobs would wait {wait}."]
        found = answers.settings
        if found is None:
            return said[0]
        best = humanise_seconds(found.value("mean(wait)", found.best))
        said.append(
            f"Of the policies simulated on the same jobs, {found.best} has the shortest mean wait, "
            f"{best}."
        )
        if len(found.clocks) > 1:
            name = found.clocks[1]
            saved, later = found.saved(name).mean, found.later(name).mean
            said.append(
                f"With {_article(name.split(', ', 1)[-1])}, {percent(saved)} of the energy would "
                f"be saved, and a job done {humanise_seconds(later)} later."
            )
        if answers.site is not None:
            said.append("The section on adequacy says how far these simulations can be trusted.")
        return " ".join(said)

    def _short(self) -> Iterator[Fact]:
        answers = self.answers
        history = answers.history.summary()
        who = "users waited" if answers.observed else "users would have waited under EASY"
        yield Fact(
            "Busy",
            percent(history["utilisation"]),
            f"of {answers.cluster.procs:,} processors ({answers.machine_from}).",
        )
        yield Fact(
            "Mean wait",
            humanise_seconds(history["mean_wait"]),
            f"So long {who}; half of the jobs {humanise_seconds(history['median_wait'])} or less, "
            f"one in twenty more than {humanise_seconds(history['p95_wait'])}.",
        )
        if answers.stability is not None and answers.stability.rho is not None:
            told = "keeps up" if answers.stability.stable else "does not keep up"
            yield Fact(
                "Stability",
                f"ρ = {answers.stability.rho:.2f}",
                f"First come, first served {told} with this load (stable below 1).",
            )
        if answers.settings is not None:
            from onega.report.sections_settings import clock_facts, policy_facts

            yield next(policy_facts(answers.settings))
            yield from list(clock_facts(answers.settings))[:1]
        if answers.site is not None:
            found = answers.site.results[answers.site.best].summary()
            times = found["mean_wait_model"] / max(found["mean_wait_real"], 1e-9)
            yield Fact(
                "Adequacy",
                f"× {times:.2f}",
                f"is the mean wait of the nearest simulation ({answers.site.best}) against the "
                "observed one; it knows nothing of priorities, reservations and failures.",
            )

    def _made(self) -> Iterator[Block]:
        answers = self.answers
        lines = [f"Reading: {finding}." for finding in answers.log.meta.report]
        lines += [f"Cleaning: {finding}." for finding in answers.cleaning]
        lines += [] if answers.cleaning else ["Cleaning: nothing to do."]
        lines += [f"Left out: {part}: {why}." for part, why in answers.missing.items()]
        if answers.settings is not None:
            lines += [f"Settings: {line}." for line in answers.settings.replicates.provenance]
        yield Notes(tuple(lines))


def _article(setting: str) -> str:
    return setting if setting.startswith("the ") else f"a {setting}"


def site_report(
    log: Workload,
    models: Mapping[str, WorkloadModel] | None = None,
    *,
    cluster: Cluster | int | None = None,
    power: Power | None = None,
    policies: Sequence[str] = POLICIES,
    replicates: int = REPLICATES,
    seed: int = 1,
    progress: Progress | None = None,
) -> SiteReport:
    """Ask a log everything that a head of a computing centre would.

    What the load is, who makes it, when it comes; how stable and how full the machine is; what
    each policy and a slower clock would give, with intervals; how adequate the simulator and
    models of the workload are.

    Parameters
    ----------
    log
        Any log; what it can't say is left out, and the report says why.
    models
        Workload models by name; one is fitted if none is given.
    cluster
        The machine: its processors and rate control; the log's size by default.
    power
        Watts of a processor at the slow and at the full clock; assumed if nothing is given.
    policies
        What is compared.
    replicates
        Resamples of the log's weeks behind every interval.
    seed
        Of everything random.
    progress
        Called with what is being done and the share of the whole that is done.

    Returns
    -------
    SiteReport
        ``.summary()``, and ``.document()`` for `onega.pages.write_document`.
    """
    answers = ask(
        log,
        cluster=cluster,
        power=power,
        models=models,
        policies=policies,
        replicates=replicates,
        seed=seed,
        progress=progress,
    )
    return SiteReport(answers, seed)
