"""What the figures of `onega.compare` are, in words, and which of them differ most.

How far two workloads are apart by one figure: a distance is that itself; of correlations and shares
the difference counts; of all else |synthetic ÷ real − 1|, as in docs/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from onega.core.units import percent, quantity

How = Literal["difference", "ratio", "distance", "told"]


class Figure(NamedTuple):
    """A figure of the comparison: how it is called, what it is, how two sides are held together."""

    name: str
    meaning: str
    how: How


def _figures() -> dict[str, Figure]:
    ratio, difference, distance, told = "ratio", "difference", "distance", "told"
    rows: dict[str, tuple[str, str, Any]] = {
        "jobs": ("jobs", "with a width and a run time", told),
        "corr": ("width with run time", "correlation of a job's two sizes", difference),
        "rho1_procs": ("memory of widths", "ρ₁: correlation of a job with the next", difference),
        "rho1_runtime": ("memory of run times", "ρ₁ of the run times", difference),
        "same_procs": ("same width", "share of jobs as wide as the one before", difference),
        "cor0": ("cor₀", "widths and run times rising and falling together", difference),
        "cor1": ("cor₁", "the same, a job later", difference),
        "rho1_gap": ("memory of gaps", "ρ₁ of the gaps between submissions", difference),
        "mean_gap": ("mean gap", "seconds between submissions", ratio),
        "load": ("load", "work ÷ (machine × time)", ratio),
        "dispersion_hour": ("bursts by the hour", "Var/mean of submissions; 1: Poisson", ratio),
        "dispersion_day": ("bursts by the day", "the same of days", ratio),
        "dispersion_week": ("bursts by the week", "the same of weeks", ratio),
        "weekly_work_cv": ("weekly work", "its standard deviation ÷ mean", ratio),
        "night_runtime": ("run times at night", "mean outside 8–18 h ÷ mean of the others", ratio),
        "night_procs": ("widths at night", "the same of the widths", ratio),
        "weekend_runtime": ("run times at weekends", "mean ÷ mean of the other days", ratio),
        "weekend_procs": ("widths at weekends", "the same of the widths", ratio),
        "p99_runtime": ("long run times", "99 % are shorter, s", ratio),
        "p999_runtime": ("longest run times", "99.9 % are shorter, s", ratio),
        "p99_work": ("large jobs", "99 % have less work, processor-s", ratio),
        "heavy_work": ("heaviest 1 %", "their share of all work", ratio),
        "wait_fcfs": ("wait, FCFS", "simulated mean, s", ratio),
        "utilisation_fcfs": ("utilisation, FCFS", "busy processors", ratio),
        "wait_easy": ("wait, EASY", "simulated mean, s", ratio),
        "utilisation_easy": ("utilisation, EASY", "busy processors", ratio),
        "ks_procs": ("widths", "largest gap between the distributions (KS)", distance),
        "ks_runtime": ("run times", "KS", distance),
        "ks_gap": ("gaps between submissions", "KS", distance),
        "ks_estimate": ("estimates", "KS", distance),
        "d_sa": ("area of a job", "d_SA: mean of width × run time ÷ the log's − 1", told),
        "hourly_distance": ("hours of the day", "share of jobs at another hour", distance),
        "wait_fcfs_ratio": ("wait, FCFS, ratio", "synthetic ÷ real", told),
        "wait_easy_ratio": ("wait, EASY, ratio", "synthetic ÷ real", told),
        "privacy_unique_records": ("unique records", "(width, run time) of one job alone", told),
        "privacy_repeated": ("come back", "share of these that the synthetic jobs have", told),
        "privacy_copies": ("copies", "share of the synthetic jobs that are such a record", told),
        "privacy_nearest": ("near copies", "the same within 1 % of the run time", told),
    }
    return {key: Figure(*row) for key, row in rows.items()}


FIGURES: Final = _figures()
"""Key of `onega.compare`'s table → what it is."""

ALIKE: Final = 0.1
"""Figures less far apart than that are called alike."""

SHOWN: Final = 3
"""How many of the figures that differ most are named."""


def how_far(figure: Figure, real: float | None, synthetic: float) -> float:
    """Return how far two sides are apart by one figure; NaN if it isn't a figure of that kind."""
    if figure.how == "distance":
        return synthetic
    if real is None or figure.how == "told":
        return math.nan
    if figure.how == "difference":
        return abs(synthetic - real)
    return abs(synthetic / real - 1) if real else math.nan


def compare_sentences(rows: Mapping[str, tuple[float | None, float]]) -> list[str]:
    """Say how alike two workloads are: the laws of single jobs, and what differs most.

    ``rows`` are the figures of both sides, by key.
    """
    far = {key: how_far(FIGURES[key], *row) for key, row in rows.items() if key in FIGURES}
    far = {key: value for key, value in far.items() if math.isfinite(value)}
    laws = {key: far[key] for key in far if key.startswith("ks_")}
    said = []
    if laws:
        worst = max(laws, key=lambda key: laws[key])
        said.append(
            f"One by one the jobs are {_word(laws[worst])}: the distributions of "
            f"{_listed([FIGURES[key].name for key in laws])} are at most {percent(laws[worst])} "
            f"apart (KS, {FIGURES[worst].name})."
        )
    others = sorted((key for key in far if key not in laws), key=lambda key: -far[key])
    most = [key for key in others if far[key] >= ALIKE][:SHOWN]
    if most:
        told = "; ".join(_told(key, rows[key]) for key in most)
        count = sum(far[key] < ALIKE for key in others)
        said.append(
            f"What differs most: {told}. {count} of {len(others)} other figures are "
            f"within {percent(ALIKE)}."
        )
    elif others:
        said.append(f"All {len(others)} other figures are within {percent(ALIKE)}.")
    return said


def _word(distance: float) -> str:
    return "alike" if distance < ALIKE else "not alike"


def _told(key: str, row: tuple[float | None, float]) -> str:
    figure, (real, synthetic) = FIGURES[key], row
    if real is None:
        return f"{figure.name} ({figure.meaning}: {percent(synthetic)})"
    return f"{figure.name} ({quantity(synthetic)}, in the log {quantity(real)})"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
