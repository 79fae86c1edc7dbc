"""Settings of the site that ``make docs`` builds (docs/dependencies.md says why Sphinx)."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from os.path import normpath
from pathlib import Path

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))  # reference.py

project = "parse-reranker"
version = release = version_of("parse-reranker")
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference"]
# Pages for developers and about experiments stay in the repository.
OFF_SITE = [
    "research",
    "developing",
    "analysis.md",
    "architecture.md",
    "dependencies.md",
    "other-formats.md",
    "tutorial/plugin.md",
]
exclude_patterns = ["*.json", *OFF_SITE]
html_theme = "furo"
html_title = "parse-reranker"
html_copy_source = False
html_static_path, html_css_files = ["static"], ["wrap.css"]
html_show_copyright = False
html_extra_path = ["ranked.schema.json", "sentence.schema.json"]
html_theme_options = {
    "source_repository": "https://github.com/parse-reranker/parse-reranker/",
    "source_branch": "main",
    "source_directory": "docs/",
}
pygments_style, pygments_dark_style = "default", "github-dark"

default_role = "code"  # single backticks in docstrings
myst_heading_anchors = 4  # the anchors that GitHub makes
myst_enable_extensions = ["colon_fence"]

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

_REPOSITORY = "https://github.com/parse-reranker/parse-reranker/blob/main/"
# Its own files are checked below; other sites make some anchors by scripts.
linkcheck_ignore = [
    r"http://(localhost|127\.0\.0\.1)",
    re.escape(_REPOSITORY.removesuffix("blob/main/")),
]
linkcheck_anchors = False
_LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def link_to_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Link files that are not pages of the site to the repository."""

    def link(found: re.Match[str]) -> str:
        target = Path(normpath((DOCS / page).parent / found[1]))
        if target.is_relative_to(DOCS) and not any(
            target.is_relative_to(DOCS / name) for name in OFF_SITE
        ):
            return found[0]  # whose existence Sphinx checks
        if not target.exists():
            raise ExtensionError(f"{page}: {found[1]} is not in the repository")
        return f"]({_REPOSITORY}{target.relative_to(DOCS.parent)}{found[2] or ''})"

    source[0] = _LINK.sub(link, source[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", link_to_repository)
    # A command follows ``$``. An output that begins with a bracket is a tree, not a name of a
    # virtual environment.
    BashSessionLexer._ps1rgx = re.compile(r"^(\$ )(.*\n?)")
    BashSessionLexer._venv = re.compile(r"(?!)")
