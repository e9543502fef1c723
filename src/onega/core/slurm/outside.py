"""Settings of a slurm.conf that change a schedule, and that the model of Slurm doesn't have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

NOTHING: Final = frozenset({"", "0", "no", "none", "off", "(null)"})
"""Values that leave a setting without effect, whatever it is."""

ALWAYS: Final = {
    "SelectTypeParameters": "memory",
    "TopologyPlugin": "tree|3d|torus|hypercube|dragonfly|block|file",
    "GresTypes": "",
    "Licenses": "",
    "AccountingStorageEnforce": "limits|qos|safe|all|^[1-9]",
    "PreemptType": "",
    "PreemptMode": "",
    "PreemptExemptTime": "",
    "CompleteWait": "",
    "OverTimeLimit": "",
    "SuspendTime": "^[0-9]",
    "BurstBufferType": "",
}
"""Settings that the model doesn't have, and the values (a pattern) at which they have an effect."""

MULTIFACTOR: Final = (
    "PriorityWeightFairshare",
    "PriorityWeightQOS",
    "PriorityWeightPartition",
    "PriorityWeightAssoc",
    "PriorityWeightTRES",
    "PriorityFlags",
    "PrioritySiteFactorPlugin",
)
"""The same of priority/multifactor, which any other PriorityType does without."""

FAIR_SHARE: Final = {
    "PriorityDecayHalfLife": "",
    "PriorityUsageResetPeriod": "",
    "FairShareDampeningFactor": "^(?!1$)",
}
"""What shapes fair share, where that has a weight; and at which values."""

NODE: Final = ("RealMemory", "Gres", "Feature", "Features", "Weight")
"""What nodes have, beside processors."""


def settings_outside(conf: Mapping[str, str]) -> tuple[str, ...]:
    """Return the settings of a slurm.conf (keywords in lower case) that no model here has.

    Those that would change which job starts when, unless they stand at a value without effect.

    Examples
    --------
    >>> settings_outside({"preempttype": "preempt/none", "licenses": "matlab:10"})
    ('Licenses=matlab:10',)
    """
    found = [_told(conf, key) for key, effect in ALWAYS.items() if _acts(conf, key, effect)]
    if conf.get("prioritytype", "").lower() == "priority/multifactor":
        found += [_told(conf, key) for key in MULTIFACTOR if _acts(conf, key)]
        if _acts(conf, "PriorityWeightFairshare"):
            found += [
                _told(conf, key) for key, effect in FAIR_SHARE.items() if _acts(conf, key, effect)
            ]
    return (*found, *_nodes(conf), *_partitions(conf))


def _told(conf: Mapping[str, str], key: str) -> str:
    return f"{key}={conf[key.lower()]}"


def _acts(conf: Mapping[str, str], key: str, effect: str = "") -> bool:
    value = conf.get(key.lower(), "").strip().lower()
    plain = value.rpartition("/")[2]
    return plain not in NOTHING and re.search(effect, value) is not None


def _nodes(conf: Mapping[str, str]) -> list[str]:
    """Tell what nodes have, as each processor is a node of the model."""
    lines = conf.get("nodename", "")
    has = [word for word in NODE if re.search(rf"\b{word}=", lines, re.IGNORECASE)]
    if re.search(r"\b(procs|cpus|corespersocket)=0*([2-9]|1[0-9])", lines, re.IGNORECASE):
        has.insert(0, "several processors")
    return [f"NodeName ({', '.join(has)})"] if has else []


def _partitions(conf: Mapping[str, str]) -> list[str]:
    """Tell the partitions, where there are several."""
    names = [line.split()[0] for line in conf.get("partitionname", "").splitlines() if line]
    names = [name for name in names if name.upper() != "DEFAULT"]
    return [f"PartitionName ({', '.join(names)})"] if len(names) > 1 else []
