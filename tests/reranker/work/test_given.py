"""A text given from Python: what is left out or read otherwise is named, as by the commands."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from reranker.nbest import NBest, from_candidates
from reranker.nbest.data import Sentence
from reranker.work.given import given_trees

RUNS = "(S (NP (PRP It)) (VP (VBZ runs)))"


class Lists:
    """A parser that answers with the next of these lists."""

    batch_sizes = (1,)

    def __init__(self, *lists: NBest | str) -> None:
        self._lists = iter(lists)

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        return [next(self._lists) for _ in sentences]

    def stop(self) -> None:
        return


def test_every_sentence_and_tree_that_is_left_out_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    parser = Lists(from_candidates([RUNS, RUNS[:-1]]), "no tree", NBest("2", (), (), 1))
    text = "It runs.\nIt\x07 runs.\nIt runs.\n"
    with caplog.at_level(logging.WARNING):
        found = [*given_trees(text, "sentences", "gum", parser, "")]
    assert [each.parses and len(each.parses.trees) for each in found] == [1, None, None]
    assert [each.rejected for each in found] == [1, 1, 1]
    assert sorted(caplog.messages) == [
        "text:1: candidate 2 of list 1 rejected, unbalanced: 1 bracket(s) left open at the end",
        "text:2: control character U+0007; U+FFFD is in its place",
        "text:2: not parsed: no tree",
        "text:3: a list without a tree",
    ]


def test_another_language_than_the_parsers() -> None:
    german = "Zwei junge Männer sind im Freien in der Nähe vieler Büsche."
    with pytest.warns(UserWarning, match="^text: "):
        assert len([*given_trees(german, "text", "gum", "chart", "")]) == 1
