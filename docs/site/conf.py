"""How Sphinx builds the documentation: `scripts/docs`. Nothing is loaded from a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

project = "kernelcast"
author = copyright = "the authors of kernelcast"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "code"
source_suffix = {".md": "markdown"}
exclude_patterns = ["site"]
root_doc = "index"

myst_enable_extensions = ["attrs_block"]
myst_heading_anchors = 3
# Files of the repository that are no pages, such as ../CHANGELOG.md, stay links to files.
# A page that no list of the index names yet is found by the search.
suppress_warnings = ["myst.xref_missing", "myst.header", "toc.not_included"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
add_module_names = False

html_theme = "furo"
html_title = "kernelcast"
html_show_sphinx = False
html_copy_source = False
templates_path: list[str] = []


def _as_written(app, what, name, obj, options, lines):
    """Docstrings of modules are laid out by hand."""
    if what == "module":
        lines[:] = ["::", "", *(f"    {line}" for line in lines), ""]


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _as_written)
