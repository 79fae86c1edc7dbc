"""Tree <-> language model tokens (Choe & Charniak 2016, section 2).

A token is an opening bracket with its label ``(NP``, a closing one ``)NP`` or a word in its
original spelling; lower case, unknown-word classes and the final ``<eos>`` are the vocabulary's.
A word never starts with a bracket (trees write ``-LRB-`` or ``\\(``), so tokens cannot be confused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from reranker.errors import TreeError
from reranker.trees.tree import MAX_DEPTH, MAX_WORDS, ROOT_LABELS, TRACE, Tree

FUNCTION_TAG = re.compile(r"(?<!^)[-=].*", re.DOTALL)
# A preterminal, an opening bracket that does not close at once, a closing one, a stray word.
_PIECE = re.compile(r"\((?:[^()\s]++ [^()\s]++\)|\s*+[^()\s]*+(?!\s*\)))|\)|[^()\s]++", re.ASCII)
_MAX_CACHED = 100_000
_MAX_CACHED_LENGTH = 200  # characters


def linearize(tree: Tree) -> tuple[str, ...]:
    """Return the tokens of a tree without root wrapper, part-of-speech and function tags and
    traces.

    >>> linearize(Tree.from_string("(S1 (S (NP-SBJ (PRP It)) (VP (VBZ runs)) (. .)))"))
    ('(S', '(NP', 'It', ')NP', '(VP', 'runs', ')VP', '.', ')S')
    """
    tokens: list[str] = []
    has_root = tree.label in ROOT_LABELS
    stack: list[Tree | str] = list(reversed(tree.children)) if has_root else [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            # A constituent that held nothing but traces leaves an opening bracket to take back.
            if node[0] == ")" and tokens and tokens[-1] == "(" + node[1:]:
                tokens.pop()
            else:
                tokens.append(node)
        elif node.is_preterminal:
            if node.label != TRACE:
                tokens.append(str(node.children[0]))
        else:
            label = FUNCTION_TAG.sub("", node.label)
            tokens.append("(" + label)
            stack.append(")" + label)
            stack.extend(reversed(node.children))
    return tuple(tokens)


class TaggedTree(NamedTuple):
    """A linearised tree and the part-of-speech tag of each word; no tags if these are unknown."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(filter(is_word, self.tokens))


def linearize_tagged(tree: Tree) -> TaggedTree:
    """Return the tokens of a tree, and the tags of its words without traces."""
    return TaggedTree(linearize(tree), tuple(tree.word_tags()))


def linearize_text(text: str) -> tuple[str, ...]:
    """Return ``linearize(Tree.from_string(text))``, several times faster for the trees parsers
    print.

    Raises TreeError as ``Tree.from_string`` does.
    """
    tokens = None if "\\" in text else _plain_tokens(text)
    return linearize(Tree.from_string(text)) if tokens is None else tokens


def _plain_tokens(text: str) -> tuple[str, ...] | None:
    """Return the tokens of a tree in the form parsers print; None if only ``Tree.from_string`` can
    read the text."""
    pieces = _PIECE.findall(text)
    brackets = text.count("(")
    # With so few brackets, a tree is neither too deep nor too long.
    if len(pieces) < 3 or pieces[-1] != ")" or brackets >= min(MAX_DEPTH, MAX_WORDS):
        return None
    if brackets + pieces.count(")") != len(pieces):
        return None  # some bracket is not a piece: it belongs to a constituent without words
    cache = _cache
    if len(cache) > _MAX_CACHED:
        cache.clear()
    tokens: list[str] = []
    stack = [""]  # closes the root, so it must not come off before the end
    try:
        opening, root_closing = cache[pieces[0]]
        if root_closing is None:
            return None
        for piece in pieces[1:-1]:
            if piece == ")":
                tokens.append(stack.pop())
            else:
                token, closing = cache[piece]
                tokens.append(token)
                if closing is not None:
                    stack.append(closing)
    except (LookupError, ValueError):
        return None
    if len(stack) != 1 or "" in tokens:
        return None
    if pieces[0][1:].strip() not in ROOT_LABELS:
        tokens = [opening, *tokens, root_closing]
    return tuple(tokens)


