"""Workload models: learn a log, make more of it (layer: models).

``MODELS`` names every family; `onega.models.Markov` and the others are loaded on first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel

_FAMILIES = {
    "independent": "onega.models.independent:Independent",
    "markov": "onega.models.markov:Markov",
    "markov-pair": "onega.models.markov:PairMarkov",
    "vlmc": "onega.models.vlmc:Vlmc",
    "lublin": "onega.models.lublin:Lublin",
    "jann": "onega.models.jann:Jann",
    "downey": "onega.models.downey:Downey",
    "feitelson96": "onega.models.feitelson96:Feitelson96",
    "neural": "onega.models.neural:Neural",
    "svr": "onega.models.svr:Svr",
    "user-groups": "onega.models.users_groups:UserGroups",
}

_NAMES = {
    "Alignment": "onega.models.alignment",
    "Arrivals": "onega.models.arrivals",
    "BetaEstimates": "onega.models.estimates",
    "DayNight": "onega.models.cycles",
    "EstimateModel": "onega.models.estimates",
    "GammaEstimates": "onega.models.estimates",
    "GroupChoice": "onega.models.users_clusters",
    "PolynomialCycle": "onega.models.cycles",
    "StepCycle": "onega.models.cycles",
    "TsafrirEstimates": "onega.models.tsafrir",
    "UserGrouping": "onega.models.users_clusters",
    "UserModel": "onega.models.users",
    "WorkloadModel": "onega.models.base",
    "compose": "onega.models.composition",
    "from_json": "onega.models.base",
    "group_users": "onega.models.users_clusters",
    "load": "onega.models.base",
    "suggest_groups": "onega.models.users_clusters",
    **{place.split(":")[1]: place.split(":")[0] for place in _FAMILIES.values()},
}


class _Registry(Mapping[str, "type[WorkloadModel]"]):
    """Name → family, imported when it is asked for."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> type[WorkloadModel]:
        module, _, attribute = self._places[name].partition(":")
        family: type[WorkloadModel] = getattr(import_module(module), attribute)
        return family

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places


MODELS: Mapping[str, type[WorkloadModel]] = _Registry(_FAMILIES)
"""Every family by its name, in the order of the documentation."""

__all__ = sorted(["MODELS", *_NAMES])


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'onega.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
