"""Span models as members: their values, alone and beside language models."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reranker.checkpoints.members import LoadedMember
from reranker.checkpoints.span_file import SpanCheckpoint, save_span_model
from reranker.errors import RerankError
from reranker.nbest import read_nbest
from reranker.pipeline import Reranker
from reranker.process.cancellation import Cancellation, Stopped
from reranker.ranking import Weighing
from reranker.scoring.spans import SpanSequences, span_log_probabilities
from reranker.scoring.winner import WinnerSearch
from reranker.trees.linearize import linearize
from reranker.trees.tree import Tree
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.scoring.one_by_one import score_one_by_one, score_spans_one_by_one
from tests.reranker.span_models import untrained_spans

ROOT = Path(__file__).parents[3]
SPANS = untrained_spans(1)
ENCODED = untrained_spans(1, "encoded", encoder=True)
both_kinds = pytest.mark.parametrize("member", [SPANS, ENCODED], ids=["words", "pieces"])
LANGUAGE = untrained(1)
TOKENS = [linearize(Tree.from_string(text)) for text in CANDIDATES]
LISTS = list(read_nbest(ROOT / "examples/parses.txt"))[:12]


def values(
    sequences: list[tuple[str, ...]], member: SpanCheckpoint = SPANS
) -> tuple[SpanSequences, np.ndarray]:
    found = SpanSequences(sequences)
    return found, span_log_probabilities(member.model, member.vocabulary, found)


@both_kinds
def test_totals_are_those_of_all_spans(member: SpanCheckpoint) -> None:
    several = [*TOKENS, ("(S", "We", ")S"), ("We", "saw"), TOKENS[0]]
    found, edges = values(several, member)
    totals = [edges[path].sum() for path in found.paths]
    expected = score_spans_one_by_one(member.model, member.vocabulary, several)
    assert totals == pytest.approx(expected.tolist(), abs=1e-4)
    assert len({round(total, 2) for total in totals[:6]}) == 5, "one differs in tags only"
    assert totals[0] == totals[-1] and found.paths[0].tolist() == found.paths[-1].tolist()


def test_a_sentence_in_pieces_has_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = values(TOKENS)
    monkeypatch.setattr("reranker.models.span_model._NUMBERS_AT_ONCE", 10 * 9)
    _, pieces = values(TOKENS)
    assert pieces == pytest.approx(whole, abs=1e-5)
    totals = score_spans_one_by_one(SPANS.model, SPANS.vocabulary, TOKENS)
    monkeypatch.undo()
    again = score_spans_one_by_one(SPANS.model, SPANS.vocabulary, TOKENS)
    assert totals == pytest.approx(again, abs=1e-4)


def test_tokens_have_the_values_of_their_constituents() -> None:
    tokens = ("(S", "(VP", "saw", ")VP", ")S")
    found, edges = values([tokens, ("(NP", "saw", ")NP")])
    first, second = (edges[path] for path in found.paths)
    assert first[1:5].tolist() == [0, 0, 0, 0], "the chain's value is at its first bracket"
    assert first[-1] == second[-1], "of the sentence"
    assert first[0] != second[0]


@both_kinds
def test_a_sentence_is_read_once_and_by_itself(member: SpanCheckpoint) -> None:
    found, edges = values([*TOKENS, ("(S", "We", ")S"), *TOKENS], member)
    alone, edges_alone = values(TOKENS[2:3], member)
    assert len(found.sentences) == 2
    assert edges[found.paths[2]].tolist() == edges_alone[alone.paths[0]].tolist()


def test_no_words_have_no_spans() -> None:
    found, edges = values([()])
    assert edges[found.paths[0]].tolist() == [0.0]


def test_whoever_cancels_is_heard() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Stopped):
        span_log_probabilities(SPANS.model, SPANS.vocabulary, SpanSequences(TOKENS), cancellation)


def test_beside_language_models_it_is_a_summand() -> None:
    both = Reranker([LANGUAGE, SPANS]).rerank(CANDIDATES)
    expected = -score_spans_one_by_one(SPANS.model, SPANS.vocabulary, TOKENS)
    ids = [LANGUAGE.vocabulary.encode(tokens) for tokens in TOKENS]
    expected -= score_one_by_one(LANGUAGE.model, ids, LANGUAGE.vocabulary.eos)
    for one in both.ranking:
        assert one.nll == pytest.approx(expected[one.index], abs=1e-3)
    alone = Reranker([SPANS]).rerank(CANDIDATES)
    assert alone.ranking[0].score > alone.ranking[-1].score


@both_kinds
def test_scores_do_not_depend_on_the_order_of_lists_or_members(member: SpanCheckpoint) -> None:
    shuffled = LISTS.copy()
    random.Random(1).shuffle(shuffled)
    one, other = Reranker([LANGUAGE, member], threads=1), Reranker([member, LANGUAGE], threads=2)
    found = {r.id: r for r in one.rerank_lists(LISTS)}
    for ranking in other.rerank_lists(shuffled):
        expected = found[ranking.id]
        assert [c.index for c in ranking.ranking] == [c.index for c in expected.ranking]
        for mine, theirs in zip(ranking.ranking, expected.ranking, strict=True):
            assert mine.nll == pytest.approx(theirs.nll, abs=1e-9)


def test_probabilities_are_not_averaged_with_others() -> None:
    with pytest.raises(RerankError, match="spans-1 is a span model"):
        Reranker([LANGUAGE, SPANS], "average")


def test_the_best_few_are_those_of_everything() -> None:
    shipped = Reranker.load([ROOT / "ckpt/rnn-forward.pt"]).members[0]
    member = replace(untrained_spans(2), name="spans")
    members: list[LoadedMember] = [shipped, member]
    reranker = Reranker(members)
    search = WinnerSearch(reranker.ensemble, patience_tokens=0)
    assert search.pays_off(Weighing()) and not WinnerSearch(Reranker([member]).ensemble).pays_off(
        Weighing()
    )
    everything = [r.ranking for r in reranker.rerank_lists(LISTS[:2])]
    reranker._winner_search = search
    for top in (1, 3):
        for best, ranking in zip(
            reranker.rerank_lists(LISTS[:2], top=top), everything, strict=True
        ):
            assert [(c.index, c.nll) for c in best.ranking[:top]] == [
                (c.index, c.nll) for c in ranking[:top]
            ]


@both_kinds
def test_it_is_loaded_from_its_file(tmp_path: Path, member: SpanCheckpoint) -> None:
    save_span_model(tmp_path / "spans.pt", member.model, member.vocabulary, {})
    precise = Reranker.load(tmp_path, precision="exact").rerank(CANDIDATES)
    loaded = Reranker.load(tmp_path).rerank(CANDIDATES)
    assert loaded == precise
    exact = Reranker([member]).rerank(CANDIDATES)
    by_index = {c.index: c.nll for c in loaded.ranking}
    for c in exact.ranking:
        assert by_index[c.index] == pytest.approx(c.nll, rel=0.05)
