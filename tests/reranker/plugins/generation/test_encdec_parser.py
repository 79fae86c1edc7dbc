"""The encoder-decoder parser, with a checkpoint that is trained here."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.process.cancellation import Stopped
from reranker.trees.tree import Tree
from tests.checkout import TOY_PARSER
from tests.reranker.ensembles import save, untrained
from tests.reranker.plugins.generation.generators import TREES, trained_parser
from tests.reranker.small_files import write

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(trained_parser(tmp_path_factory.mktemp("parser")))


@pytest.fixture
def parser(checkpoint: str) -> Parser:
    return create_parser("encdec", ParserSettings(model=checkpoint, candidates=4))


def parsed(parser: Parser, *sentences: str) -> list[NBest]:
    found = parser.parse([Sentence.of(sentence.split()) for sentence in sentences])
    assert all(isinstance(nbest, NBest) for nbest in found)
    return [nbest for nbest in found if isinstance(nbest, NBest)]


def test_it_finds_the_trees_that_it_has_learned(parser: Parser) -> None:
    lists = parsed(parser, *(" ".join(tree.leaves()) for tree in TREES))
    assert [nbest.candidates[0].tree for nbest in lists] == TREES
    for nbest in lists:
        scores = [candidate.parser_score for candidate in nbest.candidates]
        assert len(scores) + len(nbest.rejected) == 4
        assert None not in scores and sum(math.exp(score) for score in scores if score) <= 1


@pytest.mark.parametrize(
    "sentence", ["( It ) runs [ away ]", "x", "XX _NN_ (NP )NP", "red " * 40, "\u4e2d\u6587 \u3002"]
)
def test_trees_have_the_words_of_a_sentence_that_it_has_not_seen(
    parser: Parser, sentence: str
) -> None:
    (nbest,) = parsed(parser, sentence)
    for candidate in nbest.candidates:
        assert candidate.tree.leaves() == list(nbest.words) == candidate.words
        assert candidate.tree == Tree.from_string(candidate.text)
        assert candidate.tree.label == "TOP"


def test_a_list_does_not_depend_on_the_batch(parser: Parser) -> None:
    alone = [parsed(parser, " ".join(tree.leaves()))[0] for tree in TREES]
    for one, nbest in zip(
        alone, parsed(parser, *(" ".join(t.leaves()) for t in TREES)), strict=True
    ):
        assert one.candidates[0].tokens == nbest.candidates[0].tokens


def test_after_it_is_stopped(parser: Parser) -> None:
    parser.stop()
    with pytest.raises(Stopped):
        parser.parse([Sentence(("It", "runs", "."))])


def test_it_needs_the_checkpoint_of_a_parser(tmp_path: Path) -> None:
    language_model = save(tmp_path / "lm.pt", untrained(1))
    for model, message in [
        ("", "encdec needs --parser-model FILE.pt, a checkpoint of your own: `rerank train"),
        (language_model, r"lm\.pt: not an encoder-decoder of `rerank train`"),
        (str(tmp_path / "none.pt"), "none.pt: no such file"),
    ]:
        with pytest.raises(InputError, match=message):
            create_parser("encdec", ParserSettings(model=model))


def test_text_is_parsed_with_it(
    tmp_path: Path, checkpoint: str, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "t.txt", "It runs.\nIt is.\nA B C\nred dogs is red dogs.\n")
    flags = [
        "--sentences",
        "--models",
        *models,
        "--threads",
        "1",
        "--lm-weight",
        "0",
        "--longest",
        "4",
    ]
    encdec = ["--parser", "encdec", "--parser-model", checkpoint, "--candidates", "4"]
    assert main(["parse", file, *flags, *encdec]) == 1
    printed = capsys.readouterr()
    first, second, third, flat = printed.out.splitlines()
    assert first == "(TOP (S (NP (NN It)) (VP (VBZ runs)) (. .)))"
    assert second == "(TOP (S (NP (NN It)) (VP (VBZ is)) (. .)))"
    assert flat == "(TOP (S (XX red) (XX dogs) (XX is) (XX red) (XX dogs) (XX .)))"
    assert third.startswith("(TOP ") and "6 words, more than 4" in printed.err

    both = ["--parser", "command", "--parser-command", TOY_PARSER, "--output", "ranked"]
    encdec[3] = f"encdec={checkpoint}"
    assert main(["parse", file, *flags, *encdec, *both]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    trees = [{entry["tree"].split()[0] for entry in row["ranking"]} for row in rows]
    assert trees == [{"(TOP", "(S1"}] * 3 + [set()]
