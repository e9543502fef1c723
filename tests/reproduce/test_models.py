"""The table over all models, as tables, a page and files."""

from __future__ import annotations

import polars as pl
import pytest

from onega.core.errors import ModelError
from onega.reproduce.models import WEEKS, _digits, families_of, reproduce_models, write_models
from reproduce.logs import make_log


@pytest.fixture(scope="module")
def made():
    logs = [make_log(), make_log("other.csv", seed=4)]
    return reproduce_models(logs, models=["independent", "site"], replicates=2, halves=True)


def test_tables(made):
    reproduction, table = made
    tables = {one.label: one for one in reproduction.tables()}
    easy = tables["Table 1"]
    assert easy.columns == ("model", "mine", "other", "typical")
    assert [name for name, _ in easy.rows] == ["independent", "site", WEEKS]
    rows = table.to_polars().filter(
        (pl.col("model") == "site") & (pl.col("measure") == "wait_easy_ratio")
    )
    whole = rows.filter(pl.col("part") == "whole")
    cells = easy.rows[1][1]
    assert [one.ours for one in cells[:2]] == whole["mean"].to_list()
    assert cells[0].words().startswith(f"{whole['mean'][0]:.{cells[0].digits}f} (")
    assert [_digits(one) for one in (0.5, 9.9, 12.3, 1234.0)] == [2, 2, 1, 0]
    own = tables["Table 4"]
    assert own.rows[0][0] == "the log"
    names = own.columns[1:]
    day = own.rows[0][1][names.index("day")].ours
    assert day == table.whole["mine"].rows["dispersion_day_real"][0]
    halves = tables["Table 6"]
    assert halves.rows[-1][0] == "the half itself"
    assert halves.rows[-1][1][-1].ours == 1


def test_files(made, tmp_path):
    reproduction, table = made
    paths = write_models(reproduction, table, tmp_path / "new")
    assert [path.name for path in paths] == ["models.csv", "models.md", "models.html"]
    back = pl.read_csv(paths[0])
    assert back.height == table.to_polars().height
    text = paths[1].read_text(encoding="utf-8")
    assert "Table 3" in text
    assert "How much comes out" not in text
    assert "What a scheduler makes of samples" in paths[2].read_text(encoding="utf-8")


def test_what_is_missing_is_said():
    log = make_log(jobs=200).window(t1=9 * 86400)  # too short for weeks
    reproduction, _ = reproduce_models([log], models=["independent"], replicates=1)
    assert [one.label for one in reproduction.absent] == [f"{WEEKS} on mine"]


def test_names_and_traces_are_checked():
    assert list(families_of())[-1] == WEEKS
    with pytest.raises(ModelError, match="did you mean 'markov'"):
        families_of(["marcov"])
    log = make_log(jobs=200)
    with pytest.raises(ModelError, match="one log, got 2"):
        reproduce_models([log, make_log("other.swf")], traces={"x": [log]})
    with pytest.raises(ModelError, match="two logs have one name"):
        reproduce_models([log, log])
