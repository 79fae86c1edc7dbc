"""The recognition of dialects from the first lines of a file, in the order of the registry."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cached_property

from reranker.nbest.notation import LABELLED_CLOSER, may_be_tree


class Head:
    """The first lines of a file, prepared for recognisers."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.all = lines
        self.lines = [line.strip() for line in lines if line.strip()]
        """The lines that are not blank, without surrounding space."""
        self.first = self.lines[0] if self.lines else ""

    @cached_property
    def is_linearized(self) -> bool:
        """Return whether most lines have closing brackets with labels."""
        return _are_linearized(self.lines)

    @cached_property
    def trees_are_linearized(self) -> bool:
        """Return whether most lines that begin a tree have closing brackets with labels."""
        return _are_linearized([line for line in self.lines if line.startswith(("(", "<s>"))])

    @cached_property
    def has_tree(self) -> bool:
        """Return whether a line can be a tree in brackets; a remark like ``(laughs)`` cannot."""
        return any(line[0] == "(" and may_be_tree(line) for line in self.lines)


def _are_linearized(texts: Sequence[str]) -> bool:
    """Return whether most texts have closing brackets with labels: ``(S (NP XX )NP )S``."""
    return 2 * sum(bool(LABELLED_CLOSER.search(text)) for text in texts) > len(texts)


_OBJECT = re.compile(r'\{.*"(?:candidates|ranking)"')


def is_json(head: Head) -> bool:
    return head.first[:1] == "{" and any(map(_OBJECT.match, head.lines))


_HYPOTHESIS = re.compile(r"[HD]-[0-9]{1,12}\t(?:[^\t]*\t)?[^\t(]*\([^\t]*")  # a text may have T-34


def is_fairseq(head: Head) -> bool:
    return any(map(_HYPOTHESIS.fullmatch, head.lines))


RNNG_LINE = re.compile(r"\s*(?P<sentence>[0-9]{1,12})\s*\|\|\|(.*)", re.DOTALL)


def is_rnng(head: Head) -> bool:
    return RNNG_LINE.match(head.first) is not None


PARSE = re.compile(r"# Parse ([0-9]{1,9}) with score (\S+)")
SKIPPED = re.compile(r"SENTENCE_SKIPPED_OR_UNPARSABLE(?: Parse #([0-9]{1,9}) with score \S+)?")
SENTENCE = re.compile(r"Sentence #[0-9]+ \([0-9]+ tokens(?:, sentiment: .*)?\):")
COMMENT = re.compile(r"# constituency = (.*)")


def is_corenlp(head: Head) -> bool:
    kinds = (SENTENCE, COMMENT, PARSE, SKIPPED)
    return any(kind.fullmatch(line) for line in head.lines for kind in kinds)


COUNTED_HEADER = re.compile(r"([0-9]{1,9})(?:(\t)\s*(.+)| +(\S+))?")


def is_counted(head: Head, *, with_id: bool) -> bool:
    header = COUNTED_HEADER.fullmatch(head.first)
    if header is None or head.trees_are_linearized:
        return False
    is_kind = bool(header[3] or header[4]) == with_id
    return is_kind and (head.has_tree or _ends_before_a_tree(head.lines))


def _ends_before_a_tree(lines: Sequence[str]) -> bool:
    """Return whether lines without trees can be lists: all empty, or the last one truncated."""
    is_scored = COUNTED_HEADER.fullmatch(lines[-1]) is None and bool(numbers(lines[-1]))
    *others, last = map(COUNTED_HEADER.fullmatch, lines[:-1] if is_scored else lines)
    if last is None or not all(header and int(header[1]) == 0 for header in others):
        return False
    promised, tab, tabbed_id, _spaced_id = last.groups()
    is_header = len((tabbed_id or "").split()) < 2 and bool(tab or others)  # and no sentence
    return int(promised) == 0 or is_scored or is_header


def numbers(text: str) -> list[float]:
    """Return the one or two numbers of a score line; empty for any other line."""
    columns = text.split(maxsplit=2)
    try:
        return [float(column) for column in columns] if len(columns) <= 2 else []
    except ValueError:
        return []


_NUMBER = (
    r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]++)?|\.[0-9]++|[iI]nf(?:inity)?|[nN]a[nN])"
)
SCORED = re.compile(rf"\s*+({_NUMBER}(?:\s++{_NUMBER})*)\s++(?=\()", re.ASCII)
# A constituent's last word, matched from its first character: the time stays linear.
_LAST_WORD = re.compile(r"(?<![^()\s])([^()\s]++)\s*+\)")


def is_berkeley(head: Head) -> bool:
    if SCORED.match(head.first):
        matches = map(SCORED.match, head.lines)
        return any(match and may_be_tree(match.string[match.end() :]) for match in matches)
    is_tree = head.first[:1] == "(" and not head.is_linearized
    return is_tree and head.has_tree and _are_lists(head)


def _are_lists(head: Head) -> bool:
    """Return whether there are blank lines and, between them, different trees of the same words."""
    trees = [(line.strip(), _LAST_WORD.findall(line)) for line in head.all]
    pairs = [
        (text != next_text, words == next_words)
        for (text, words), (next_text, next_words) in itertools.pairwise(trees)
        if words and next_words
    ]
    return ("", []) in trees and 2 * pairs.count((True, True)) > len(pairs)


def is_seq2seq(head: Head) -> bool:
    is_after_count = COUNTED_HEADER.fullmatch(head.first) is not None
    return head.trees_are_linearized if is_after_count else head.is_linearized


def are_trees(head: Head) -> bool:
    from reranker.trees.splitting import is_remark  # the last rule: most files need no reader of it

    first = next((line for line in head.lines if not is_remark(line)), "")
    return first[:1] == "(" and head.has_tree
