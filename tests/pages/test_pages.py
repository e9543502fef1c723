"""Pages: what stands in a document stands on its page, escaped, offline, and in Markdown."""

from __future__ import annotations

import html
import json
import re

import plotly.graph_objects as go
import pytest

from onega.core.errors import OnegaError
from onega.figures.theme import axis, styled
from onega.pages import (
    Cell,
    Document,
    Fact,
    Facts,
    Notes,
    Paragraph,
    Picture,
    Section,
    Table,
    to_html,
    to_markdown,
    write_document,
)
from onega.pages.document import anchor


def figure(title="Waits <b>now</b>", note="mean 3 s."):
    drawn = go.Figure(go.Scatter(x=[1, 2, 3], y=[2, 1, 3], name="</script>a", showlegend=True))
    drawn.update_xaxes(axis("time", "s"))
    return styled(drawn, title, note)


@pytest.fixture
def document():
    return Document(
        "A log & its <machine>",
        "All of `x` and **y**",
        (
            Section(
                "first",
                "First",
                (
                    Facts((Fact("mean wait", "3 h", "Half of the jobs <wait> less."),)),
                    Paragraph("Use `onega <x>`, it is **good**."),
                    Notes(("one", "two & three")),
                ),
            ),
            Section(
                "second",
                "Second",
                (
                    Table(
                        "sizes",
                        ("log", "jobs", "users"),
                        (("KTH|x", Cell("10", "11", agrees=False), Cell("3", "3", agrees=True)),),
                        note="from a table",
                        label="Table 1",
                    ),
                    Picture("waits", figure(), meaning="Short waits."),
                ),
            ),
            Section("third", "Third", (Paragraph("end"),)),
        ),
        ("made by hand",),
    )


def test_html_has_everything_escaped(document):
    page = to_html(document)
    assert "<title>A log &amp; its &lt;machine&gt;</title>" in page
    assert "All of <code>x</code> and <strong>y</strong>" in page
    assert "Half of the jobs &lt;wait&gt; less." in page
    assert "<code>onega &lt;x&gt;</code>" in page
    assert 'class="differs"' in page
    assert 'class="agrees"' in page
    assert re.search(r'<a href="#second">Second</a>', page)
    assert "made by hand" in page


def test_html_asks_the_network_for_nothing(document):
    page = to_html(document)
    body = page.replace(script_of(page), "")
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", body)
    assert "@import" not in body
    assert page.count("Plotly.newPlot(place") == 1


def script_of(page):
    """Plotly's own text: the longest script."""
    return max(re.findall(r"<script>(.*?)</script>", page, re.DOTALL), key=len)


def test_a_figure_is_json_without_its_title(document):
    page = to_html(document)
    data = re.search(
        r'<script type="application/json" id="waits-data">(.*?)</script>', page, re.DOTALL
    )
    found = json.loads(data[1])
    assert found["data"][0]["name"] == "</script>a"  # escaped inside, itself outside
    assert found["layout"].get("title", {}).get("text") is None
    assert found["layout"]["xaxis"]["title"]["text"] == "time (s)"
    assert "<h3>Waits  now" in html.unescape(page)
    assert "mean 3 s. Short waits." in page


def test_the_given_figure_is_left_alone(document):
    picture = next(document.pictures())
    to_html(document)
    assert picture.figure.layout.title.text == "Waits <b>now</b>"


def test_markdown(document):
    text = to_markdown(document)
    assert text.startswith("# A log & its <machine>\n")
    assert "- mean wait: **3 h** – Half of the jobs <wait> less." in text
    assert "### Table 1: sizes" in text
    assert "| log | jobs | users |\n|---|---:|---:|\n| KTH\\|x | **10** / 11 | **3** / 3 |" in text
    assert "*Waits  now* (figure in the HTML page). mean 3 s. Short waits." in text
    assert "\n\n\n" not in text


def test_tables_must_be_rectangular():
    with pytest.raises(ValueError, match="2 columns, a row has 1"):
        Table("t", ("a", "b"), (("x",),))


def test_write_document(document, tmp_path):
    path = write_document(document, tmp_path / "deep" / "page.md", "md")
    assert path.read_text(encoding="utf-8") == to_markdown(document)
    with pytest.raises(OnegaError, match="accepted: html, md"):
        write_document(document, tmp_path / "page.pdf", "pdf")
    assert not (tmp_path / "page.pdf").exists()


@pytest.mark.parametrize(
    ("text", "name"), [("Table 3.4, KTH", "table-3-4-kth"), ("ρ", "part"), ("a  b", "a-b")]
)
def test_anchor(text, name):
    assert anchor(text) == name
