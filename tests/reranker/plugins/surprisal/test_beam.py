from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.errors import InputError, RerankError
from reranker.plugins.surprisal.beam import MOST_WORDS, Beam, Step, Width
from reranker.plugins.surprisal.forward import ForwardModels
from reranker.plugins.surprisal.sentence import read_sentence
from reranker.plugins.surprisal.spelling import Spelling
from reranker.process.cancellation import Cancellation, Stopped
from tests.reranker.ensembles import untrained
from tests.reranker.plugins.surprisal.toy import (
    ALL,
    SENTENCE,
    checkpoint,
    log_probabilities,
    prefixes,
    trees,
)
from tests.reranker.span_models import untrained_spans


def read(
    models: ForwardModels, words: Sequence[str], width: Width = ALL
) -> tuple[Beam, list[Step]]:
    beam = Beam(models, width)
    steps = [beam.read(token) for token in models.vocabulary.encode(words)[:-1]]
    return beam, [*steps, beam.end()]


def enumerated(members: Sequence[Checkpoint], words: Sequence[str]) -> float:
    return float(np.logaddexp.reduce(log_probabilities(members, [*prefixes(words)])))


MODELS = {
    "doc": [checkpoint(1)],
    "rnn-n": [checkpoint(2, "rnn-n")],
    "average": [checkpoint(1), checkpoint(2, "rnn-n")],
}


