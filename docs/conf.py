"""Settings of the site that ``make docs`` builds (docs/dependencies.md says why Sphinx)."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))  # reference.py

project = "parse-reranker"
version = release = version_of("parse-reranker")
extensions = ["myst_parser", "sphinx.ext.autodoc", "reference"]
exclude_patterns = ["*.json"]
html_theme = "furo"
html_title = "parse-reranker"
html_copy_source = False
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
_OUTWARD = re.compile(r"\]\((?:\.\./)+([^)#\s]+)")


def link_to_repository(app: Sphinx, page: str, source: list[str]) -> None:
    """Link files outside docs/, which are not pages of the site, to the repository."""

    def link(target: re.Match[str]) -> str:
        depth = page.count("/") + 1  # how often ../ leads out of docs/
        written = target[0][2:]
        inside = DOCS / page / ".." / written
        if written.count("../") < depth:
            return target[0]
        if not inside.resolve().exists():
            raise ExtensionError(f"{page}: there is no file {written}")
        return f"]({_REPOSITORY}{target[1]}"

    source[0] = _OUTWARD.sub(link, source[0])


def setup(app: Sphinx) -> None:
    app.connect("source-read", link_to_repository)
