"""Sphinx: the pages of this folder, the references made from the code, notebooks that are run.

`make docs` builds into site/. Nothing is fetched, neither here nor by the pages, and a warning (a
link that leads nowhere, a docstring that can't be read) stops the build.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS)]

import command_reference  # noqa: E402  (a neighbour, found by the line above)
import library_reference  # noqa: E402

import onega  # noqa: E402

project = "Onega"
author = "The Onega authors"
release = version = onega.__version__
copyright = author

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["golden"]
# A docstring's `jobs` may be the attribute of several classes; then it is no link.
suppress_warnings = ["config.cache", "ref.python"]

html_theme = "furo"
html_title = "Onega"
html_copy_source = False
copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .go"

myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

# Notebooks are run at every build, in an empty kernel; an error in one is an error of the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
os.environ["PLOTLY_RENDERER"] = "notebook"  # of the kernels: plotly.js goes into the page

# A docstring's `name` points to what it names if that is public.
default_role = "py:obj"
autodoc_default_options = {"members": True, "show-inheritance": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike", "ArrayLike": "ArrayLike"}
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

OUTSIDE = re.compile(r'<(?:script|link|img|iframe)[^>]+\b(?:src|href)="(?:https?:)?//[^"]*"')

MATHJAX = re.compile(r'<script src="https://[^"]*mathjax[^"]*"></script>')


def write_references(app: Sphinx) -> None:
    """Write the pages that are made from the code, where they have changed."""
    texts = {f"library/{name}": text for name, text in library_reference.pages().items()}
    texts["command"] = command_reference.cli_markdown()
    for name, text in texts.items():
        path = DOCS / "reference" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def drop_mathjax(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Plotly puts MathJax' address beside every figure, whether it has formulas or not."""
    for node in doctree.findall(nodes.raw):
        if "mathjax" in (text := node.astext()):
            node.children = [nodes.Text(MATHJAX.sub("", text))]


def refuse_outside(app: Sphinx, exception: Exception | None) -> None:
    """Stop if a page would load anything from another host."""
    if exception is not None or app.builder.format != "html":
        return
    pages = sorted(Path(app.outdir).rglob("*.html"))
    texts = {page.name: page.read_text("utf-8") for page in pages}
    found = [f"{name}: {one}" for name, text in texts.items() for one in OUTSIDE.findall(text)]
    if found:
        raise ExtensionError("pages load from outside:\n  " + "\n  ".join(found))


def setup(app: Sphinx) -> None:
    """Register all three."""
    app.connect("doctree-resolved", drop_mathjax)
    app.connect("builder-inited", write_references)
    app.connect("build-finished", refuse_outside)
