"""A machine described in a TOML file.

::

    procs = 80

    [rate_control]            # the arguments of onega.RateControl
    kind = "workload"
    rates = [2.0, 2.66]
    k_low = 1e5
    k_high = 3e5

    [power]                   # the arguments of onega.Power, watts per processor
    busy = [0.034, 0.041]
    idle = [0.014, 0.018]

and so on for every part of `onega.Cluster`; ``onega cluster init`` writes a file with all of them.
A key that isn't known is refused, so that a misspelt one doesn't go unnoticed.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from onega.core.cluster import Cluster
from onega.core.cluster_settings import make_cluster
from onega.core.cluster_tables import ClusterFile, explain, setting_names
from onega.core.errors import SimulationError

__all__ = ["check_settings", "make_cluster", "read_cluster", "read_settings", "setting_names"]


def read_cluster(path: str | os.PathLike[str]) -> Cluster:
    """Read a machine from a TOML file; it has to say how many processors there are."""
    settings = read_settings(path)
    if not settings.keys() & {"procs", "nodes", "partitions"}:
        raise SimulationError(f"{path}: how many processors? write procs = N")
    try:
        return make_cluster(settings)
    except SimulationError as error:
        raise SimulationError(f"{path}: {error}") from None


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a file says, as a dictionary of the keys that are there."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SimulationError(f"{path}: not a TOML file: {error}") from None
    try:
        return check_settings(data)
    except SimulationError as error:
        raise SimulationError(f"{path}: {error}") from None


def check_settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are there; refuse a key that isn't known, or of another type."""
    try:
        return ClusterFile.model_validate(data).model_dump(exclude_none=True)
    except ValidationError as error:
        raise SimulationError(explain(error)) from None
