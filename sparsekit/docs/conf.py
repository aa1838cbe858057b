"""Configuration of the documentation: ``python -m sphinx sparsekit/docs site``."""

from __future__ import annotations

from typing import Any

from sparsekit.base.version import __version__

project = "sparsekit"
author = "The sparsekit authors"
project_copyright = "the sparsekit authors"
release = version = __version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "sparsekit.docs.registry_pages"]
exclude_patterns = ["**/__pycache__"]

myst_heading_anchors = 3
# Links to files of the repository are not part of the documentation.
suppress_warnings = ["myst.xref_missing"]

autodoc_typehints = "none"           # the Parameters sections of numpydoc have the types
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True, "show-inheritance": True}
numpydoc_show_class_members = False  # autodoc lists them in full
numpydoc_xref_param_type = False
# Single backticks, as in `csr`, are code, not references.
default_role = "code"
add_module_names = False
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"sparsekit {release}"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None


def _link_within(app: object, page: str, source: list[str]) -> None:
    """Redirect links to the file DIFFERENCES.md to the page that includes it."""
    source[0] = source[0].replace("](../DIFFERENCES.md)", "](differences.md)")


def setup(app: Any) -> None:
    """Register the processing of page sources with Sphinx."""
    app.connect("source-read", _link_within)