class _PieceCache(dict[str, tuple[str, str | None]]):
    """A cache from pieces to their tokens and, for an opening bracket, the closing one.

    The candidates of a sentence share nearly all pieces.
    """

    def __missing__(self, piece: str) -> tuple[str, str | None]:
        entry: tuple[str, str | None]
        if piece[0] != "(":
            raise ValueError("a word outside a preterminal")
        if piece[-1] == ")":
            tag, word = piece[1:-1].split(" ")
            if tag == TRACE:
                raise ValueError("a trace")
            entry = word, None
        else:
            label = FUNCTION_TAG.sub("", piece[1:].strip(" \t\n\r\f\v"))
            entry = "(" + label, ")" + label
        if len(piece) <= _MAX_CACHED_LENGTH:
            self[piece] = entry
        return entry


_cache = _PieceCache()


def cleaned(tree: Tree, without: Collection[str] = ()) -> Tree:
    """Return the tree in the form that parsers learn from: without traces and function tags, with
    the root TOP, and without the constituents labelled ``without``, whose children stay.

    Raises TreeError: ``empty`` if only traces are there, ``not-a-tree`` for a word without a tag.

    >>> tree = Tree.from_string("( (S (NP-SBJ (PRP It)) (VP (VBZ runs) (NP (-NONE- *)))))")
    >>> cleaned(tree).to_string()
    '(TOP (S (NP (PRP It)) (VP (VBZ runs))))'
    >>> cleaned(tree, without={"VP"}).to_string()
    '(TOP (S (NP (PRP It)) (VBZ runs)))'
    """
    words, tags, tokens = tree.words(), tree.word_tags(), linearize(tree)
    if len(words) != len(tags):
        raise untagged(tree)
    kept = [token for token in tokens if is_word(token) or token[1:] not in without]
    return delinearize(kept, words, tags)


def untagged(tree: Tree) -> TreeError:
    """Return the error of a tree in which not every word has a tag, and nothing else."""
    stack = [tree]
    while stack:
        node = stack.pop()
        below = [child for child in node.children if isinstance(child, Tree)]
        if len(below) < len(node.children) and not node.is_preterminal:
            text = node.to_string()
            return TreeError("not-a-tree", f"a leaf that is not (TAG word): {text:.60}")
        stack += reversed(below)
    return TreeError("not-a-tree", "a word has no part-of-speech tag")


def is_word(token: str) -> bool:
    """Return True for a word, False for a bracket token."""
    return token[0] not in "()"


def delinearize(
    tokens: Sequence[str], words: Sequence[str], tags: Sequence[str], root: str = "TOP"
) -> Tree:
    """Return the tree that ``tokens`` spell, with the sentence's own words and tags by position.

    Raises TreeError: ``unbalanced``, ``empty`` if there is no word token, or ``wrong-length`` if
    there is not one word and one tag for every word token.
    """
    open_labels: list[str] = []
    children: list[list[Tree | str]] = [[]]
    position = 0
    for token in tokens:
        if token[0] == "(":
            open_labels.append(token[1:])
            children.append([])
        elif token[0] == ")":
            if not open_labels or open_labels[-1] != token[1:]:
                raise TreeError("unbalanced", f"{token!r} closes nothing")
            node = Tree(open_labels.pop(), tuple(children.pop()))
            children[-1].append(node)
        else:
            if position < len(words) and position < len(tags):
                children[-1].append(Tree(tags[position], (words[position],)))
            position += 1
    if open_labels:
        raise TreeError("unbalanced", f"{len(open_labels)} bracket(s) left open at the end")
    if position == 0:
        raise TreeError("empty", "there are no word tokens")
    if not position == len(words) == len(tags):
        raise TreeError(
            "wrong-length", f"{position} word tokens, {len(words)} words and {len(tags)} tags"
        )
    return Tree(root, tuple(children[0]))
