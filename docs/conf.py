"""Sphinx configuration of the site (`make docs`): Markdown pages, and a reference generated from docstrings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import athenan_spiel

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parent

project = "athenan_spiel"
author = "the authors of athenan_spiel"
version = release = athenan_spiel.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

# Markdown as on GitHub: headings have anchors, and links to files work.
myst_heading_anchors = 4

# A name in single backticks in a docstring links to the reference, if it is there.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {
    name: name for name in ("Callback", "Decision", "Event", "Given", "Key", "Kind", "Known", "Requests")
}
python_maximum_signature_line_length = 88
# Several names before one colon ("value, completion: ...") are kept unchanged.
napoleon_numpy_docstring = napoleon_use_param = napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

pygments_dark_style = "monokai"
html_theme = "furo"
html_title = f"athenan_spiel {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = html_show_sphinx = False


def without_links_to_folders(text: str, folder: Path) -> str:
    """Replaces links to folders and to pages outside the site by their text, in a page in `folder`."""

    def shown(link: re.Match[str]) -> str:
        target = (folder / link["target"]).resolve()
        outside = target.suffix == ".md" and not target.is_relative_to(DOCS)
        return link["words"] if target.is_dir() or outside else link[0]

    return re.sub(r"(?<!!)\[(?P<words>[^\]\n]+)\]\((?P<target>(?!https?:|#)[^)#\s]+)\)", shown, text)


def other_pages(index: str, found: Iterable[str]) -> list[str]:
    """Returns the top-level pages missing from the index's lists, so that a new page joins the site automatically."""
    named = set(re.findall(r"^(?:.*<)?([\w/]+)>?$", index, re.MULTILINE))
    return sorted(name for name in found if "/" not in name and name not in named | {"index"})


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = without_links_to_folders(source[0], (DOCS / page).parent)
    if page == app.config.root_doc and (rest := other_pages(source[0], app.env.found_docs)):
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", ":caption: More", "", *rest, "```", ""])


def _whole_sentence(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Prefixes a colon, because Napoleon takes text before the first colon of an attribute's docstring as its type."""
    if what in ("attribute", "data", "property") and lines:
        lines[0] = f": {lines[0]}"


def setup(app: Sphinx) -> None:
    """Connects the handlers; called by Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _whole_sentence, priority=400)  # Napoleon's is 500
