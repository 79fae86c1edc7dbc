"""CoreNLP's ``-outputFormat xml``: the trees in ``<parse>``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reranker.plugins.treebanks.pieces import broken, piece
from reranker.plugins.treebanks.xml_events import Event, events
from reranker.trees.treebank import TreePiece


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file."""
    start, text = 0, ""
    for event in events(lines, "sentence"):
        if not isinstance(event, Event):
            line, error = event
            yield broken(start or line, line, error.code, str(error))
            start = 0
        elif event.name == "sentence" and event.attributes is not None:
            start, text = event.line, ""
        elif event.name == "parse" and event.attributes is None:
            text = event.text
        elif event.name == "sentence" and start:
            if text:
                yield piece(start, event.line, text)
            else:
                yield broken(start, event.line, "empty", "a sentence without a tree (<parse>)")
            start = 0
