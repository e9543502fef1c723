"""Pages to read: a document of facts, tables and figures as one HTML file, or as Markdown.

`onega.report` and `onega.reproduce` say what stands on a page, this package how it looks (layer:
app). A page asks the network for nothing: Plotly's JavaScript comes from its wheel and stands in
the file once.
"""

from onega.pages.document import (
    Block,
    Cell,
    Document,
    Fact,
    Facts,
    Notes,
    Paragraph,
    Picture,
    Section,
    Table,
)
from onega.pages.writing import FORMATS, to_html, to_markdown, write_document

__all__ = [
    "FORMATS",
    "Block",
    "Cell",
    "Document",
    "Fact",
    "Facts",
    "Notes",
    "Paragraph",
    "Picture",
    "Section",
    "Table",
    "to_html",
    "to_markdown",
    "write_document",
]