@pytest.mark.parametrize("members", MODELS.values(), ids=MODELS)
def test_a_beam_that_keeps_everything_has_the_sums_of_full_enumeration(
    members: list[Checkpoint],
) -> None:
    beam, steps = read(ForwardModels(members), SENTENCE)
    for number, step in enumerate(steps[:-1], 1):
        expected = sorted(prefixes(SENTENCE[:number]))
        kept = sorted(tuple(beam.history.tokens(row, SENTENCE)) for row in step.rows.tolist())
        assert kept == expected
        assert step.total == pytest.approx(enumerated(members, SENTENCE[:number]), abs=1e-5)
    found = [tuple(beam.history.tokens(row, SENTENCE)) for row in steps[-1].rows.tolist()]
    assert set(found) == set(trees(SENTENCE))
    expected_scores = log_probabilities(members, found, is_the_end)
    assert steps[-1].scores.tolist() == pytest.approx(expected_scores, abs=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_sums_never_exceed_the_prefix_probability_and_rise_to_it(seed: int) -> None:
    members = [checkpoint(seed)]
    models = ForwardModels(members)
    expected = [enumerated(members, SENTENCE[:number]) for number in (1, 2, 3)]
    before = [-math.inf] * 3
    for words in (1, 3, 10, 30, 100, 1500):
        width = Width(words, 20 * words, openings=2, depth=2)
        totals = [step.total for step in read(models, SENTENCE, width)[1][:3]]
        assert all(total <= most + 1e-6 for total, most in zip(totals, expected, strict=True))
        assert all(total >= less - 1e-9 for total, less in zip(totals, before, strict=True))
        before = totals
    assert before == pytest.approx(expected, abs=1e-5)


def test_words_are_a_distribution() -> None:
    """The probabilities of all possible next words sum to 1 minus those of the brackets and the
    end."""
    member = checkpoint(4)
    models = ForwardModels([member])
    memory = models.memory()
    reading = models.read(memory, np.zeros(1, np.int64), np.array([member.vocabulary.eos]), 0)
    words = [place for place, each in enumerate(member.vocabulary.symbols) if is_a_word(each)]
    probabilities = [
        models.read(models.memory(), np.zeros(1, np.int64), np.array([member.vocabulary.eos]), word)
        for word in words
    ]
    total = sum(math.exp(each.word[0]) for each in probabilities)
    assert total == pytest.approx(math.exp(reading.any_word[0]), abs=1e-6)


def test_the_parts_of_surprisal_sum_to_it_and_all_of_them_to_the_sentence() -> None:
    models = ForwardModels([checkpoint(1)])
    measures = read_sentence(models, Spelling(models.vocabulary), SENTENCE, ALL)
    for word in measures.words:
        assert word.surprisal == pytest.approx(word.syntactic + word.lexical)
        assert word.syntactic >= 0 and word.lexical >= 0 and word.entropy >= 0
    everything = np.logaddexp.reduce([score for _, score in measures.trees])
    assert measures.surprisal == pytest.approx(-everything)
    # Worked out for the first word, from all prefixes: P(tree | word) and P(tree before it).
    firsts = [*prefixes(SENTENCE[:1])]
    members = [checkpoint(1)]
    joint = np.array(log_probabilities(members, firsts))
    prior = np.array(log_probabilities(members, [each[:-1] for each in firsts], is_a_word))
    posterior = joint - np.logaddexp.reduce(joint)
    divergence = float(np.exp(posterior) @ (posterior - prior))
    assert measures.words[0].syntactic == pytest.approx(divergence, abs=1e-5)


def is_the_end(symbol: str) -> bool:
    return symbol == "<eos>"


def is_a_word(symbol: str) -> bool:
    return symbol[0] not in "()" and symbol != "<eos>"


def test_brackets_are_counted_where_they_are() -> None:
    models = ForwardModels([checkpoint(1)])
    measures = read_sentence(models, Spelling(models.vocabulary), SENTENCE, Width(1, depth=2))
    ((tokens, _),) = measures.trees
    position, opened, closed = -1, [0, 0, 0], [0, 0, 0]
    for token in tokens:
        if token[0] == "(":
            opened[position + 1] += 1
        elif token[0] == ")":
            closed[position] += 1
        else:
            position += 1
    # With a beam of one tree, means are that tree's counts, if it was the best one throughout.
    assert [word.opened for word in measures.words] == opened
    assert [word.closed for word in measures.words] == closed
    still_open = np.cumsum(opened) - np.cumsum([0, *closed[:-1]])
    assert [word.open for word in measures.words] == still_open.tolist()
    assert [word.entropy for word in measures.words] == [0, 0, 0]


def test_bounds_hold() -> None:
    models = ForwardModels([checkpoint(1)])
    words = SENTENCE * 10
    beam, steps = read(models, words, Width(20, openings=3, depth=4))
    for step in steps[:-1]:
        assert len(step.rows) <= 20
        assert step.opened.max() <= 3 and step.closed.max() <= 4
        assert beam.history.depth[step.rows].max() <= 4
    assert steps[-1].closed.max() <= 4


@pytest.mark.parametrize("words", [0, -1, MOST_WORDS + 1, 2.5, "100"])
def test_a_beam_has_a_reasonable_width(words: object) -> None:
    with pytest.raises(InputError, match=r"beam .*2,000"):
        Width(words)  # type: ignore[arg-type]


def test_models_that_see_what_is_to_come_are_refused_by_name() -> None:
    with pytest.raises(RerankError, match=r"model-7 .*from the end"):
        ForwardModels([checkpoint(7, backward=True)])
    with pytest.raises(RerankError, match=r"model-7 .*tags"):
        ForwardModels([untrained(7, reads_tags=True)])
    with pytest.raises(RerankError, match="spans-1 is a span model"):
        ForwardModels([untrained_spans(1)])
    with pytest.raises(RerankError, match="at least one"):
        ForwardModels([])


def test_a_cancelled_sentence_stops() -> None:
    cancellation = Cancellation()
    models = ForwardModels([checkpoint(1)])
    beam = Beam(models, ALL, cancellation)
    cancellation.cancel()
    with pytest.raises(Stopped):
        beam.read(0)


def test_logits_beyond_the_range_of_their_sum_are_normalised_all_the_same() -> None:
    member = checkpoint(1)
    expected = [step.total for step in read(ForwardModels([member]), SENTENCE, Width(5))[1]]
    member.model.decoder_bias.add_(80)  # e ** 80 is beyond 10 ** 20; probabilities stay
    totals = [step.total for step in read(ForwardModels([member]), SENTENCE, Width(5))[1]]
    assert totals == pytest.approx(expected, abs=1e-3)
