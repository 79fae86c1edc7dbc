"""Stanford's parsers: CoreNLP, its LexicalizedParser, and Stanza.

``LexicalizedParser -printPCFGkBest K`` prints, for each sentence, its best tree and then the K best
ones, each after its score (``TreePrint.printTrees``); a natural logarithm, as the grammar's rules
have ``Math.log`` of their probabilities. With ``-outputFormat penn`` trees are pretty-printed and
followed by a blank line, with ``oneline`` they are not::

    (ROOT
      (NP (NN Introduction)))

    # Parse 1 with score -14.51593017578125
    (ROOT
      (NP (NN Introduction)))

    # Parse 2 with score -22.724395751953125
    (ROOT
      (INTJ (NN Introduction)))

A sentence without a tree is ``SENTENCE_SKIPPED_OR_UNPARSABLE`` or ``(())``.

The pipeline's ``-outputFormat text`` (``TextOutputter``) prints ``Sentence #1 (5 tokens):``, the
text, a line ``[Text=...]`` for each token, the tree and other annotations. Stanza's CoNLL-U has a
line ``# constituency = (ROOT ...`` in the block of each sentence. Trees without any of these lines
are format ``trees``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reranker.nbest.data import NBest, RawCandidate, RawList
from reranker.nbest.dialects.candidate_text import finite, score_text
from reranker.nbest.dialects.recognition import COMMENT, PARSE, SENTENCE, SKIPPED
from reranker.nbest.dialects.registry import Dialect
from reranker.nbest.guess import not_nbest
from reranker.nbest.lines import Group, NumberedLines, separated
from reranker.trees.splitting import TreeLines

_LOG = re.compile(
    r"Parsing (?:file: |\[sent\. )|Parsed (?:file: |[0-9]+ words )|Sentence skipped: "
)
_LAYOUTS = {
    SENTENCE: "text output of the pipeline",
    COMMENT: "CoNLL-U comments",
    PARSE: "k-best lists",
}
_MAX_STRAY = 100


def _layout(head: Sequence[str], beam: int | None) -> str:
    for line in map(str.strip, head):
        for kind, layout in _LAYOUTS.items():
            if kind.fullmatch(line):
                return layout
    return "one tree per sentence"


def _read(file: NumberedLines) -> Iterator[RawList]:
    readers = {_LAYOUTS[SENTENCE]: _annotated, _LAYOUTS[COMMENT]: _commented}
    lists = readers.get(_layout(file.head, None), _printed)
    return file.numbered(lists(file))


def _no_tree(line: int) -> RawCandidate:
    return RawCandidate(line, "", problem=("empty", "the sentence has no tree"))


class _Parse(NamedTuple):
    """A tree, or a line that stands for a missing one."""

    candidate: RawCandidate
    rank: int | None
    """The rank from its ``# Parse`` line; 0 without one; None if this is not a parse."""
    is_skipped: bool = False

    @property
    def ends_list(self) -> bool:
        """Return whether this line says that the sentence has no tree, so that no candidate
        follows."""
        return self.rank == 0 and (self.is_skipped or self.candidate.text == "(())")


def _printed(file: NumberedLines) -> Iterator[Group]:
    """Yield lists, each beginning with a tree that has no rank, or a rank not above the previous
    one."""
    parses: list[_Parse] = []
    latest: int | None = None
    for parse in _parses(file):
        if parse.rank is not None:
            if latest is not None and parse.rank <= latest:
                yield _list(parses)
                parses = []
            latest = sys.maxsize if parse.ends_list else parse.rank
        parses.append(parse)
        if latest is None and len(parses) > _MAX_STRAY:
            break
    if latest is None and parses:
        first = parses[0].candidate
        expected = "a tree or '# Parse 1 with score'"
        raise not_nbest(file.name, file.head, first.line, first.text, expected)
    if parses:
        yield _list(parses)


def _list(parses: list[_Parse]) -> Group:
    """Return the list's candidates, including the best tree, which is printed before the others."""
    line = parses[0].candidate.line
    parses = [parse for parse in parses if not parse.is_skipped]
    best = next((parse for parse in parses if parse.rank == 0), None)
    if best and any(parse.candidate.text == best.candidate.text for parse in parses if parse.rank):
        parses.remove(best)
        # With a factored grammar, the best tree need not be the first.
        parses.sort(key=lambda parse: parse.candidate.text != best.candidate.text)
    return line, [parse.candidate for parse in parses]


def _parses(file: NumberedLines) -> Iterator[_Parse]:
    tree = TreeLines()
    heading: _Parse | None = None  # a score that waits for its tree

    def take() -> _Parse:
        nonlocal heading
        score = finite(heading.candidate.text) if heading else None
        parse = _Parse(RawCandidate(*tree.take(), score), heading.rank if heading else 0)
        heading = None
        return parse

    for number, line in file:
        text = line.strip()
        if tree.is_open and (tree.ends_before(line) or not ("(" in text or ")" in text)):
            yield take()
        if not text or _LOG.match(text):
            continue
        match = PARSE.fullmatch(text)
        skipped = SKIPPED.fullmatch(text)
        if heading and (match or skipped):
            yield heading
            heading = None
        if match:
            problem = ("empty", "a score without a tree")
            heading = _Parse(RawCandidate(number, match[2], problem=problem), int(match[1]))
        elif skipped:
            yield _Parse(RawCandidate(number, text), int(skipped[1] or 0), is_skipped=True)
        elif tree.is_open or text[0] == "(":
            if tree.add(number, text):
                yield take()
        else:
            problem = ("not-a-tree", "a tree starts with '('")
            yield _Parse(RawCandidate(number, text, problem=problem), None)
    if tree.is_open:
        yield take()
    if heading:
        yield heading


def _annotated(file: NumberedLines) -> Iterator[Group]:
    """Yield one list per sentence; after its tokens, the first line that begins with a bracket
    begins its tree."""
    start = 0
    has_tokens = is_complete = False
    tree = TreeLines()

    def finish() -> Group:
        return start, [RawCandidate(*tree.take()) if tree.is_open else _no_tree(start)]

    for number, line in file:
        text = line.strip()
        if SENTENCE.fullmatch(text):
            if start:
                yield finish()
            start, tree = number, TreeLines()
            has_tokens = is_complete = False
        elif text.startswith("[Text="):
            has_tokens = True
        elif not is_complete and (tree.is_open or (has_tokens and text[:1] == "(")):
            is_complete = not text or tree.add(number, text)
    if start:
        yield finish()


def _commented(file: NumberedLines) -> Iterator[Group]:
    """Yield the lists of CoNLL-U: blocks of lines separated by blank lines, one per sentence."""
    for start, lines in separated(file):
        comments = [(line.line, COMMENT.fullmatch(line.text)) for line in lines]
        trees = [RawCandidate(number, match[1]) for number, match in comments if match]
        if lines:
            yield start, trees or [_no_tree(start)]


def _write(nbest: NBest, position: int) -> str:
    if not nbest.candidates:
        return "SENTENCE_SKIPPED_OR_UNPARSABLE\n"
    return "".join(
        f"# Parse {rank} with score {score_text(candidate)}\n{candidate.bracketed}\n"
        for rank, candidate in enumerate(nbest.candidates, 1)
    )


CORENLP = Dialect(
    read=_read,
    write=_write,
    layout=_layout,
)
