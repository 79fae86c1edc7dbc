"""Coverage-guided fuzzing of raw text, and of what a parser prints for it.

    pip install atheris
    mkdir found  # inputs that reach new code are kept here
    python tests/fuzz/fuzz_text.py found tests/fuzz/texts -max_total_time=600 -max_len=4096

The first byte chooses the form of the text, the words' convention and the format of the parser's
output; the rest is the text, with that output after a line of `=====`, else a good parser answers.
Whatever the bytes: every character but white space is in one word of one sentence, in order; no
sentence begins within a word; each sentence is one line for a parser; each has a list or a reason;
and a tree comes out, flat or not, that has the sentence's words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import atheris

with atheris.instrument_imports():
    from reranker.files.text import TextInMemory
    from reranker.nbest import FORMATS, NBest, ReadOptions
    from reranker.nbest.data import Sentence
    from reranker.parsers.lists import given_lines, printed_lists
    from reranker.parsers.running import ParsedLists
    from reranker.text.conventions import Convention
    from reranker.text.reading import Text, TextSentence
    from reranker.text.splitting import TextForm
    from reranker.trees.tree import Tree

FORMS: tuple[TextForm, ...] = ("text", "sentences", "tokens")
CONVENTIONS: tuple[Convention, ...] = ("gum", "wsj")
NAMES = ("auto", *FORMATS)


class Printer:
    """A parser that prints what it is told to or, by default, two trees for each sentence."""

    batch_sizes = (1, 2)

    def __init__(self, printed: bytes, options: ReadOptions) -> None:
        self._printed, self._options = printed, options

    def parse(self, sentences: Sequence[Sentence]) -> Sequence[NBest | str]:
        given, printed, options = given_lines(sentences), self._printed, self._options
        if not printed:
            options = ReadOptions("jsonl")
            printed = "".join(map(two_trees, sentences)).encode()
        assert given.count(b"\n") == len(sentences)
        found = printed_lists(printed, sentences, options)
        if isinstance(found, str):
            assert found and self._printed
            return [found] * len(sentences)
        assert len(found) == len(sentences)
        assert self._printed or all(isinstance(each, NBest) for each in found)
        return found

    def stop(self) -> None:
        pass


def two_trees(sentence: Sentence) -> str:
    nodes = [f"(XX {word})" for word in sentence.words]
    trees = [f"(S {' '.join(nodes)})", f"(S (NP {nodes[0]}) {' '.join(nodes[1:])})"]
    return json.dumps({"candidates": [{"tree": tree} for tree in trees]}) + "\n"


def one_input(data: bytes) -> None:
    choice = data[0] if data else 0
    content, _, printed = data[1:].partition(b"\n=====\n")
    form, convention = FORMS[choice % 3], CONVENTIONS[choice // 3 % 2]
    options = ReadOptions(NAMES[choice // 6 % len(NAMES)], beam=2)
    read: list[TextSentence] = []

    def remembered() -> Text:
        return Text([TextInMemory(content, "text")], form, convention, longest=40)

    read.extend(remembered())
    check_places(content.decode(errors="surrogateescape").removeprefix("\ufeff"), read)
    parsing = ParsedLists(Printer(printed, options), iter(remembered()), 1)
    try:
        lists = list(parsing)
    finally:
        parsing.close()
    assert [nbest.id for nbest in lists] == [str(number) for number in range(len(read))]
    for nbest, sentence in zip(lists, read, strict=True):
        trees = [candidate.tree for candidate in nbest.candidates]
        trees = trees or [Tree.from_string(nbest.fallback)]
        for tree in trees:
            assert tuple(tree.leaves()) == sentence.sentence.words
        assert bool(nbest.candidates) or nbest.rejected


def check_places(text: str, sentences: Sequence[TextSentence]) -> None:
    end = 0
    for sentence in sentences:
        assert sentence.sentence.words
        offsets = sentence.origin.offsets
        first = offsets[0][0]
        assert not (text[:first][-1:].isalpha() and text[first].isalpha())  # within a word
        for begin, after in offsets:
            assert not text[end:begin].strip() and begin < after
            end = after
        assert sentence.origin.line == 1 + text.count("\n", 0, first)
    assert not text[end:].strip()


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
