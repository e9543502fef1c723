"""TOML and JSON that are wrong in any way: one error of ours, in one line."""

from __future__ import annotations

import pytest

from onega.core.documents import DEEPEST, parse_json, parse_toml, read_json, read_toml
from onega.core.errors import ExperimentError, ModelError

BROKEN_TOML = [
    "x = ",
    "x = " + "9" * 5000,
    "x = " + "9" * 60,
    "x = " + "[" * 5000 + "]" * 5000,
    "x = " + "[" * 200 + "]" * 200,
    "x = " + "{a=" * 5000 + "1" + "}" * 5000,
    "x = ١٢",
    "x = ²",
    "x = 2024-02-30",
    "a." * 900 + "a = 1",
    'x = "\x00"',
]
BROKEN_JSON = [
    "",
    "{",
    "[" * 100_000,
    "[" * 200 + "]" * 200,
    '{"a":' * 5000 + "1" + "}" * 5000,
    "9" * 5000,
    "9" * 60,
    "NaN",
    '{"x": Infinity}',
    "١٢",
    "²",
]


@pytest.mark.parametrize("text", BROKEN_TOML, ids=lambda text: text[:12])
def test_toml(text, tmp_path):
    with pytest.raises(ExperimentError) as raised:
        parse_toml(text, ExperimentError)
    assert len(str(raised.value).splitlines()) == 1
    path = tmp_path / "a.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ExperimentError, match=r"a\.toml: "):
        read_toml(path, ExperimentError)


@pytest.mark.parametrize("text", BROKEN_JSON, ids=lambda text: text[:12])
def test_json(text, tmp_path):
    with pytest.raises(ModelError) as raised:
        parse_json(text, ModelError)
    assert len(str(raised.value).splitlines()) == 1
    path = tmp_path / "a.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"a\.json: "):
        read_json(path, ModelError)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\xff\xfe\x00")
    for read in (read_json, read_toml):
        with pytest.raises(ModelError, match=r"not a (JSON|TOML) file"):
            read(path, ModelError)


def test_what_is_right_is_read():
    assert parse_toml("a.b = 1\nc = [1, 2.5, inf]", ModelError) == {
        "a": {"b": 1},
        "c": [1, 2.5, float("inf")],
    }
    deep = "[" * (DEEPEST - 2) + "1" + "]" * (DEEPEST - 2)
    assert parse_json(deep, ModelError)
    seed = 144931138022309675112471771860494018578
    assert parse_json(f'{{"seed": {seed}}}', ModelError) == {"seed": seed}
