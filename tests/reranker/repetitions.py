"""Texts that repeat something until they are long, and all that reads text from outside: whatever
takes time that grows faster than its text, or looks for something at every place, shows it here."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from functools import partial

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import RerankError
from reranker.evaluation.lines import read_line
from reranker.evaluation.parameters import Parameters
from reranker.evaluation.sentence import score_pair
from reranker.files.text import TextInMemory
from reranker.nbest import FORMATS, ReadOptions, read_nbest
from reranker.nbest.dialects.recognition import Head
from reranker.nbest.dialects.registry import DIALECTS, load
from reranker.nbest.guess import guess
from reranker.nbest.notation import Notation, may_be_tree, read_skeleton
from reranker.nbest.own_notation import most_shown
from reranker.nbest.tokens_file import read_sentences
from reranker.nbest.words import check_words, escaped
from reranker.outputs.conllu import from_conllu
from reranker.text.conventions import Convention
from reranker.text.reading import Text, other_than_text
from reranker.text.splitting import TextForm
from reranker.trees.linearize import linearize_text
from reranker.trees.splitting import split_trees
from reranker.trees.tree import Tree

Reader = Callable[[str], object]

SIGNS = (
    "1", "a", "A", "S", " ", "\t", "\n", "\r", "(", ")", "[", "{", "<", ">", "-", "+", ".", ",",
    ";", ":", "|", '"', "'", "`", "_", "/", "\\", "@", "=", "*", "#", "&", "!", "?", "^", "0",
    "X", "\x00", "\x1c", "\xa0", "\u0300", "\u0316", "\xe9", "\u03a3", "\u201d", "\u2014",
    "\u2026", "\u4e2d", "\U0001f600", "\udcff",
)  # fmt: skip
PARTS = (
    "|||", " ||| ", "\n\n", "\r\n", "\t\t", "1 1\n", "1.1", "1e5", "e-", "1,", "-1 ",
    "-Infinity ", "(S ", "(NN a)", "(A b)\n", ")S ", " )S", "(A )B ", " (", "(A", "( ", "( (",
    "(())", "(-NONE- *)", "(TOP ", "(TOP\n", "(NP-SBJ ", "(`` ') ", "('' '') ", "\\(", "\\)",
    " XX", "<s> ", "UNK-", "_A_ ", "0\t", "S-0\t", "H-0\t-1\t", "2 x\n", "1\t0\n",
    "0 ||| 1 ||| (S a)\n", "[Text=", "# constituency = ", "# Parse 1 with score ",
    "# Parse 1 with score 1\n", "Sentence #1 (", "{\"", "\\\"", "\"candidates\": [", "http://",
    "www.", "://", "a@a", "a-a", "a. ", "a.\" ", "Mr. ", "...", "\u0300\u0316",
)  # fmt: skip
HEADS = (
    "(S (A a) ", "(TOP\n", "(S\n", "1\t0\n-1\n", "1 x\n", "2\n(S ", "-1\t(S ", "1\t", "0 ||| ",
    "0 ||| -1 ||| ", "H-0\t-1\t(S ", "(S XX )S\n(S ", "{\"candidates\": [\"",
    "# Parse 1 with score ", "a.", "http://", "Sentence #1 (1 tokens):\n[Text=\n(",
    "# constituency = ", f"(TOP{' ' * 2000}\n", f"({'A' * 2000}\n",
)  # fmt: skip
"""Heads that bring a reader to candidates, scores and the like."""
_PROSE = "The old man saw it.\n"
_PAIRED = "1aA \t\n()-.|\"'\\<:/@_"


def pairs() -> Iterator[str]:
    """Yield pairs of different signs."""
    yield from (one + other for one in _PAIRED for other in _PAIRED if one != other)
    yield "\u0300\u0316"


def repeated(part: str, characters: int, head: str = "", tail: str = "x") -> str:
    """Return a repeated text; its ``tail`` makes a search fail that has come so far."""
    return head + part * (characters // len(part)) + tail


def cpu_seconds(reader: Reader, text: str) -> float:
    """Measure the CPU time of reading the text; errors in it do not matter."""
    begun = time.process_time()
    with contextlib.suppress(RerankError):
        reader(text)
    return time.process_time() - begun


def ordinary_seconds(name: str, characters: int) -> float:
    """Measure the CPU time of reading as much ordinary text, which is linear: sentences for readers
    of text, lists for all others."""
    # The same reader reads all lists, so that its time is measured once.
    return _text_seconds(name, characters) if name in TEXTS else _lists_seconds(characters)


def _text_seconds(name: str, characters: int) -> float:
    return cpu_seconds(READERS[name], repeated(_PROSE, characters, tail=""))


@functools.cache
def _lists_seconds(characters: int) -> float:
    lists = "2\t0\n-1\n(S1 (NP (DT the) (NN man)))\n-2\n(S1 (X (DT the) (NN man)))\n\n"
    return cpu_seconds(_lists("bllip"), repeated(lists, characters, tail=""))


def _file(text: str) -> TextInMemory:
    return TextInMemory(text.encode("utf-8", "surrogateescape"), "text")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _lists(name: str, **how: object) -> Reader:
    def read(text: str) -> None:
        options = ReadOptions(name, beam=2 if name == "opennmt" else None, **how)  # type: ignore[arg-type]
        for nbest in read_nbest(_file(text), options=options, warn=lambda _: None):
            assert nbest.fallback
            nbest.duplicates()

    return read


def _recognised(name: str, text: str) -> None:
    DIALECTS[name].recognise(Head(_lines(text)))
    most_shown(load(name).candidate_texts(_lines(text)))


def _text(form: TextForm, convention: Convention, text: str) -> None:
    for sentence in Text([_file(text)], form, convention, is_known=True):
        assert sentence.origin


def _rows(text: str) -> None:
    """Add the same for each column of CoNLL-U."""
    clean = text.replace("\n", " ").replace("\t", " ")
    row = ["1", clean, "_", "_", clean, "_", "_", "_", "_", f"Constituency={clean}*"]
    list(from_conllu(["\t".join(row)]))


def _alike(text: str) -> None:
    assert escaped(text)
    check_words([text], [f"{text}y"])


COLLINS = Parameters.collins()
INDONESIAN = Vocabulary.build([["beli", "jual"]], is_english=False)
READERS: dict[str, Reader] = {
    "what a file looks like": lambda text: (guess(_lines(text)), other_than_text(text)),
    **{f"recognise {name}": partial(_recognised, name) for name in DIALECTS},
    **{f"read {name}": _lists(name) for name in ("auto", *FORMATS)},
    **{f"repair {name}": _lists(name, repair=True) for name in ("trees", "rnng", "berkeley")},
    "repair as authors": lambda text: _lists(
        "seq2seq", repair="authors", tokens=_file("a b c\n" * 3)
    )(text),
    **{
        f"repair {notation.value}": partial(read_skeleton, notation=notation)
        for notation in Notation
    },
    "tree": Tree.from_string,
    "may be a tree": may_be_tree,
    "linearised tree": linearize_text,
    "trees of a treebank": lambda text: list(split_trees(_lines(text))),
    "sentences": lambda text: list(read_sentences(_file(text))),
    "words": _alike,
    "a word of any language": INDONESIAN.symbol,
    "EVALB": lambda text: read_line(text, COLLINS),
    "EVALB's score": lambda text: score_pair(f"(TOP (A {text}))", f"(TOP {text})", COLLINS),
    "CoNLL-U": _rows,
    "tokens": partial(_text, "tokens", "gum"),
}
# Libraries split these into sentences and words, and take their time.
TEXTS: dict[str, Reader] = {
    "lines": partial(_text, "sentences", "gum"),
    "text": partial(_text, "text", "gum"),
    "text as in WSJ": partial(_text, "text", "wsj"),
}
READERS |= TEXTS
