"""Whether other people use this machine: they can reach a page that listens on loopback, too."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FIRST_PERSON: Final = 501 if sys.platform == "darwin" else 1000
"""User ids of people begin here by custom; those below are the system's own."""
NO_SHELLS: Final = ("nologin", "false", "sync")
ELSEWHERE: Final = ("SSH_CONNECTION", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
"""Variables of a session on a machine that isn't in front of its user."""


def why_shared() -> str | None:
    """Return why other people can be expected here; None if the machine looks like one's own."""
    if any(name in os.environ for name in ELSEWHERE):
        return "others may use this machine too"
    names = sorted({*_with_accounts(), *_with_processes()})
    if not names:
        return None
    return f"others use this machine too ({', '.join(names[:3])}{', …' if names[3:] else ''})"


def _with_accounts() -> Iterator[str]:
    """Yield the accounts that can log in, as far as the system lists them."""
    with contextlib.suppress(ImportError):
        import pwd

        yield from (entry.pw_name for entry in pwd.getpwall() if _is_other_person(entry))


def _with_processes() -> Iterator[str]:
    """Yield the users of running processes; a directory service may not list their accounts."""
    with contextlib.suppress(ImportError):
        import pwd

        users = set()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                users.add(process.stat().st_uid)
        for user in users:
            with contextlib.suppress(KeyError):  # of another container's user
                entry = pwd.getpwuid(user)
                if _is_other_person(entry):
                    yield entry.pw_name


def _is_other_person(entry: object) -> bool:
    user = int(getattr(entry, "pw_uid", 0))
    shell = str(getattr(entry, "pw_shell", "")).rpartition("/")[2]
    return user >= FIRST_PERSON and user != os.getuid() and shell not in NO_SHELLS
