"""Tests stand where their source does: a module's tests are found from its path."""

from __future__ import annotations

from places import ROOT

TESTS, SOURCE = ROOT / "tests", ROOT / "src" / "onega"
OTHERS = {"data", "reference"}
"""Made logs and the naive twins: folders of no package."""


def test_every_folder_of_tests_is_a_package():
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")}
    stray = [
        str(folder)
        for folder in folders
        if folder.parts and folder.parts[0] not in OTHERS
        if not (SOURCE / folder / "__init__.py").is_file()
    ]
    assert not stray
