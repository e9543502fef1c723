"""Every family of models by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onega.models.base import WorkloadModel

_FAMILIES = {
    "independent": "onega.models.jobs.independent:Independent",
    "markov": "onega.models.jobs.markov:Markov",
    "markov-pair": "onega.models.jobs.markov:PairMarkov",
    "vlmc": "onega.models.jobs.vlmc:Vlmc",
    "lublin": "onega.models.published.lublin:Lublin",
    "jann": "onega.models.published.jann:Jann",
    "downey": "onega.models.published.downey:Downey",
    "feitelson96": "onega.models.published.feitelson96:Feitelson96",
    "cirne": "onega.models.published.cirne:CirneBerman",
    "neural": "onega.models.jobs.neural:Neural",
    "svr": "onega.models.jobs.svr:Svr",
    "private": "onega.models.private:Private",
    "user-groups": "onega.models.users.groups:UserGroups",
    "site": "onega.models.site.site:Site",
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
