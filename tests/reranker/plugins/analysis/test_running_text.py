"""Running text and passages: perplexity, averages, last words, ranks, against the obvious way."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.models import LanguageModel
from reranker.plugins.analysis.last_word import last_word, read_set
from reranker.plugins.analysis.mixture import mixture_weights
from reranker.plugins.analysis.rank import _singular_values, matrix_rank
from reranker.plugins.analysis.running_text import (
    RunningText,
    averaged,
    predicted_tokens,
    read_texts,
    text_log_probabilities,
    token_score_lines,
)
from reranker.text.running import CLOSING, OPENING, encoded, opening_id
from tests.models.settings import ONE_OF_EACH, SETTINGS, build
from tests.reranker.ensembles import untrained
from tests.reranker.plugins.analysis.known_models import (
    VOCABULARY,
    checkpoint,
    known_mixture,
    known_softmax,
)
from tests.reranker.small_files import write

LINES = [(OPENING,), ("the", "dog"), ("barks",), (CLOSING,), (OPENING,), ("the", "cat"), (CLOSING,)]
WORDS = Vocabulary.build(LINES, minimum_count=1)


def of_words(setting: str) -> Checkpoint:
    """Return a model of the setting's architecture with random weights."""
    return checkpoint(build(setting, replace(SETTINGS[setting], vocabulary_size=len(WORDS))), WORDS)


def one_by_one(model: LanguageModel, ids: list[int], opening: int) -> list[float]:
    """Compute log P of each id, a step at a time, from the start state again where an article
    opens."""
    state, read, values = model.initial_state(1), WORDS.eos, []
    for number in ids:
        if read == opening:
            state = model.initial_state(1)
        features, state = model.step(torch.tensor([read]), state)
        if number != opening:
            values.append(model.log_probabilities(features)[0, number].item())
        read = number
    return values


@pytest.mark.parametrize("setting", SETTINGS)
def test_log_probabilities_are_those_of_single_steps(setting: str) -> None:
    member, text = of_words(setting), RunningText("t", 3 * LINES)
    ids = [number for line in encoded(WORDS, text.lines) for number in line]
    expected = one_by_one(member.model, ids, opening_id(WORDS))
    found = text_log_probabilities(member, text)
    assert len(found) == predicted_tokens([text]) == 3 * (3 + 2 + 1 + 3 + 1)
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_probabilities_are_averaged_token_by_token() -> None:
    one, two = [np.log([0.5, 0.25])], [np.log([0.5, 0.75])]
    assert np.exp(averaged([one, two])[0]).tolist() == pytest.approx([0.5, 0.5])
    assert averaged([one])[0].tolist() == pytest.approx(one[0].tolist())


def test_a_line_of_scores_for_each_line_of_text() -> None:
    text = RunningText("t", [(OPENING,), ("a",), (), (CLOSING,)])
    values = [np.array([-1.5, -0.5, -2.0, -0.25])]
    assert [json.loads(line) for line in token_score_lines([text], values)] == [
        [],
        [["a", -1.5], ["<eos>", -0.5]],
        [["<eos>", -2.0]],
        [[CLOSING, -0.25]],
    ]


def test_a_backward_model_reads_no_text() -> None:
    backward = untrained(5, backward=True)
    with pytest.raises(InputError, match="backward"):
        text_log_probabilities(backward, RunningText("t", [("a",)]))
    with pytest.raises(InputError, match="m: a backward model"):
        last_word(backward, [], "m")


def test_mixture_weights_of_text() -> None:
    member = known_mixture((0.5, 0.3, 0.2), components=(1, 2))
    weights = mixture_weights(member, [RunningText("t", [("the", "dog"), ("barks",)])], "m")
    assert weights.summed == pytest.approx((2.5, 1.5, 1.0))  # the dog <eos> barks <eos>
    assert weights.tokens == {"words": 3, "opening": 0, "closing": 0, "end": 2}


