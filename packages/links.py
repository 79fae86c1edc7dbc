"""A build hook that refuses a checkout whose reranker/models and reranker/service are no folders.

They are links. Where git does not make links, as on Windows by default, they are files of one line,
and a wheel would lack both packages without a word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Links(BuildHookInterface[Any]):
    """The build hook named in pyproject.toml."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raise ValueError for a missing link, which ends the build with its message."""
        for name in ("models", "service"):
            if not (Path(self.root) / "reranker" / name / "__init__.py").is_file():
                raise ValueError(
                    f"reranker/{name} is not a link to the folder {name}/: let git make links "
                    "(git config core.symlinks true) and check out again"
                )
