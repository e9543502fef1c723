"""Examples at the end of every command's help."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

EXAMPLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    name: tuple(found.items())
    for name, found in tomllib.loads(
        Path(__file__).with_name("examples.toml").read_text(encoding="utf-8")
    ).items()
}
"""Command → (what to type, what it does)."""


def epilog(name: str) -> str | None:
    """Return the examples of a command, or of all commands of a group, as the end of its help."""
    found = [
        pair
        for one in EXAMPLES
        if name and f"{one} ".startswith(f"{name} ")
        for pair in EXAMPLES[one]
    ]
    if not found:
        return None
    lines = [f"[green]$ {line}[/green]  [dim]# {why}[/dim]" for line, why in found]
    return "\n\n".join(["[bold]Examples[/bold]", *lines])
