"""The pieces that all readers of this folder yield: a sentence's tree in brackets, or its fault."""

from __future__ import annotations

from reranker.errors import TreeError
from reranker.trees.tree import Tree
from reranker.trees.treebank import TreePiece


def piece(line: int, end: int, text: str) -> TreePiece:
    """Return the tree in ``text``, on these lines of the file, as a piece."""
    try:
        text.encode("utf-8", "surrogateescape")
        return TreePiece(line, end, Tree.from_string(text).to_string())
    except UnicodeEncodeError:  # JSON can escape any half
        return broken(line, end, "encoding", "half a surrogate pair")
    except TreeError as error:
        return broken(line, end, error.code, str(error))


def broken(line: int, end: int, code: str, message: str) -> TreePiece:
    """Return a piece for a sentence whose tree cannot be read."""
    return TreePiece(line, end, "(TOP )", (code, message))
