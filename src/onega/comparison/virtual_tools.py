"""The programs that virtual nodes need, and what to install where they are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

from onega.core.errors import SimulationError

PACKAGES: Final = ("slurmctld", "slurmd", "slurm-client", "munge", "faketime")

PROGRAMS: Final = {
    "slurmctld": ("slurmctld-wlm", "slurmctld"),
    "slurmd": ("slurmd-wlm", "slurmd"),
    "slurmstepd": ("slurmstepd-wlm", "slurmstepd"),
    "munged": ("munged",),
    "munge": ("munge",),
    "faketime": ("faketime",),
    "sbatch": ("sbatch",),
    "scancel": ("scancel",),
    "scontrol": ("scontrol",),
    "sinfo": ("sinfo",),
    "squeue": ("squeue",),
}
"""Program → names it is looked for under. Debian's ``-wlm`` are the daemons themselves; the plain
names may belong to the emulator packages, which don't work."""

INSTALL: Final = f"apt-get install -y --no-install-recommends {' '.join(PACKAGES)}"

MESSAGE: Final = (
    "virtual nodes need a real Slurm: Debian's and Ubuntu's packages "
    f"{', '.join(PACKAGES)} ({INSTALL}); nothing else of Onega needs them"
)


def find_programs() -> dict[str, str]:
    """Return the path of every program; refuse with the packages to install if one is missing."""
    places = os.pathsep.join(
        [os.environ.get("PATH", ""), "/usr/sbin", "/usr/bin", "/usr/local/sbin"]
    )
    found, missing = {}, []
    for program, names in PROGRAMS.items():
        path = next((p for name in names if (p := shutil.which(name, path=places))), None)
        if path is None:
            missing.append(program)
        else:
            found[program] = path
    if missing:
        raise SimulationError(f"{MESSAGE}; not found: {', '.join(missing)}")
    return found


def have_slurm() -> bool:
    """Tell whether everything is installed."""
    try:
        find_programs()
    except SimulationError:
        return False
    return True


def slurm_version() -> str:
    """Return what slurmctld says of itself: ``slurm-wlm 22.05.8``."""
    done = subprocess.run(
        [find_programs()["slurmctld"], "-V"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
