"""``kill -9`` of a fit at any moment: the old model stands or the new one does, each whole."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time

import pytest

import onega
from onega.models.published.lublin import Lublin

CODE = "import sys; from onega.cli.app import main; main(sys.argv[1:])"


def fit(folder, seed):
    """Start a fit in a process of its own."""
    words = ["fit", "markov", "log.swf", "-o", "out/model.json", "--seed", str(seed)]
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill_at_random(driver, out, chance):
    """Kill it while it writes (as soon as a part of a file is seen), or at any moment."""
    wait = chance.choice([0.0, 0.0, 0.5, 1.5])
    deadline = time.monotonic() + (wait or 240)
    while driver.poll() is None and time.monotonic() < deadline:
        if not wait and any(path.suffix == ".part" for path in out.iterdir()):
            break
        time.sleep(0.0005)
    time.sleep(chance.random() * 0.001)
    driver.kill()
    return driver.wait() == -9


def check(folder, kills):
    """Kill fits over an old model; count those that died."""
    out = folder / "out"
    out.mkdir()
    onega.write(Lublin().sample(500, rng=1, cluster=64), folder / "log.swf")
    assert fit(folder, 1).wait() == 0
    path = out / "model.json"
    whole, chance, killed = path.read_text(), random.Random(kills), 0
    for number in range(kills):
        path.write_text('"old"')
        killed += kill_at_random(fit(folder, 1), out, chance)
        assert path.read_text() in (whole, '"old"'), number
    assert fit(folder, 1).wait() == 0
    assert path.read_text() == whole
    assert json.loads(whole)["onega_model"] == "markov"
    return killed


def test_a_fit_killed_three_times(tmp_path):
    check(tmp_path, 3)


@pytest.mark.verification
def test_a_fit_killed_fifty_times(tmp_path):
    assert check(tmp_path, 50) >= 40
