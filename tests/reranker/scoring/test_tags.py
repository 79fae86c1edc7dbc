"""Language models that read the span model's tags in place of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from reranker.chart.bracketed import best_tags
from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.members import LoadedMember
from reranker.checkpoints.span_file import SpanCheckpoint
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.errors import RerankError
from reranker.nbest import NBest, from_candidates
from reranker.pipeline import Reranker
from reranker.process.cancellation import Cancellation, Stopped
from reranker.ranking import Scored, Weighing, rank
from reranker.scoring import span_table
from reranker.scoring.distinct import DistinctCandidates
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.lanes import Lanes
from reranker.scoring.scorer import Scorer
from reranker.scoring.span_batch import read_batch
from reranker.scoring.span_table import read_sentence, remembered_tags
from reranker.scoring.spans import KEPT_WORDS
from reranker.scoring.winner import WinnerSearch
from reranker.trees.linearize import is_word
from reranker.trees.tagged import with_tags
from tests.reranker.ensembles import CANDIDATES, untrained
from tests.reranker.scoring.one_by_one import score_one_by_one, score_spans_one_by_one
from tests.reranker.span_models import untrained_spans

SPANS = untrained_spans(1, minimum_tags=1)
TAGS, BACKWARD = untrained(2, reads_tags=True), untrained(3, reads_tags=True, backward=True)
WORDS = untrained(4)
MEMBERS: list[LoadedMember] = [WORDS, TAGS, SPANS, BACKWARD]
SHORT = ("(S1 (S (NP (PRP It)) (VP (VBD saw)) (. .)))", "(S1 (FRAG (PRP It) (VBD saw) (. .)))")
LONG = f"(S1 (S {'(NN man) ' * (KEPT_WORDS + 1)}(. .)))"
LISTS = [from_candidates(trees) for trees in (CANDIDATES, SHORT, [LONG], CANDIDATES[::-1])]


def tags_of(words: Sequence[str], spans: SpanCheckpoint = SPANS) -> tuple[str, ...]:
    table = read_sentence(spans.model, spans.vocabulary, tuple(words))
    return best_tags(words, table.tags, spans.vocabulary.tags)


def scores(members: list[LoadedMember], lists: list[NBest], threads: int = 1) -> list[list[Scored]]:
    """Score as if nothing had been read before."""
    span_table._memories.clear()
    return [found for _, found in Reranker(members, threads=threads).score_lists(lists)]


def test_the_words_are_replaced_by_the_span_models_tags() -> None:
    for nbest, found in zip(LISTS, scores(MEMBERS, LISTS), strict=True):
        for candidate, scored in zip(nbest.candidates, found, strict=True):
            tokens = candidate.tokens
            of_tags = with_tags(tokens, tags_of([*filter(is_word, tokens)]))
            expected = [
                score_spans_one_by_one(SPANS.model, SPANS.vocabulary, [tokens])
                if isinstance(member, SpanCheckpoint)
                else score_one_by_one(
                    member.model,
                    [member.vocabulary.encode(tokens if member is WORDS else of_tags)],
                    member.vocabulary.eos,
                )
                for member in MEMBERS
            ]
            assert scored.member_nll == pytest.approx([-float(each[0]) for each in expected])


def test_token_scores_stay_with_the_words() -> None:
    scorer = Scorer(Ensemble([TAGS, SPANS], "sum", Lanes(1)), True)
    ((first, *_),) = scorer.score([DistinctCandidates(LISTS[0])], Cancellation())
    tokens = LISTS[0].candidates[0].tokens
    assert first.token_scores is not None
    assert [token for token, _ in first.token_scores] == [*tokens, "<eos>"]
    ids = TAGS.vocabulary.encode(with_tags(tokens, tags_of([*filter(is_word, tokens)])))
    beginnings = [ids[:end] for end in range(1, len(ids) + 1)]
    totals = [0.0, *score_one_by_one(TAGS.model, beginnings, TAGS.vocabulary.eos)]
    steps = [float(total - before) for before, total in pairwise(totals)]
    assert [value for _, value in first.token_scores] == pytest.approx(steps, abs=1e-3)


def test_scores_depend_on_nothing_else() -> None:
    together = scores(MEMBERS, LISTS)
    assert scores(MEMBERS, LISTS, threads=2) == together
    assert scores(MEMBERS, LISTS[::-1])[::-1] == together
    assert [scores(MEMBERS, [nbest])[0] for nbest in LISTS] == together
    for nbest, expected in zip(LISTS[:2], together, strict=False):
        words = tuple(filter(is_word, nbest.candidates[0].tokens))
        span_table._memories.clear()
        read_sentence(SPANS.model, SPANS.vocabulary, words)
        assert [each for _, each in Reranker(MEMBERS).score_lists([nbest])] == [expected]


def test_the_tags_given_to_a_candidate_do_not_count() -> None:
    first, other = (scores([TAGS, SPANS], [LISTS[0]])[0][number] for number in (0, 3))
    assert (first.nll, other.duplicate_of) == (other.nll, 0)


def test_tags_of_sentences_that_a_gpu_has_read_together_are_kept() -> None:
    span_table._memories.clear()
    words = tuple(filter(is_word, LISTS[0].candidates[0].tokens))
    expected = read_sentence(SPANS.model, SPANS.vocabulary, words).tags
    span_table._memories.clear()
    assert remembered_tags(SPANS.model, words) is None
    [*read_batch(SPANS.model, SPANS.vocabulary, [words, words[:3]], 1.0, 2)]
    assert remembered_tags(SPANS.model, words) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("weighing", [Weighing(), Weighing(shortlist=3.0)])
@pytest.mark.parametrize("patience", [0, 1_000_000])
def test_the_best_are_those_of_all(
    weighing: Weighing, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reranker.scoring.winner.FEWEST", 2)
    monkeypatch.setattr(WinnerSearch, "_bounds_pay_off", True)  # the vocabularies are tiny
    ensemble = Ensemble(MEMBERS, "sum", Lanes(1))
    scorer, search = Scorer(ensemble, False), WinnerSearch(ensemble, patience)
    batch = [DistinctCandidates(nbest) for nbest in LISTS]
    span_table._memories.clear()
    best = search.score(batch, Cancellation(), scorer, weighing, 1)
    every = scorer.score(batch, Cancellation())
    for nbest, some, all_scores in zip(LISTS, best, every, strict=True):
        assert rank(nbest, some, weighing).cut(1) == rank(nbest, all_scores, weighing).cut(1)


def test_the_first_span_model_with_tags_gives_them() -> None:
    without, other = untrained_spans(5), untrained_spans(6, minimum_tags=1)
    first = scores([TAGS, SPANS], LISTS)
    both = scores([without, SPANS, other, TAGS], LISTS)
    swapped = scores([TAGS, other, SPANS], LISTS)
    nll = [[each.member_nll[0] for each in found] for found in first]
    assert [[each.member_nll[3] for each in found] for found in both] == nll
    assert [[each.member_nll[0] for each in found] for found in swapped] != nll


def test_a_tag_that_the_model_does_not_know_is_its_unknown_symbol() -> None:
    vocabulary = SPANS.vocabulary
    tags = [*vocabulary.tags[:-1], "("]  # no token, either
    odd = SpanVocabulary(
        vocabulary.words, vocabulary.vector_words, vocabulary.labels, vocabulary.spelling_rows,
        tags=tags,
    )  # fmt: skip
    spans = replace(SPANS, vocabulary=odd, model=untrained_spans(1, minimum_tags=1).model)
    found = scores([TAGS, spans], LISTS)
    assert [len(each) for each in found] == [len(nbest.candidates) for nbest in LISTS]


def test_no_word_is_unknown_to_a_model_of_tags() -> None:
    ensemble = Ensemble([TAGS, SPANS], "sum", Lanes(1))
    words = ["We", "zebra"]
    assert ensemble.unknown(words) == sum(map(SPANS.vocabulary.is_unknown, words))
    assert not TAGS.vocabulary.is_unknown("zebra")


def test_what_is_refused() -> None:
    foreign = SpanVocabulary((), (), (), 1, tags=["NOUN", "VERB", "NN"])
    refused: list[tuple[list[LoadedMember], str]] = [
        ([TAGS], "^model-2 reads tags: name a span model with tags as well$"),
        ([WORDS, TAGS, untrained_spans(5)], "^model-2 reads tags: name a span model with tags"),
        (
            [replace(SPANS, name="ud", vocabulary=foreign), TAGS],
            "^model-2 reads tags, but knows 1 of the 3 tags of ud: name a span model",
        ),
    ]
    for members, message in refused:
        with pytest.raises(RerankError, match=message):
            Ensemble(members, "sum", Lanes(1))
    alike: Checkpoint = replace(WORDS, name="alike", vocabulary=TAGS.vocabulary)
    with pytest.raises(RerankError, match=r"^alike and model-4 "):
        Ensemble([WORDS, alike], "average", Lanes(1))


def test_reading_tags_is_cancelled() -> None:
    span_table._memories.clear()
    ensemble, cancellation = Ensemble([TAGS, SPANS], "sum", Lanes(1)), Cancellation()
    cancellation.cancel()
    with pytest.raises(Stopped):
        ensemble.layouts([nbest.candidates[0].tokens for nbest in LISTS], cancellation)


def test_a_checkpoint_by_name(tmp_path: Path) -> None:
    from reranker.checkpoints.checkpoint import save_checkpoint

    save_checkpoint(tmp_path / "tags.pt", TAGS.model, TAGS.vocabulary, {})
    with pytest.raises(RerankError, match=r"^tags\.pt .*span model"):
        Reranker.load(tmp_path / "tags.pt")
