"""Parameters of Slurm's scheduler, as data: from their names, from text, from a slurm.conf."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from onega.core.errors import OnegaWarning, PolicyError
from onega.core.slurm.conf import read_slurm_conf
from onega.core.slurm.outside import settings_outside

FINE_TEXT: Final = (
    "bf_interval=1,bf_resolution=1,bf_window=10080,bf_max_job_test=2000,bf_continue,"
    "sched_interval=1,sched_min_interval=0,batch_sched_delay=0,default_queue_depth=2000"
)
"""SchedulerParameters of a Slurm that looks every second, to the second, a week ahead."""

NAMED: Final = {"stock": "", "fine": FINE_TEXT}

MOST_NAMED: Final = 30
"""Settings outside the model that are named one by one."""

_WITHOUT_EFFECT: Final = frozenset(
    {
        *("bf_continue", "bf_max_time", "max_sched_time", "bf_yield_interval", "bf_yield_sleep"),
        *("sched_min_interval", "bf_node_space_size", "partition_job_depth", "defer"),
    }
)
"""Parameters that guard the controller's computing time, which the model has plenty of. (Batch jobs
are scheduled together with or without ``defer``: submissions and ends only ask for a pass.)"""


_RANGES: Final = {
    "bf_interval": (1, 10_800),
    "bf_resolution": (1, 3600),
    "bf_window": (1, 43_200),
    "bf_max_job_test": (1, 1_000_000),
    "sched_interval": (0, 86_400),
    "batch_sched_delay": (0, 86_400),
    "default_queue_depth": (0, 1_000_000),
    "min_job_age": (0, 4_294_967_295),
}
"""What is accepted: Slurm's own bounds where its manual gives them, else a day and a million."""


