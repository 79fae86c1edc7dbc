"""The built-in parser: exact, the same however it is asked, and one reading with the ranking."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from reranker.checkpoints import members
from reranker.checkpoints.span_file import load_span_model
from reranker.errors import InputError
from reranker.models.products import eight_bits_work
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers import chart
from reranker.parsers.choice import pooled
from reranker.parsers.parser import Parser, ParserSettings
from reranker.parsers.registry import create_parser
from reranker.pipeline import Reranker
from reranker.process.cancellation import Stopped
from reranker.scoring import span_table
from reranker.trees.tree import Tree
from tests.reranker.ensembles import save, untrained
from tests.reranker.scoring.one_by_one import score_spans_one_by_one
from tests.waiting import at_once

SENTENCES = [
    "We saw the man .",
    "man",
    "( It ) runs [ away ]",
    "\u4e2d\u6587 \u3002 x",
    "the " * 30,
]


@pytest.fixture
def parser(span_model: str) -> Parser:
    return create_parser("chart", ParserSettings(model=span_model, candidates=12))


def lists(parser: Parser, *sentences: str) -> list[NBest]:
    answers = parser.parse([Sentence.of(sentence.split()) for sentence in sentences])
    return [answer for answer in answers if isinstance(answer, NBest)]


def test_scores_are_log_probabilities_of_all_spans(parser: Parser, span_model: str) -> None:
    loaded = load_span_model(Path(span_model))
    for nbest in lists(parser, *SENTENCES):
        sequences = [candidate.tokens for candidate in nbest.candidates]
        expected = score_spans_one_by_one(loaded.model, loaded.vocabulary, sequences)
        scores = [candidate.parser_score for candidate in nbest.candidates]
        assert scores == pytest.approx(expected.tolist(), abs=2e-3)
        assert scores == sorted(scores, key=lambda score: -(score or 0))
        assert len({candidate.tokens for candidate in nbest.candidates}) == len(scores)
        for candidate in nbest.candidates:
            assert Tree.from_string(candidate.text).leaves() == list(nbest.words)


def test_the_ensemble_gives_the_same_number_without_reading_again(
    parser: Parser, span_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Reranker.load(span_model)
    given = lists(parser, *SENTENCES[:2])
    member = reranker.members[0].model
    monkeypatch.setattr(type(member), "read_one", None)  # would fail
    for nbest, ranking in zip(given, reranker.rerank_lists(given), strict=True):
        assert [each.index for each in ranking] == list(range(len(nbest.candidates)))
        assert [-each.nll for each in ranking] == [each.parser_score for each in ranking]


def test_a_gpu_reads_sentences_together_and_finds_the_same(span_model: str) -> None:
    """The GPU's path, on the CPU: sentences of all lengths, one of them too long for the
    encoder."""
    alone, together = (
        create_parser("chart", ParserSettings(model=span_model, candidates=12)) for _ in range(2)
    )
    together._is_batched = True  # type: ignore[attr-defined]
    sentences = [*SENTENCES, "the " * 501, "man saw it " * 40]
    given = [Sentence.of(sentence.split()) for sentence in sentences]
    span_table._memories.clear()
    for one_by_one, batched in zip(alone.parse(given), together.parse(given), strict=True):
        if isinstance(one_by_one, str) or isinstance(batched, str):
            assert one_by_one == batched
            continue
        for expected, found in zip(one_by_one.candidates, batched.candidates, strict=True):
            assert found.parser_score == pytest.approx(expected.parser_score, abs=2e-3)
        assert batched.certainty is not None and one_by_one.certainty is not None
        assert batched.certainty.entropy == pytest.approx(one_by_one.certainty.entropy, abs=1e-3)


def test_a_model_of_the_ensemble_is_not_loaded_again(
    span_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = Reranker.load(span_model)
    known = Path(span_model), reranker.members[0].sha256
    monkeypatch.setattr(chart, "installed_span_model", lambda *_: known)
    monkeypatch.setattr(members, "load_member", None)  # would fail
    parser = create_parser("chart", ParserSettings())
    assert parser._member is reranker.members[0]  # type: ignore[attr-defined]


def test_a_reading_is_forgotten_with_the_model_and_when_there_are_many(
    parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_table, "_MEMORY_BYTES", 4 * 11 * 25 * 3)
    lists(parser, *(f"We saw {word} the man" for word in "abcdefgh"))
    memory = span_table._memory_of(parser._member.model)  # type: ignore[attr-defined]
    assert memory.get(("We", "saw", "h", "the", "man")) is not None
    assert memory.get(("We", "saw", "a", "the", "man")) is None
    assert memory._bytes <= span_table._MEMORY_BYTES


def test_a_tree_does_not_depend_on_its_neighbours_or_threads(span_model: str) -> None:
    settings = ParserSettings(model=span_model)
    together = lists(create_parser("chart", settings), *SENTENCES)
    alone = [lists(create_parser("chart", settings), each)[0] for each in SENTENCES]
    assert together == alone
    shared = create_parser("chart", settings)
    assert at_once(4, lambda: lists(shared, *SENTENCES)) == [together] * 4


def test_one_best_is_the_first_of_many(span_model: str, parser: Parser) -> None:
    for single, many in zip(
        lists(create_parser("chart", ParserSettings(model=span_model, candidates=1)), *SENTENCES),
        lists(parser, *SENTENCES),
        strict=True,
    ):
        assert single.candidates == many.candidates[:1] and single.certainty == many.certainty


def test_brackets_have_probabilities(parser: Parser) -> None:
    (nbest,) = lists(parser, "We saw the man .")
    assert nbest.certainty is not None and nbest.certainty.entropy > 0
    first = nbest.candidates[0].tokens
    found = nbest.certainty.of(first)
    assert found and all(0 <= probability <= 1 for *_, probability in found)
    assert nbest.certainty.mean(first) == pytest.approx(sum(p for *_, p in found) / len(found))


def test_temperature_changes_probabilities_and_no_tree(parser: Parser, span_model: str) -> None:
    cold = create_parser("chart", ParserSettings(model=span_model, candidates=12))
    cold.temperature = 1.0  # type: ignore[attr-defined]
    (warm,), (other,) = (lists(each, "We saw the man .") for each in (parser, cold))
    assert warm.candidates == other.candidates
    assert warm.certainty is not None and other.certainty is not None
    assert warm.certainty.entropy > other.certainty.entropy


def test_given_tags_are_kept(parser: Parser) -> None:
    words, tags = ("We", "saw", "."), ("A", "B", "C")
    (nbest,) = parser.parse([Sentence(words, tags)])
    assert isinstance(nbest, NBest)
    assert all(Tree.from_string(each.text).tags() == list(tags) for each in nbest.candidates)


def test_too_long_a_sentence_has_a_reason(parser: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart, "MOST_WORDS", 4)
    long, short = parser.parse([Sentence.of(["We"] * 5), Sentence.of(["We"] * 4)])
    assert long == "5 words, more than the 4 that the parser chart takes"
    assert isinstance(short, NBest)


def test_what_is_stopped_parses_no_more(parser: Parser) -> None:
    parser.stop()
    with pytest.raises(Stopped):
        parser.parse([Sentence.of(["We"])])


def test_pooled_with_another_parser_it_says_how_sure_it_is(parser: Parser) -> None:
    (nbest,) = lists(parser, "We saw the man .")
    both = pooled(["bllip", "chart"], ["no parse", nbest])
    assert isinstance(both, NBest) and both.certainty == nbest.certainty


def test_no_span_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.pt: "):
        create_parser("chart", ParserSettings(model=str(tmp_path / "none.pt")))
    save(tmp_path / "lm.pt", untrained(1))
    with pytest.raises(InputError, match=r"lm\.pt: not a span model"):
        create_parser("chart", ParserSettings(model=str(tmp_path / "lm.pt")))


@pytest.mark.parametrize("precision", get_args(members.Precision))
def test_the_parser_computes_as_its_reranker_was_asked_to(precision: members.Precision) -> None:
    """And both share the model of that precision."""
    with Reranker.load("fast", device="cpu", precision=precision) as reranker:
        parser = reranker.kept_parser("chart")
        assert isinstance(parser, chart.ChartParser)
        is_rounded = precision == "fast" and eight_bits_work()
        assert parser._member.model.is_rounded is is_rounded
        assert reranker.precision == ("fast" if is_rounded else "exact")
        (member,) = reranker.members
        assert member.model is parser._member.model


def test_precisions_give_nearly_the_same_scores() -> None:
    found = []
    for precision in get_args(members.Precision):
        settings = ParserSettings(precision=precision)
        found.append(lists(create_parser("chart", settings), "We saw the man with it ."))
    (exact,), (fast,) = found
    assert [each.text for each in exact.candidates] == [each.text for each in fast.candidates]
    scores = [[each.parser_score for each in nbest.candidates] for nbest in (exact, fast)]
    assert scores[0] == pytest.approx(scores[1], abs=0.01)
    assert (scores[0] != scores[1]) is eight_bits_work()
