"""Figures of a run as SVG."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any


def drawing_is_possible() -> bool:
    """Whether matplotlib, of the ``train`` extra, is installed."""
    return find_spec("matplotlib") is not None


def draw(record: dict[str, Any], prefix: Path) -> list[tuple[str, Path]]:
    """Titles and files of what was drawn: ``prefix.svg``, how fast everybody is, and, where list
    sizes were measured, ``prefix-scaling.svg``, time against trie nodes."""
    speeds = prefix.with_name(prefix.name + ".svg")
    _save(_speeds(record), speeds)
    drawn = [("How fast everybody is", speeds)]
    for sizes in record["scaling"]:
        if sizes["title"] == "candidates":
            growth = prefix.with_name(prefix.name + "-scaling.svg")
            _save(_growth(sizes), growth)
            drawn.append(("Time against trie nodes", growth))
    return drawn


def _speeds(record: dict[str, Any]) -> Any:
    rows = record["rows"]
    figure, axes = _empty(0.6 + 0.45 * len(rows))
    bars = axes.barh([row["name"] for row in rows], [row["times_as_fast"] for row in rows])
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_xlabel(f"times as fast as {rows[0]['name']} ({record['title']})")
    return figure


def _growth(sizes: dict[str, Any]) -> Any:
    figure, axes = _empty(4.5)
    rows = sizes["rows"]
    nodes = [row["nodes"] for row in rows]
    for name in sizes["contestants"]:
        axes.loglog(nodes, [row["seconds"][name] for row in rows], "o-", label=name)
    slowest = [max(row["seconds"].values()) for row in rows]
    in_step = [slowest[-1] * count / nodes[-1] for count in nodes]
    axes.loglog(nodes, in_step, ":", color="gray", label="in step with the nodes")
    for row, *point in zip(rows, nodes, slowest, strict=True):
        place = {"xytext": (-6, 6), "textcoords": "offset points", "ha": "right"}
        axes.annotate(f"{row['label']}-best", point, **place)
    axes.set(xlabel="trie nodes", ylabel="seconds")
    axes.margins(x=0.15, y=0.12)
    axes.legend(loc="lower right")
    return figure


def _empty(height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    import matplotlib

    # The same figures give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path, format="svg", metadata={"Date": None})