@pytest.mark.parametrize("setting", ["awd-lstm-doc: softmax", "awd-lstm-doc: DOC"])
def test_ranks_of_text(setting: str) -> None:
    lines = [line for line in LINES if line[0] not in (OPENING, CLOSING)]
    member, text = of_words(setting), RunningText("t", 5 * lines)
    contexts = predicted_tokens([text])
    symbols = len(WORDS)
    whole = matrix_rank(member, [text], "m", None)
    assert (whole.contexts, whole.symbols) == (contexts, symbols)
    if setting.endswith("softmax"):
        assert whole.rank == whole.bound == 4 + 2  # D + 2
    else:
        assert whole.rank == whole.bound == symbols
    # With articles, every one begins with the same contexts again: of these, eight are different.
    articles = matrix_rank(member, [RunningText("t", 5 * LINES)], "m", None)
    assert (articles.contexts, articles.rank) == (50, min(8, whole.bound))
    assert matrix_rank(member, [text], "m", 3).contexts == 3
    assert matrix_rank(member, [text, text], "m", contexts + 2).contexts == contexts + 2


@pytest.mark.parametrize("sizes", [(3, 4), (30, 1, 25, 7), (100,), (20, 20)])
def test_singular_values_of_a_matrix_that_is_never_held(sizes: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    parts = [torch.randn(size, 9, dtype=torch.float64) @ torch.diag(
        torch.logspace(0, -13, 9, dtype=torch.float64)
    ) for size in sizes]  # fmt: skip
    count, values = _singular_values(iter(parts))
    expected = torch.linalg.svdvals(torch.cat(parts))
    assert count == sum(sizes)
    # Small ones too: to the rounding of the greatest, which the rank's tolerance allows.
    rounding = float(expected[0]) * 100 * torch.finfo(torch.float64).eps
    assert torch.allclose(values, expected, rtol=0, atol=rounding)


PASSAGES = "the dog barks the\nthe cat\n\nthe\nbarks the dog zebra\nthe dog"


@pytest.mark.parametrize("setting", ONE_OF_EACH)
def test_last_words_are_those_of_passages_read_alone(setting: str, tmp_path: Path) -> None:
    member = of_words(setting)
    one = read_set(Path(write(tmp_path / "p.txt", PASSAGES)), "p.txt")
    assert [str(each).partition(":")[2] for each in one.refused] == [
        "4: left out: one word, with nothing before it"
    ]
    correct, nll, whole = 0, 0.0, 0.0
    for text in ("the dog barks the", "the cat", "barks the dog zebra", "the dog"):
        ids = WORDS.encode(text.split())
        values = one_by_one(member.model, ids, -1)
        whole -= sum(values)
        nll -= values[-2]
        state = member.model.initial_state(1)
        inputs = torch.tensor([[WORDS.eos], *([number] for number in ids[:-2])])
        features, _ = member.model(inputs, state)
        guess = member.model.log_probabilities(features)[-1, 0].argmax().item()
        correct += guess == ids[-2] and not text.endswith("zebra")
    found = last_word(member, one.passages, "m")
    assert (found.passages, found.correct, found.unknown, found.tokens) == (4, correct, 1, 16)
    assert found.nll == pytest.approx(nll, abs=1e-4)
    assert found.whole_nll == pytest.approx(whole, abs=1e-4)
    assert found.perplexity == pytest.approx(math.exp(nll / 4), rel=1e-4)


def test_a_word_outside_the_vocabulary_is_never_guessed(tmp_path: Path) -> None:
    member = known_softmax()
    member.model.decoder_bias[VOCABULARY.encode(("zebra",))[0]] += 5  # <unk> is most probable
    one = read_set(Path(write(tmp_path / "p.txt", "the zebra\nthe dog\n")), "p")
    found = last_word(member, one.passages, "m")
    assert (found.correct, found.unknown) == (0, 1)
    member.model.decoder_bias[VOCABULARY.encode(("dog",))[0]] += 9
    assert last_word(member, one.passages, "m").correct == 1


def test_files_without_passages(tmp_path: Path) -> None:
    file = Path(write(tmp_path / "p.txt", b"\xff the\n\n"))
    with pytest.raises(InputError, match=r":1: .*byte 0xff"):
        read_set(file, "p")


def test_names_of_texts_differ(tmp_path: Path) -> None:
    paths = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths.append(Path(write(tmp_path / folder / "t.txt", "the\n")))
    assert [text.name for text in read_texts(paths)] == list(map(str, paths))
    assert [text.name for text in read_texts(paths[:1])] == ["t.txt"]
