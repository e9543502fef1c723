"""Reading a slurm.conf: keywords and values, as far as a model of the scheduler needs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from onega.core.errors import PolicyError
from onega.core.files import StrPath

REPEATED: Final = frozenset({"nodename", "partitionname"})
"""Keywords with a line for each thing that they describe; of the others the last line counts."""


def read_slurm_conf(path: StrPath) -> dict[str, str]:
    """Return keyword → value of a slurm.conf, keywords in lower case.

    Comments, continued lines and ``Include`` are understood; nodes and partitions (lines with
    several keywords) keep their first keyword with the rest of the line, a line of text for each.
    A file without any ``Keyword=value`` is refused.
    """
    found: dict[str, str] = {}
    _read(Path(path), found, depth=0)
    if not found:
        raise PolicyError(f"{path} is not a slurm.conf: it has no line Keyword=value")
    return found


def _read(path: Path, found: dict[str, str], depth: int) -> None:
    if depth > 8:
        raise PolicyError(f"{path}: Include goes round in circles")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise PolicyError(f"{path}: {error.strerror or error}") from None
    for line in text.replace("\\\n", " ").splitlines():
        body = line.partition("#")[0].strip()
        if body.lower().startswith("include "):
            _read(path.parent / body.split(maxsplit=1)[1], found, depth + 1)
            continue
        key, equals, value = body.partition("=")
        if equals and re.fullmatch(r"[A-Za-z0-9]+", key.strip()):
            word = key.strip().lower()
            before = f"{found[word]}\n" if word in REPEATED and word in found else ""
            value = value.strip() if word in REPEATED else value.strip().strip('"')
            found[word] = before + value
