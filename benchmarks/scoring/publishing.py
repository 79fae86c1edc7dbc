"""What a run leaves: tables as text, a line of history, a page's tables, charts."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reranker.files.figure import new_figure, save_figure
from reranker.files.markdown import grid, page_with
from reranker.files.table import aligned


class Table(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        return "\n".join([self.title, aligned([self.header, *self.rows]), *self.notes])

    def markdown(self) -> str:
        ruler = ["---", *["---:"] * (len(self.header) - 1)]
        notes = [f"\n{note}" for note in self.notes]
        return "\n".join([f"**{self.title}**\n", grid(self.header, self.rows, ruler), *notes])


def check_files(arguments: argparse.Namespace) -> None:
    """Raises RerankError now for what would only fail after all the measuring."""
    if arguments.charts:
        new_figure(_chart(arguments.charts))
    if arguments.markdown:
        _page(arguments, "")


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
        arguments.markdown.write_text(_page(arguments, text + "\n"), encoding="utf-8")


def draw(record: dict[str, Any], prefix: Path) -> list[tuple[str, Path]]:
    """Titles and files of what was drawn: ``prefix.svg``, how fast all are, and, where list sizes
    were measured, ``prefix-scaling.svg``, time against trie nodes."""
    rows, path = record["rows"], _chart(prefix)
    figure = new_figure(path)
    axes = figure.subplots()
    bars = axes.barh([row["name"] for row in rows], [row["times_as_fast"] for row in rows])
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set(title="Speed of scoring", xlabel=f"times as fast as {rows[0]['name']}")
    axes.set_title(record["title"], loc="right", fontsize="small")
    save_figure(figure, path)
    drawn = [("How fast everybody is", path)]
    for sizes in record["scaling"]:
        if sizes["title"] == "candidates":
            path = _chart(prefix, "-scaling")
            _draw_growth(sizes, path)
            drawn.append(("Time against trie nodes", path))
    return drawn


def _draw_growth(sizes: dict[str, Any], path: Path) -> None:
    figure = new_figure(path)
    axes = figure.subplots()
    rows = sizes["rows"]
    nodes = [row["nodes"] for row in rows]
    for name in sizes["contestants"]:
        axes.loglog(nodes, [row["seconds"][name] for row in rows], "o-", label=name)
    slowest = [max(row["seconds"].values()) for row in rows]
    proportional = [slowest[-1] * count / nodes[-1] for count in nodes]
    axes.loglog(nodes, proportional, ":", color="gray", label="proportional to the nodes")
    for row, point in zip(rows, zip(nodes, slowest, strict=True), strict=True):
        axes.annotate(
            f"{row['label']}-best", point, (-6, 6), textcoords="offset points", ha="right"
        )
    axes.set(title="Time by size of the lists", xlabel="trie nodes", ylabel="seconds")
    axes.margins(x=0.15, y=0.12)
    axes.legend(loc="lower right")
    save_figure(figure, path)


def _chart(prefix: Path, ending: str = "") -> Path:
    return prefix.with_name(f"{prefix.name}{ending}.svg")


def _page(arguments: argparse.Namespace, tables: str) -> str:
    """The page with new tables; raises InputError if there is no place for them."""
    name = "paper-size" if arguments.paper_size else "trained"
    return page_with(arguments.markdown, name, tables)
