"""The output of ``rerank analyse`` about attention, for models whose weights are known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.plugins.analysis.attention import (
    AttentionWindow,
    attention_at,
    attention_by_position,
    random_places,
    window_of,
)
from reranker.plugins.analysis.example import predict
from tests.models.settings import SETTINGS, build
from tests.reranker.plugins.analysis.known_models import (
    THE_DOG,
    THE_DOG_BARKS,
    VOCABULARY,
    checkpoint,
    even_attention,
    known_memory,
    known_softmax,
    trees,
)


def test_what_models_attend_to() -> None:
    assert window_of(known_memory((0.1, 0.2, 0.7))) == AttentionWindow(3, 0)
    assert list(AttentionWindow(3, 0).steps_back) == [2, 1, 0]
    assert window_of(even_attention(4)) == AttentionWindow(4, 1)
    assert list(AttentionWindow(4, 1).steps_back) == [4, 3, 2, 1]
    for setting in SETTINGS:
        member = checkpoint(build(setting))
        attends = setting.split(":")[0] not in ("awd-lstm-doc", "rnn-n", "lstmn")
        assert (window_of(member) is not None) == attends, setting


def test_attention_by_position_of_known_weights() -> None:
    some = trees(THE_DOG, THE_DOG_BARKS)
    # RM's window of 3 is full from the third of 5 and of 6 tokens on: 3 + 4.
    window, weights, tokens = attention_by_position(known_memory((0.1, 0.2, 0.7)), some, "m")
    assert (window, tokens) == (AttentionWindow(3, 0), 7)
    assert weights == pytest.approx({2: 0.1, 1: 0.2, 0: 0.7}, abs=1e-6)
    # Attention sees the outputs before: its window of 4 is full from the fifth on: 1 + 2.
    window, weights, tokens = attention_by_position(even_attention(4), some, "m")
    assert (window, tokens) == (AttentionWindow(4, 1), 3)
    assert weights == pytest.approx(dict.fromkeys((4, 3, 2, 1), 0.25))
    with pytest.raises(InputError, match=r"m: .*20"):
        attention_by_position(even_attention(20), some, "m")
    with pytest.raises(InputError, match="awd-lstm-doc has no attention"):
        attention_by_position(known_softmax(), some, "m")


def test_attention_at_random_tokens() -> None:
    some = trees(THE_DOG, THE_DOG_BARKS)
    windows = [AttentionWindow(3, 0), AttentionWindow(4, 1)]
    full = [(0, 4), (1, 4), (1, 5)]  # where both windows are
    assert random_places(some, windows, 70, seed=0) == full
    drawn = {tuple(random_places(some, windows, 2, seed)) for seed in range(50)}
    assert drawn == {(full[0], full[1]), (full[0], full[2]), (full[1], full[2])}
    rows = attention_at(known_memory((0.1, 0.2, 0.7)), some, full)
    assert [row.token for row in rows] == ["<eos>", ")NP", "<eos>"]
    for row in rows:
        assert row.weights == pytest.approx((0.1, 0.2, 0.7), abs=1e-6)
    with pytest.raises(InputError, match="6 tokens"):
        random_places(some, [AttentionWindow(6, 1)], 1, seed=0)


def test_an_example_by_hand() -> None:
    (tree,) = trees(THE_DOG_BARKS)
    memory = known_memory((0.1, 0.2, 0.7))
    barks = predict(memory, tree, 3, "m")
    assert barks.symbol == "barks"
    assert barks.perplexity == pytest.approx(16.0)
    assert barks.attention == pytest.approx({0: 0.1, 1: 0.2, 2: 0.7}, abs=1e-6)
    symbols = [symbol for symbol, _ in barks.top]
    assert symbols[0] == "(NP" and set(symbols[1:]) <= {"<eos>", ")NP", "the", "<unk>"}
    assert [value for _, value in barks.top] == pytest.approx(
        [math.log(1 / 4)] + [math.log(1 / 8)] * 4
    )
    # When "the" comes next, <eos> and (NP have been read; the oldest place is empty.
    the = predict(memory, tree, 1, "m")
    assert the.attention == pytest.approx({-1: 0.2 / 0.9, 0: 0.7 / 0.9}, abs=1e-6)
    # Attention sees outputs before the last one: of <eos> alone, here.
    assert predict(even_attention(4), tree, 1, "m").attention == pytest.approx({-1: 1.0})
    assert predict(known_softmax(), tree, 5, "m").symbol == "<eos>"
    assert predict(known_softmax(), tree, 1, "m").attention is None
    with pytest.raises(InputError, match=r"no token 7; its tokens are 1:\(NP 2:The .* 6:<eos>"):
        predict(memory, tree, 6, "m")


def backward(member: Checkpoint) -> Checkpoint:
    return replace(member, vocabulary=Vocabulary(VOCABULARY.symbols, backward=True))


def test_a_backward_model_is_shown_what_it_reads_in_its_order() -> None:
    some = trees(THE_DOG, THE_DOG_BARKS)
    memory = backward(known_memory((0.1, 0.2, 0.7)))
    # )NP dog the (NP <eos> and )NP barks dog the (NP <eos>
    rows = attention_at(memory, some, [(0, 2), (0, 4), (1, 2), (1, 4)])
    assert [row.token for row in rows] == ["The", "<eos>", "dog", "(NP"]
    dog = predict(memory, some[1], 2, "m")
    assert dog.symbol == "dog"
    assert dog.attention == pytest.approx({-1: 0.1, 0: 0.2, 1: 0.7}, abs=1e-6)
    with pytest.raises(InputError, match=r"no token 7; its tokens are 1:\)NP 2:barks .* 6:<eos>"):
        predict(memory, some[1], 6, "m")
