"""The suspicious places of a treebank as HTML, with both trees of each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import NamedTuple

from reranker.plugins.checking.suspicion import Place
from reranker.trees.constituents import brackets
from reranker.trees.marks import Mark, MarkedTree
from reranker.trees.svg import svg
from reranker.trees.tree import Tree

DRAWN = 100
"""The number of sentences that are drawn."""
_LIKELY = 0.5  # brackets of the treebank that are as probable are not suspicious by themselves
_START = f"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>rerank check</title>
<style>
body {{ font-family: sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em }}
h2 {{ border-top: 1px solid #ccc; font-size: 1em; margin-top: 2em; padding-top: 1em }}
figure {{ margin: 0; overflow-x: auto }}
</style>
<h1>Suspicious places</h1>
<p>The most suspicious sentences first, {DRAWN} at most.</p>
"""


class Row(NamedTuple):
    """A place, and its sentence's trees."""

    file: str
    line: int
    place: Place
    gold: str
    expected: str


def page(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a page with the sentences of the rows, which come with the most suspicious first."""
    yield _START
    sentences: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if is_doubtful(row.place):
            sentences.setdefault((row.file, row.line), []).append(row)
    if not sentences:
        yield "<p>None.</p>\n"
    for (file, line), some in list(sentences.items())[:DRAWN]:
        yield f"<section><h2>{escape(f'{file}:{line}')}</h2>\n<ul>\n"
        yield from (f"<li>{in_words(row.place)}</li>\n" for row in some)
        yield f"</ul>\n<figure>{_drawing(some[0].gold, some[0].expected)}</figure></section>\n"


def is_doubtful(place: Place) -> bool:
    """Tell whether anything speaks against the brackets of a place."""
    is_improbable = place.probability is not None and place.probability < _LIKELY
    return bool(is_improbable or place.likely or place.others or place.is_alone)


def in_words(place: Place) -> str:
    """Return HTML that explains why a place is suspicious."""
    labels = f"<b>{escape(place.gold)}</b>" if place.gold else "no bracket"
    parts = [f"{labels} around “{escape(place.words)}”"]
    if place.probability is not None:
        parts.append(f"probability {_rounded(place.probability)}")
    if place.likely and place.likely_probability is not None:
        likely = f"<b>{escape(place.likely)}</b> ({_rounded(place.likely_probability)})"
        parts.append(f"the parser expects {likely}")
    if place.others:
        parts.append(f"of {place.occurrences} places with these words, {place.others} differ")
    if place.is_alone:
        parts.append("no other place has these labels")
    return f"{parts[0]}: {'; '.join(parts[1:])}"


def _rounded(value: float) -> str:
    if not 0.01 <= value <= 0.99:
        return "below 0.01" if value < 0.5 else "above 0.99"
    return f"{value:.2f}"


def _drawing(gold: str, expected: str) -> str:
    trees = Tree.from_string(gold), Tree.from_string(expected)
    keys = [{(node.label, start, end) for node, start, end in brackets(tree)} for tree in trees]
    marked = [
        MarkedTree(
            tree,
            {
                id(node): Mark((node.label, start, end) not in others, None)
                for node, start, end in brackets(tree)
            },
        )
        for tree, others in zip(trees, reversed(keys), strict=True)
    ]
    return svg(list(zip(("treebank", "parser"), marked, strict=True)), "* in this tree alone")
