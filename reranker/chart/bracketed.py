"""A bracketed tree and its tokens, from constituents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reranker.chart.best import Span


def bracketed(
    spans: Iterable[Span],
    labels: Sequence[str],
    words: Sequence[str],
    tags: Sequence[str],
    root: str,
) -> tuple[str, tuple[str, ...]]:
    """Return the tree under ``root``, and its tokens as ``trees.linearize`` makes them. ``spans``
    are in preorder; ``labels[number]`` may be several brackets around the same words, the outermost
    first, with spaces between them.

    >>> spans = Span(0, 2, 0), Span(1, 2, 1)
    >>> bracketed(spans, ["S VP", "NP"], ["See", "it"], ["VB", "PRP"], "TOP")[0]
    '(TOP (S (VP (VB See) (NP (PRP it)))))'
    """
    opened: list[list[str]] = [[] for _ in words]
    closed: list[list[str]] = [[] for _ in words]
    for start, end, label in spans:
        names = labels[label].split(" ")
        opened[start] += names
        closed[end - 1] = [*reversed(names), *closed[end - 1]]
    text, tokens = [f"({root}"], list[str]()
    for word, tag, before, behind in zip(words, tags, opened, closed, strict=True):
        text += [f" ({name}" for name in before]
        text += [f" ({tag} {word})", ")" * len(behind)]
        tokens += [f"({name}" for name in before]
        tokens += [word, *(f"){name}" for name in behind)]
    return "".join(text) + ")", tuple(tokens)
