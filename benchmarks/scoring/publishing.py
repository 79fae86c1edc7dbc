"""What a run leaves besides its output: a line of history, a page's tables, charts."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from typing import Any

from benchmarks.scoring.charts import draw, drawing_is_possible
from benchmarks.scoring.table import Table, put_between_markers
from reranker.errors import RerankError


def check_files(arguments: argparse.Namespace) -> None:
    """Raises RerankError now for what would only fail after all the measuring."""
    if arguments.charts and not drawing_is_possible():
        raise RerankError("--charts needs matplotlib: pip install '.[train]'")
    if arguments.markdown:
        page_with(arguments, "")


def keep(
    arguments: argparse.Namespace,
    record: dict[str, Any],
    head: Sequence[str],
    tables: Sequence[Table],
) -> None:
    """Write whatever files were asked for."""
    if arguments.history:
        with arguments.history.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    charts = draw(record, arguments.charts) if arguments.charts else []
    if arguments.markdown:
        folder = arguments.markdown.parent
        images = [f"![{title}]({os.path.relpath(path, folder)})" for title, path in charts]
        quoted = "\n".join(f"    {line}" for line in head)
        text = "\n\n".join([quoted, *(table.markdown() for table in tables), *images])
        arguments.markdown.write_text(page_with(arguments, text), encoding="utf-8")


def page_with(arguments: argparse.Namespace, tables: str) -> str:
    """The page with new tables; raises RerankError if there is no place for them."""
    name = "paper-size" if arguments.paper_size else "trained"
    try:
        page = arguments.markdown.read_text(encoding="utf-8")
        return put_between_markers(page, name, tables)
    except (OSError, ValueError) as error:
        raise RerankError(f"{arguments.markdown}: {error}") from error
