"""Tables of text: split at once and split by the csv module agree."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onega import TraceError
from onega.traces import files
from onega.traces.notes import LINE
from onega.traces.tables import delimited
from onega.traces.tables.delimited import header_of, read_delimited

cells = st.text(st.sampled_from("ab1 .\u00e9\t"), max_size=4)


def outcome(path, separator, *, by_row):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", 64)
        if by_row:
            patch.setattr(
                delimited._Reading,
                "at_once",
                lambda self, block: pytest.fail("not by row"),
            )
            original = delimited.line_blocks
            # A quote in a comment-like first line would change the table; so ask for rows at once.
            patch.setattr(delimited, "line_blocks", lambda *a: _Rows(original(*a)))
        try:
            table = read_delimited(path, separator)
        except TraceError as error:
            return error.message, error.line, error.field
        return table.frame.select(sorted(table.frame.columns)).to_dicts(), table.names


class _Rows:
    """Blocks that claim to hold a quote."""

    def __init__(self, blocks):
        self._blocks = blocks

    def __iter__(self):
        return self

    def __next__(self):
        return _Quoted(next(self._blocks))


class _Quoted(bytes):
    def __contains__(self, item):
        return True


@given(
    st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=8),
    st.sampled_from([",", ";"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@example([["a", "b", ""], ["1", "2", ""], ["3", "4"]], ",", "\n", True)
@example([["a", "b"], [" ", "2"], ["3", "4", "5"]], ",", "\n", True)
def test_both_ways_agree(tmp_path_factory, rows, separator, newline, last):
    path = tmp_path_factory.mktemp("d") / "a"
    text = newline.join(separator.join(row) for row in rows) + (newline if last else "")
    path.write_bytes(text.encode())
    assert outcome(path, separator, by_row=False) == outcome(path, separator, by_row=True)


def test_lines_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 30)
    path = tmp_path / "a"
    path.write_text("a,b\n\n" + "1,2\n" * 50 + "\n\n" + '"3\n3",4\n' * 50 + "5,6\n")
    frame = read_delimited(path, ",").frame
    assert frame.height == 101
    assert frame[LINE][0] == 3
    assert frame[LINE][49] == 52
    assert frame[LINE][50] == 56  # the row ends on its second line
    assert frame[LINE][100] == 155
    assert frame["a"][50] == "3\n3"


@pytest.mark.parametrize(
    ("text", "names", "separator"),
    [
        (b"a,b;c,d\n1", ["a", "b;c", "d"], ","),
        (b"a|b\n", ["a", "b"], "|"),
        (b"\n\n a\tb \n", ["a", "b"], "\t"),
        (b"alone\n", ["alone"], ","),
        (b'"x, y",z\n', ["x, y", "z"], ","),
    ],
)
def test_header(text, names, separator):
    assert header_of(text) == (names, separator)


def test_a_carriage_return_inside_a_name(tmp_path):
    (tmp_path / "a").write_bytes(b"a\rb,c\n1,2\n")
    assert read_delimited(tmp_path / "a", ",").names == ["a\rb", "c"]
