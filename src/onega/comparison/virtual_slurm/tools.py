"""The programs that virtual nodes need, what to install, and what an earlier run left running."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path
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
    "sdiag": ("sdiag",),
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


def find_compiler() -> str:
    """Return the path of a C compiler, which a jumping clock needs; refuse if there is none."""
    path = shutil.which("cc") or shutil.which("gcc")
    if path is None:
        raise SimulationError(
            "a jumping clock needs a C compiler (apt-get install -y --no-install-recommends gcc "
            "libc6-dev), and neither cc nor gcc is there; a steady clock needs none"
        )
    return path


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


def end_leftovers(folder: Path) -> list[int]:
    """End processes that an earlier run left behind: those with files open below its folder.

    Needed only if both the driver and the keeper were killed at one moment.
    """
    root = str(folder.resolve()) + os.sep
    mine, ended = os.geteuid(), []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        place = f"/proc/{name}"
        try:
            if os.stat(place).st_uid != mine:
                continue
            links = [os.readlink(f"{place}/cwd")]
            for fd in os.listdir(f"{place}/fd"):
                with contextlib.suppress(FileNotFoundError):  # files come and go meanwhile
                    links.append(os.readlink(f"{place}/fd/{fd}"))
            command = Path(f"{place}/cmdline").read_bytes().partition(b"\0")[0].decode()
        except OSError:
            continue
        known = os.path.basename(command.split(":")[0]).removesuffix("-wlm")
        daemon = known in ("slurmctld", "slurmd", "slurmstepd", "munged", "faketime", "sleep")
        if daemon and any(link.startswith(root) for link in links):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(name), signal.SIGKILL)
                ended.append(int(name))
    return ended
