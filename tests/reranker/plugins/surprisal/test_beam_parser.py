from __future__ import annotations

from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.process.cancellation import Stopped
from reranker.trees.tree import Tree
from tests.reranker.ensembles import save
from tests.reranker.plugins.surprisal.toy import checkpoint

SENTENCES = ("it rains here", "It", "( boxes ) rains .", "otters " * 20)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save(tmp_path_factory.mktemp("beam") / "forward.pt", checkpoint(1))


@pytest.fixture
def parser(model: str) -> Parser:
    return create_parser("beam", ParserSettings(model=model, candidates=12))


def lists(parser: Parser, *sentences: str) -> list[NBest]:
    answers = parser.parse([Sentence.of(sentence.split()) for sentence in sentences])
    return [answer for answer in answers if isinstance(answer, NBest)]


def test_scores_are_the_models_log_probabilities_of_the_trees(parser: Parser, model: str) -> None:
    reranker = Reranker.load(model)
    for sentence, nbest in zip(SENTENCES, lists(parser, *SENTENCES), strict=True):
        assert len(nbest.candidates) == 12
        scores = [candidate.parser_score for candidate in nbest.candidates]
        assert scores == sorted(scores, key=lambda score: -(score or 0))
        expected = reranker.score([candidate.text for candidate in nbest.candidates])
        assert scores == pytest.approx(expected, abs=1e-4)
        for candidate in nbest.candidates:
            tree = Tree.from_string(candidate.text)
            assert tree.leaves() == list(Sentence.of(sentence.split()).words)
            assert candidate.words == tree.leaves()


def test_a_list_is_the_same_alone_and_among_others(parser: Parser) -> None:
    together = lists(parser, *SENTENCES)
    assert together == [lists(parser, sentence)[0] for sentence in SENTENCES]


def test_tags_are_the_sentences_or_none_but_punctuations(parser: Parser) -> None:
    tagged = Sentence.of(["It", "rains", "."], ["PRP", "VBZ", "."])
    (nbest,) = parser.parse([tagged])
    assert isinstance(nbest, NBest)
    assert Tree.from_string(nbest.candidates[0].text).tags() == ["PRP", "VBZ", "."]
    (nbest,) = lists(parser, "It rains .")
    assert Tree.from_string(nbest.candidates[0].text).tags() == ["XX", "XX", "."]


def test_what_it_refuses(parser: Parser, model: str, tmp_path: Path) -> None:
    (answer,) = parser.parse([Sentence(("it",) * 301)])
    assert answer == "301 words, more than the 300 that the parser beam takes"
    with pytest.raises(InputError, match=r"2,000 .*2001"):
        create_parser("beam", ParserSettings(model=model, candidates=2001))
    path = save(tmp_path / "backward.pt", checkpoint(1, backward=True))
    with pytest.raises(InputError, match=r"backward\.pt .*from the end"):
        create_parser("beam", ParserSettings(model=str(path)))
    parser.stop()
    with pytest.raises(Stopped):
        parser.parse([Sentence(("it",))])