@dataclass(frozen=True, slots=True)
class SlurmParameters:
    """Parameters of slurmctld's two schedulers; the defaults are those of Slurm 22.05.

    Attributes
    ----------
    backfill
        False for ``SchedulerType=sched/builtin``.
    bf_interval
        Seconds between two backfill cycles.
    bf_resolution
        Seconds to which reservations are rounded down.
    bf_window
        Minutes that plans look ahead.
    bf_max_job_test
        Jobs that a cycle looks at.
    sched_interval
        Seconds between two main passes over the whole queue.
    batch_sched_delay
        Seconds that a pass after a submission may be put off.
    default_queue_depth
        Jobs that any other main pass looks at.
    min_job_age
        MinJobAge: seconds for which slurmctld remembers a job that has ended; 0: for ever.
    weight_age, weight_size, max_age, favour_small
        PriorityWeightAge, PriorityWeightJobSize, PriorityMaxAge (seconds), PriorityFavorSmall of
        priority/multifactor; both weights 0: first in, first out (priority/basic).
    name
        How the set is called in results: as it was given, a slurm.conf by its path.
    ignored
        What was given but isn't in the model: SchedulerParameters that it doesn't know, and of a
        slurm.conf whatever else would change a schedule (`onega.core.slurm.outside`).
    """

    backfill: bool = True
    bf_interval: int = 30
    bf_resolution: int = 60
    bf_window: int = 1440
    bf_max_job_test: int = 500
    sched_interval: int = 60
    batch_sched_delay: int = 3
    default_queue_depth: int = 100
    min_job_age: int = 300
    weight_age: float = 0.0
    weight_size: float = 0.0
    max_age: float = 7 * 86400.0
    favour_small: bool = False
    name: str = "stock"
    ignored: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key, (least, most) in _RANGES.items():
            if not least <= getattr(self, key) <= most:
                given = getattr(self, key)
                raise PolicyError(f"{key} is a number from {least} to {most}; got {given}")
        if min(self.weight_age, self.weight_size) < 0:
            raise PolicyError("PriorityWeightAge and PriorityWeightJobSize are numbers from 0 on")
        if not self.max_age > 0:
            raise PolicyError(f"PriorityMaxAge is a time above 0; got {self.max_age:g} s")

    @classmethod
    def parse(cls, text: str, *, folder: Path | None = Path()) -> SlurmParameters:
        """Take ``stock``, ``fine``, the path of a slurm.conf, or SchedulerParameters as text.

        Warns of what is given and isn't in the model. ``folder``: where a relative path starts;
        None: no file is read.
        """
        given = text.strip()
        if given.lower() in NAMED:
            found = cls.of({"schedulerparameters": NAMED[given.lower()]}, given.lower())
        elif folder is not None and os.path.isfile(folder / given):  # it may be too long for a path
            found = _of_file(folder / given, given)
        elif not NAMED.keys().isdisjoint(re.split("[,;]", given.lower())):
            raise PolicyError(
                f"slurm parameters {text!r}: {' and '.join(NAMED)} stand alone; write all "
                "SchedulerParameters, as in bf_interval=30;bf_resolution=60"
            )
        elif re.fullmatch(r"\w+(=[\w.+-]*)?([,;]\w+(=[\w.+-]*)?)*", given) and "=" in given:
            found = cls.of({"schedulerparameters": given.replace(";", ",")}, given)
        else:
            raise PolicyError(
                f"slurm parameters {text!r} are neither {' nor '.join(NAMED)}, nor a slurm.conf, "
                "nor SchedulerParameters such as bf_interval=30;bf_resolution=60"
            )
        if found.ignored:
            more = len(found.ignored) - MOST_NAMED
            ignored = ", ".join(found.ignored[:MOST_NAMED]) + (f", {more} more" * (more > 0))
            warnings.warn(
                f"{found}: not in the model of Slurm, and left out: {ignored}",
                OnegaWarning,
                stacklevel=2,
            )
        return found

    @classmethod
    def of(cls, conf: Mapping[str, str], name: str = "slurm.conf") -> SlurmParameters:
        """Take the keywords of a slurm.conf (in lower case)."""
        changes: dict[str, Any] = {"name": name}
        ignored = []
        known = set(cls.__dataclass_fields__) - {"backfill", "name", "ignored"}
        for word in conf.get("schedulerparameters", "").split(","):
            key, _, value = word.strip().partition("=")
            key = key.lower()
            if key in known and key.startswith(("bf_", "sched_", "batch_", "default_")):
                changes[key] = _number(key, value)
            elif key and key not in _WITHOUT_EFFECT:
                ignored.append(word.strip())
        if conf.get("schedulertype", "sched/backfill").lower() == "sched/builtin":
            changes["backfill"] = False
        if "minjobage" in conf:
            changes["min_job_age"] = _number("MinJobAge", conf["minjobage"])
        if conf.get("prioritytype", "").lower() == "priority/multifactor":
            changes["weight_age"] = float(_number("", conf.get("priorityweightage", "0")))
            changes["weight_size"] = float(_number("", conf.get("priorityweightjobsize", "0")))
            changes["favour_small"] = conf.get("priorityfavorsmall", "no").lower() == "yes"
            changes["max_age"] = slurm_duration(conf.get("prioritymaxage", "7-0"))
        return replace(cls(), **changes, ignored=(*ignored, *settings_outside(conf)))

    def __str__(self) -> str:
        return "slurm" if self.name == "stock" else f"slurm:{self.name}"


def _of_file(path: Path, name: str) -> SlurmParameters:
    """Read a slurm.conf; what is wrong with a value names the file."""
    conf = read_slurm_conf(path)
    try:
        return SlurmParameters.of(conf, name)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
        raise PolicyError(f"{key or 'a weight'} is a whole number, got {value[:60]!r}")
    return int(value)


def slurm_duration(text: str) -> float:
    """Read Slurm's times: minutes, minutes:seconds, h:m:s, days-hours[:minutes[:seconds]]."""
    days, dash, rest = text.strip().rpartition("-")
    try:
        if len(text) > 60:
            raise ValueError
        parts = [int(part) for part in rest.split(":")]
        if dash:
            hours, minutes, seconds = (*parts, 0, 0)[:3]
            return int(days) * 86400.0 + hours * 3600 + minutes * 60 + seconds
        if len(parts) == 3:
            return parts[0] * 3600.0 + parts[1] * 60 + parts[2]
        return parts[0] * 60.0 + (parts[1] if len(parts) > 1 else 0)
    except (ValueError, TypeError):
        raise PolicyError(f"not a time of Slurm: {text[:60]!r}; e.g. 90, 1:30:00, 7-0") from None
