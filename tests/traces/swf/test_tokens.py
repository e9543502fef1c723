"""The compiled tokeniser, the plain one and float() agree."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onega.traces.swf.tokens import Scratch, judge, tokenize_compiled, tokenize_python

numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.integers(-(10**25), 10**25).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-(10**9), 10**9, places=3, allow_nan=False).map(str),
    st.from_regex(r"[+-]?[0-9]{1,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["-1", "0", "-0", "+5", "1.", ".5", "00012", "0.1", "123456789012345"]),
)
junk = st.text(st.sampled_from("0123456789+-.eE_xn;,|\x00é"), min_size=1, max_size=8)
spaces = st.sampled_from([" ", "  ", "\t", " \t ", "          "])
endings = st.sampled_from(["\n", "\r\n", " \n", "\n\n", " ; remark\n", "\n; note\n"])


@st.composite
def texts(draw, token=numbers):
    parts = []
    for _ in range(draw(st.integers(0, 6))):
        parts.append(draw(st.sampled_from(["", " ", "    "])))
        for _ in range(draw(st.integers(0, 21))):
            parts += [draw(token), draw(spaces)]
        parts.append(draw(endings))
    text = "".join(parts).encode()
    return text.rstrip(b"\n") if draw(st.booleans()) else text


def resolved(tokens):
    """Values with the odd tokens judged; a refusal is NaN."""
    values = tokens.values.copy()
    refused = {}
    for row, field, text in tokens.odd:
        try:
            values[field, row] = judge(text)
        except ValueError as error:
            values[field, row] = np.nan
            refused[row, field] = str(error)
    return values, refused


def assert_same(text):
    plain, compiled = tokenize_python(text), tokenize_compiled(text)
    (a, refused_a), (b, refused_b) = resolved(plain), resolved(compiled)
    assert a.shape == b.shape
    assert np.array_equal(a.view(np.int64), b.view(np.int64))
    assert refused_a == refused_b
    assert plain.fields.tolist() == compiled.fields.tolist()
    assert plain.comments == compiled.comments
    assert plain.lines == compiled.lines == text.count(b"\n")
    lines = [[text.count(b"\n", 0, start) for start in t.starts] for t in (plain, compiled)]
    assert lines[0] == lines[1]


@given(texts())
@example(b"")
@example(b"1 2 3")
@example(b"\n\n ; only\n;comments")
@example(b"-")
@example(b"1;2\n")
def test_numbers(text):
    assert_same(text)


@given(texts(st.one_of(numbers, junk)))
@example(b"0 1E310 0\n")
def test_rubbish(text):
    assert_same(text)


@given(st.binary(max_size=300))
def test_any_bytes(text):
    assert_same(text)


@given(st.lists(numbers, min_size=1, max_size=18))
def test_values_are_floats_of_the_words(words):
    values, refused = resolved(tokenize_compiled(" ".join(words).encode()))
    assert not refused
    expected = [judge(word.encode()) for word in words]
    assert [float(v) for v in expected] == [float(word) for word in words]
    assert values[: len(words), 0].tolist() == [float(word) for word in words]


@settings(max_examples=30)
@given(st.lists(texts(), min_size=2, max_size=4))
def test_scratch_can_be_used_again(several):
    scratch = Scratch()
    for text in several:
        once, again = tokenize_compiled(text), tokenize_compiled(text, scratch)
        assert np.array_equal(once.values, again.values)
        assert once.fields.tolist() == again.fields.tolist()


def test_many_rows_odd_tokens_and_comments():
    text = b"; c\n" * 1000 + b"1e3 x\n" * 3000 + b"1\n" * 5000
    assert_same(text)


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-Infinity", "1_000", "0x10", "१", "1e999"])
def test_judge_refuses(word):
    with pytest.raises(ValueError, match="number"):
        judge(word.encode())


@given(st.integers(-(10**18), 10**18))
def test_judge_keeps_whole_numbers_exact(number):
    assert judge(str(number).encode()) == number
