"""The reference of the library: one page for each part, with every public name of that part.

The names and their order come from `onega.__all__`, their part from the module that defines them;
Sphinx' autodoc does the rest.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import onega

PARTS = {
    "logs": ("Logs and workloads", ("onega.traces", "onega.core.workload")),
    "machines": (
        "Machines and policies",
        ("onega.core.machine", "onega.core.policy", "onega.machine"),
    ),
    "schedules": ("Simulations and schedules", ("onega.simulation", "onega.core.schedule")),
    "models": ("Workload models", ("onega.models",)),
    "comparison": ("Comparisons and adequacy", ("onega.comparison",)),
    "experiments": ("Experiments: sweeps, replicates, plans, users", ("onega.experiment",)),
    "queueing": ("Queueing theory", ("onega.queueing", "onega.experiment.stability")),
    "others": ("Reports, intervals, errors", ("onega",)),
}
"""Page → its title and the packages whose public names stand on it; the longest match counts."""


def pages() -> dict[str, str]:
    """Name of each page (below ``library/``) → its Markdown."""
    names: dict[str, list[str]] = {part: [] for part in PARTS}
    for name in onega.__all__:
        names[part_of(name)].append(name)
    return {part: _page(PARTS[part][0], names[part]) for part in PARTS}


def part_of(name: str) -> str:
    """Tell on which page a public name stands."""
    thing = getattr(onega, name)
    home = thing.__name__ if isinstance(thing, ModuleType) else thing.__module__
    lengths = {
        part: max((len(one) for one in homes if f"{home}.".startswith(f"{one}.")), default=0)
        for part, (_, homes) in PARTS.items()
    }
    return max(lengths, key=lambda part: lengths[part])


def _page(title: str, names: list[str]) -> str:
    parts = [f"# {title}"]
    for name in names:
        thing = getattr(onega, name)
        if isinstance(thing, ModuleType):
            inner = [
                f"{name}.{word}"
                for word in getattr(thing, "__all__", ())
                if word not in onega.__all__
            ]
            parts += [_entry(one, getattr(thing, one.rpartition(".")[2])) for one in inner]
        else:
            parts.append(_entry(name, thing))
    return "\n\n".join(parts) + "\n"


def _entry(name: str, thing: Any) -> str:
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
    else:
        kind = "autofunction" if callable(thing) else "autodata"
    return f"## {name}\n\n```{{eval-rst}}\n.. {kind}:: onega.{name}\n```"
