"""Parsers' trees or printed lists as one list for each sentence, and the detection of parsers that
cannot parse anything at all."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from reranker.errors import InputError, TreeError
from reranker.files.text import TextInMemory
from reranker.nbest import Candidate, NBest, ReadOptions, check_words, read_nbest
from reranker.nbest.data import Sentence
from reranker.trees.linearize import linearize
from reranker.trees.tree import UNKNOWN_TAG, Tree

NAME = "the parser's output"
_HOPELESS = 20  # if this many sentences fail from the start, something else is wrong


def given_lines(sentences: Sequence[Sentence]) -> bytes:
    """Return the sentences as parsers read them: one per line, a space between words."""
    return "".join(" ".join(sentence.words) + "\n" for sentence in sentences).encode()


def printed_lists(
    printed: bytes, sentences: Sequence[Sentence], options: ReadOptions
) -> list[NBest | str] | str:
    """Return for each sentence its list, or why it has no candidate; or one reason why the output
    as a whole is not the lists of these sentences."""
    output = TextInMemory(printed, NAME)
    options = replace(options, tokens=tuple(sentences), restore=True)
    try:
        lists = list(read_nbest(output, options=options, warn=lambda _: None))
    except InputError as error:
        return str(error)
    if any(entry.code == "missing" for nbest in lists for entry in nbest.rejected):
        return "the parser printed too few lists"
    return list(map(usable, lists))


def list_of_one(tree: Tree, sentence: Sentence) -> NBest | str:
    """Return a list with a parser's only tree, without a score, or why it is not a tree of the
    sentence."""
    try:
        if tree.leaves() != list(sentence.words):
            check_words(tree.leaves(), sentence.words)
            tree = tree.with_words(sentence.words)
        if sentence.tags and {*tree.tags()} == {UNKNOWN_TAG}:
            tree = tree.with_tags(sentence.tags)
        tokens = linearize(tree)
    except TreeError as error:
        return str(error)
    candidate = Candidate(0, tree.to_string(), tokens, None, line=1, file=NAME)
    return NBest("0", (candidate,), (), 1, sentence)


def usable(nbest: NBest) -> NBest | str:
    """Return the list, or why it has no candidate."""
    if nbest.candidates:
        return nbest
    return nbest.rejected[0].message if nbest.rejected else "the parser found no tree"


class Failures:
    """Counts the sentences that a parser cannot parse, until it has parsed one. Threads may share
    it."""

    def __init__(self, name: str) -> None:
        """Take the name for error messages."""
        self._name = name
        self._lock = threading.Lock()
        self._failed = 0
        self._has_parsed = False

    def count(self, answers: Sequence[NBest | str]) -> None:
        """Count a batch's answers. Raises InputError after many failures without a single list."""
        reasons = [each for each in answers if isinstance(each, str)]
        with self._lock:
            self._has_parsed = self._has_parsed or len(reasons) < len(answers)
            self._failed += len(reasons)
            if reasons and not self._has_parsed and self._failed >= _HOPELESS:
                raise InputError(
                    f"{self._name}: {self._failed} sentences in a row could not be parsed: "
                    f"{reasons[-1]}"
                )


class BatchParser(ABC):
    """The common part of parsers that can fail on a batch as a whole. The sentences of such a batch
    are given to the parser again in halves, so that only those it cannot parse are lost."""

    def __init__(self, name: str) -> None:
        """Take the name for error messages."""
        self._failures = Failures(name)
        self._is_stopped = False

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        """Return for each sentence its list or why there is none. Raises InputError if the parser
        does not work or parses nothing at all, Stopped after ``stop``."""
        answers = self._parse(sentences)
        self._failures.count(answers)
        return answers

    def stop(self) -> None:
        """Parse nothing more."""
        self._is_stopped = True

    def _parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        answers = self._run(sentences)
        if not isinstance(answers, str):
            return answers
        if len(sentences) > 1:
            middle = len(sentences) // 2
            return self._parse(sentences[:middle]) + self._parse(sentences[middle:])
        return [answers]

    @abstractmethod
    def _run(self, sentences: Sequence[Sentence]) -> list[NBest | str] | str:
        """Return the parser's lists for the sentences, or why it fails on them."""
