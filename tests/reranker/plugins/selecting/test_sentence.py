"""The entropy of a sentence's trees."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import reranker
from reranker.errors import InputError, TreeError
from reranker.nbest.data import Certainty, NBest, Sentence
from reranker.parsers.parser import ParserSettings, temperature_of
from reranker.parsers.registry import create_parser
from reranker.plugins.grep.given import given_parses
from reranker.plugins.grep.parses import Parses
from reranker.plugins.selecting.sentence import check_language, uncertain
from reranker.trees.tree import Tree
from tests.reranker.small_files import write
from tests.reranker.span_models import save_spans

TREE = Tree.from_string("(TOP (S (NP (PRP It)) (VP (VBZ runs)) (. .)))")


def test_the_entropy_of_a_list_and_of_all_trees() -> None:
    found = uncertain(Parses("f", 3, (TREE,) * 3, (0.5, 0.25, 0.25)))
    # -(1/2 log 1/2 + 2 * 1/4 log 1/4) = 3/2 log 2
    assert found.entropy == pytest.approx(1.5 * math.log(2), abs=1e-4)
    assert found.value == pytest.approx(0.5 * math.log(2), abs=1e-4)  # of three words
    assert found[:2] == ("f", 3) and found[3:] == ("It runs .", "It runs .", TREE.to_string())
    known = Certainty({}, 2.5)
    assert uncertain(Parses("f", 3, (TREE,), None, certainty=known)).entropy == 2.5


def test_the_entropy_of_a_chart_is_that_of_all_its_trees(tmp_path: Path) -> None:
    settings = ParserSettings(model=save_spans(tmp_path / "m.pt", 3), candidates=5_000)
    parser = create_parser("chart", settings)
    (parses,) = given_parses("We saw", "sentences", "gum", parser, "")
    (nbest,) = parser.parse([Sentence(("We", "saw"))])
    assert isinstance(nbest, NBest)
    scores = [each.parser_score or 0.0 for each in nbest.candidates]
    assert len(scores) < 5_000  # these are all
    scale = temperature_of(parser)
    total = math.fsum(math.exp(score / scale) for score in scores)
    shares = [math.exp(score / scale) / total for score in scores]
    by_hand = -math.fsum(share * math.log(share) for share in shares)
    assert uncertain(parses).entropy == pytest.approx(by_hand, abs=1e-3)


@pytest.mark.parametrize(
    "tree, reason",
    [("(TOP (XX x) (XX y))", "a flat tree"), ("(TOP (NP (NN x)))", "nothing says how probable")],
)
def test_sentences_that_are_left_out(tree: str, reason: str) -> None:
    with pytest.raises(TreeError, match=reason):
        uncertain(Parses("f", 1, (Tree.from_string(tree),)))


def test_words_of_another_language() -> None:
    def unknown(words: Sequence[str]) -> int:
        return sum(word in ("der", "hund", "狗") for word in words)

    check_language(["der", "hund", "runs", "fast", "today", "7", "."], unknown, 0.4)  # 2 of 5
    with pytest.raises(TreeError, match="3 of 5 words are new to the parser: another language"):
        check_language(["der", "hund", "runs", "der", "today", "7", "."], unknown, 0.4)
    check_language(["der", "hund", "runs", "der", "today"], unknown, 1)
    check_language(["der", "hund", "der", "hund"], unknown, 0.4)  # too few to say
    with pytest.raises(TreeError, match="3 of 5"):
        check_language(["狗狗", "狗", "的人"], unknown, 0.4)


def test_select_from_python(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = save_spans(tmp_path / "m.pt", 3)
    text = "We saw the man.\nIt ran home.\n" + "x " * 501 + "\nWe saw a man.\n"
    with caplog.at_level(logging.WARNING):
        found = reranker.select(text, form="sentences", parser_model=model)
    assert "text:3: left out: " in caplog.text
    assert [each.value for each in found] == sorted((each.value for each in found), reverse=True)
    assert {each.text for each in found} >= {"It ran home."}
    done = write(
        tmp_path / "done.mrg", "(TOP (S (NP (PRP It)) (VP (VBD ran) (NP (NN home))) (. .)))"
    )
    for annotated in ([done], done, Path(done)):  # one name is not a list of letters
        (other,) = reranker.select(
            text, number=1, annotated=annotated, form="sentences", parser_model=model
        )
        assert other.text != "It ran home."


@pytest.mark.parametrize("text", [None, 3, b"It runs.", ["It runs."], ["Yes"], [None], [["It"]]])
def test_what_is_no_text_and_no_tree(text: Any) -> None:
    with pytest.raises(InputError, match=r"^expected a text as a string, or trees"):
        reranker.select(text)


def test_limits_are_positive_integers() -> None:
    with pytest.raises(InputError, match=r"^number must be a positive integer, got -1$"):
        reranker.select([TREE], number=-1)
    with pytest.raises(InputError, match=r"^budget must be a positive integer, got 0$"):
        reranker.select([TREE], budget=0)
    with pytest.raises(InputError, match=r"^candidates must be a positive integer, got 0$"):
        ParserSettings(candidates=0)
