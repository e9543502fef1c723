"""The machine of a request: its own words over those of a description, over the log's size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from onega.core.documents import parse_toml
from onega.core.errors import MachineError
from onega.core.machine.cluster import Cluster
from onega.core.machine.settings.making import make_cluster, with_size
from onega.core.machine.settings.reading import check_settings
from onega.web.schemas import POLICY, SETTINGS


def machine_of(request: Mapping[str, Any], log_procs: int | None) -> Cluster:
    """Make the cluster that a request describes; raises as its parts do."""
    settings = _described(request.get("cluster") or "")
    settings |= check_settings({name: request.get(name) for name in SETTINGS})
    return make_cluster(with_size(settings, log_procs, "give procs"))


def _described(text: str) -> dict[str, Any]:
    """Read a description in TOML, as `onega cluster init` writes it."""
    data = parse_toml(text, lambda fault: MachineError(f"the machine's description: {fault}"))
    settings = check_settings(data)
    for part in settings.get("partitions", ()):
        # The command's policies may name a file (slurm:FILE); a request's may not.
        policy = str(part.get("policy", "fcfs"))
        if not re.fullmatch(POLICY, policy):
            raise MachineError(f"a partition's policy is ORDER[+BACKFILL]; got {policy[:40]!r}")
    return settings
