"""What a job manager adds: submission, launch, completion and release of a job, and its own loops.

w_i = a_i + b_i + c_i (Baranov et al. 2019, III): a job's processing time is its launch a, its own
run time b and its completion c; a and c vary from run to run.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Protocol

from onega.core.documents import read_json
from onega.core.errors import MachineError, suggest
from onega.core.files import StrPath, write_text
from onega.core.machine.laws import Draws, Law

MEASURED: Final = "measured"
"""The name of the set that comes with the package."""

LONGEST_OVERHEAD: Final = 30 * 86400.0
"""Seconds that a job manager adds to a job, on average, at most: more is a mistake."""

NONE: Final = "none"
"""What says that there are none."""


class HasOverheads(Protocol):
    """Anything with laws of launch and completion."""

    @property
    def launch(self) -> Draws:
        """Law of the launch."""

    @property
    def completion(self) -> Draws:
        """Law of the completion."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """Laws of a job manager's overheads, in seconds: `onega.Law`, its text, or what draws.

    Every simulated machine knows launch and completion; the model of Slurm knows all of them.

    Parameters
    ----------
    launch
        a: from the start that the job manager notes to the job's first instruction.
    completion
        c: from the job's last instruction to the end that the job manager notes.
    submission
        What a submission takes; the next one waits for it.
    release, report
        From the noted end until all of the job's nodes have answered that they are done, and can
        be used again: release + report · width. One draw of each for a job.
    beat, cycle
        What a beat of the manager's background loop takes beyond its second, and a backfill cycle
        beyond its interval: by these the loops drift. Only the means count.
    """

    launch: Draws
    completion: Draws
    submission: Draws
    release: Draws
    report: Draws
    beat: Draws
    cycle: Draws

    def __init__(
        self,
        launch: str | float | Draws = 0.0,
        completion: str | float | Draws = 0.0,
        *,
        submission: str | float | Draws = 0.0,
        release: str | float | Draws = 0.0,
        report: str | float | Draws = 0.0,
        beat: str | float | Draws = 0.0,
        cycle: str | float | Draws = 0.0,
    ) -> None:
        given = (launch, completion, submission, release, report, beat, cycle)
        for name, law in zip(OVERHEADS, given, strict=True):
            try:
                object.__setattr__(self, name, _checked(Law.of(law)))
            except MachineError as error:
                raise MachineError(f"{name}: {error}") from None

    @classmethod
    def of(cls, given: HasOverheads | str) -> Overheads:
        """Take the laws of anything that has them, or text as `parse` does."""
        if isinstance(given, cls):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        try:
            return cls(given.launch, given.completion)
        except AttributeError:
            raise MachineError(
                f"overheads are onega.Overheads({', '.join(OVERHEADS)}) or text, got {given!r:.60}"
            ) from None

    @classmethod
    def chosen(cls, text: str, *, folder: Path = Path()) -> Overheads | None:
        """Take ``none``, or what `parse` takes."""
        return None if text.strip() == NONE else cls.parse(text, folder=folder)

    @classmethod
    def parse(cls, text: str, *, folder: Path = Path()) -> Overheads:
        """Take ``measured``, a file that `save` wrote, or laws: ``launch=2s; release=1``.

        The path of a file starts in ``folder``.
        """
        if text.strip() == MEASURED:
            return cls.measured()
        if os.path.isfile(folder / text):  # laws may be too long for a path
            return cls.load(folder / text)
        if "=" not in text and ("/" in text or text.endswith(".json")):
            there = "is a folder" if os.path.isdir(folder / text) else "there is no such file"
            raise MachineError(f"overheads {text!r}: {there}")
        laws: dict[str, str] = {}
        for part in filter(None, (one.strip() for one in text.split(";"))):
            name, equals, law = (word.strip() for word in part.partition("="))
            if not equals or name not in OVERHEADS:
                raise MachineError(
                    f"overheads {text!r} are neither {MEASURED!r}, nor a file, nor laws such as "
                    f"'completion=gamma(mean=2, sd=1); release=1s'; of {', '.join(OVERHEADS)}"
                )
            if name in laws:
                raise MachineError(f"overheads {text!r}: {name} is given twice")
            laws[name] = law
        if not laws:
            raise MachineError("overheads: an empty text; give 'measured', a file, or laws")
        return cls(**laws)

    @classmethod
    def measured(cls) -> Overheads:
        """Return the set that comes with the package: see docs/adequacy.md for how it was made."""
        source = files("onega.core.machine").joinpath("measured_overheads.json")
        return _from(json.loads(source.read_text(encoding="utf-8")), MEASURED)

    @classmethod
    def load(cls, path: StrPath) -> Overheads:
        """Read what `save` wrote."""
        return _from(read_json(path, MachineError), path)

    def save(self, path: StrPath, *, about: str = "") -> None:
        """Write the laws as JSON, with a word about where they come from."""
        found = {name: _told(name, getattr(self, name)) for name in OVERHEADS}
        write_text(path, json.dumps({"about": about} | found, indent=2) + "\n")


OVERHEADS: Final = tuple(field.name for field in fields(Overheads))


def _checked(law: Draws) -> Draws:
    if isinstance(law, Law) and law.mean > LONGEST_OVERHEAD:
        raise MachineError(
            f"what a job manager adds is at most {LONGEST_OVERHEAD:g} s (30 days) on average, "
            f"got {law.mean:g}; work of that length belongs into the jobs' run times"
        )
    return law


def _told(name: str, law: Draws) -> str:
    if not isinstance(law, Law):
        raise MachineError(f"{name} is drawn by {law!r}, which can't be written; give a law")
    return str(law)


def _from(given: Any, path: StrPath) -> Overheads:  # noqa: ANN401
    if not isinstance(given, dict):
        raise MachineError(f"{path} holds no laws of overheads: an object, got {given!r:.60}")
    laws = {name: law for name, law in given.items() if name != "about"}
    for name, law in laws.items():
        if name not in OVERHEADS:
            raise MachineError(
                f"{path} holds no laws of overheads: {name!r}; {suggest(name, OVERHEADS)}"
            )
        if isinstance(law, bool) or not isinstance(law, str | int | float):
            raise MachineError(f"{path}: {name} is a law as text or seconds, got {law!r:.60}")
    if not laws:
        raise MachineError(f"{path} holds no laws of overheads: of {', '.join(OVERHEADS)}")
    try:
        return Overheads(**laws)
    except MachineError as error:
        raise MachineError(f"{path}: {error}") from None
