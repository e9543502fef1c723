"""Names that programs rely on: options of every command and keys of every JSON object.

``snapshot.json`` holds them as they were; a name may be added, never lost. After adding one:
``PYTHONPATH=src:tests python tests/cli/test_snapshot.py``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from onega.cli.app import main, make_command
from places import made

SNAPSHOT = Path(__file__).with_name("snapshot.json")
LOG = str(made("made-100.swf"))
OTHER = str(made("made-128.swf"))
CLASSES = ["--classes", "0.5,0.5", "--procs", "2", "--arrival-rate", "0.1", "--mean-runtime", "1"]
RATES = ["--arrival-rate", "2", "--service-rate", "1", "--limit-rate", "0.1"]
SWEEP = f'[fixed]\ntrace = "{LOG}"\nprocs = 100\n[vary]\npolicy = ["fcfs", "easy"]\n'

LINES: dict[str, list[str]] = {
    "adequacy": [LOG, "--simulate", "easy"],
    "archive list": [],
    "closed-loop": ["users.swf", "--seed", "1"],
    "cluster check": ["cluster.toml", LOG],
    "compare": [LOG, OTHER],
    "compare-policies": [LOG, "--policies", "fcfs,easy", "--resample", "none"],
    "convert": [LOG, "out.swf"],
    "describe": [LOG],
    "feedback": ["users.swf"],
    "fit": ["markov", LOG, "-o", "model.json", "--seed", "1"],
    "golden": [LOG, "--policy", "easy"],
    "groups": [LOG],
    "hysteresis": [*CLASSES, "--rates", "1,2", "--k-low", "1", "--k-high", "3"],
    "limits": [*RATES, "--widths", "1:0.5,2:0.5"],
    "plan": [LOG, "--target", "mean(wait)<4h", "--resample", "none"],
    "reproduce limits": [],
    "sample": ["lublin", "-n", "50", "--procs", "16", "-o", "some.swf", "--seed", "1"],
    "simulate": [LOG, "--policy", "easy", "--out", "run"],
    "stability": CLASSES,
    "sweep": ["sweep.toml", "-o", "runs"],
}
"""Commands in the order in which they run; the others need a network, a Slurm, or minutes."""


def leaves(command, name=""):
    inner = getattr(command, "commands", {})
    if not inner:
        yield name, command
    for word, one in inner.items():
        yield from leaves(one, f"{name} {word}".strip())


def names_of_options():
    return {
        name: sorted({flag for one in command.params for flag in (*one.opts, *one.secondary_opts)})
        for name, command in leaves(make_command())
    }


def files_beside(folder: Path):
    (folder / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    rows = [
        f"{i + 1} {300 * i} {i * 37 % 900} {60 + i * 91 % 800} {1 + i % 4} -1 -1 {1 + i % 4} 3600"
        f" -1 1 {1 + i % 6} {1 + i % 6} -1 -1 -1 -1 -1"
        for i in range(600)
    ]
    (folder / "users.swf").write_text("; MaxProcs: 64\n" + "\n".join(rows) + "\n")
    (folder / "cluster.toml").write_text("procs = 100\n", encoding="utf-8")


def keys_of(name: str, capture) -> list[str]:
    with pytest.raises(SystemExit) as stopped:
        main([*name.split(), *LINES[name], "--json"])
    out = capture()
    assert stopped.value.code in (0, 1), name
    return sorted(json.loads(out))


def test_no_command_or_option_is_lost():
    now = names_of_options()
    before = json.loads(SNAPSHOT.read_text(encoding="utf-8"))["options"]
    lost = {name: sorted(set(flags) - set(now.get(name, ()))) for name, flags in before.items()}
    assert not {name: flags for name, flags in lost.items() if flags}


@pytest.mark.parametrize("name", LINES)
def test_no_key_is_lost(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files_beside(tmp_path)
    before = json.loads(SNAPSHOT.read_text(encoding="utf-8"))["keys"][name]
    assert not set(before) - set(keys_of(name, lambda: capsys.readouterr().out))


def write() -> None:
    """Write the snapshot anew."""
    import contextlib
    import io
    import os
    import tempfile

    keys = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        files_beside(Path(folder))
        for name in LINES:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                keys[name] = keys_of(name, out.getvalue)
            print(name, len(keys[name]), file=sys.stderr)
    content = {"options": names_of_options(), "keys": keys}
    SNAPSHOT.write_text(json.dumps(content, indent=1) + os.linesep, encoding="utf-8")


if __name__ == "__main__":
    write()
