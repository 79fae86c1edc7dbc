"""CoreNLP's ``-outputFormat xml``: the trees in ``<parse>``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reranker.plugins.treebanks.pieces import broken, piece
from reranker.plugins.treebanks.xml_events import Fault, events
from reranker.trees.treebank import TreePiece


def read(file: str, lines: Iterable[str], say: Callable[[str], None]) -> Iterator[TreePiece]:
    """Yield the trees of a file."""
    start, texts = 0, list[str]()
    for event in events(lines, "sentence"):
        if isinstance(event, Fault):
            if start or event.is_of_sentence:
                line, _, error = event
                yield broken(start or line, line, error.code, str(error))
            else:
                say(f"{file}:{event.line}: {event.error}")
            start = 0
        elif event.name == "sentence" and event.attributes is not None:
            start, texts = event.line, []
        elif event.name == "parse" and event.attributes is None:
            texts.append(event.text)
        elif event.name == "sentence" and start:
            if len(texts) > 1:
                reason = f"a sentence with {len(texts)} trees (<parse>)"
                yield broken(start, event.line, "not-a-tree", reason)
            elif texts and texts[0]:
                yield piece(start, event.line, texts[0])
            else:
                yield broken(start, event.line, "empty", "a sentence without a tree (<parse>)")
            start = 0
