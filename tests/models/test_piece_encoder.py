"""The encoder of word pieces against BERT written out, alone and in batches."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from reranker.models import products
from reranker.models.piece_encoder import PieceConfig, PieceEncoder, windows
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from tests.models.bert import slowly, write_encoder

CONFIG = PieceConfig(9, size=6, inner_size=8, layers=2, heads=2, positions=12, per_word=3)


def build(config: PieceConfig = CONFIG) -> PieceEncoder:
    torch.manual_seed(1)
    encoder = PieceEncoder(config)
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return encoder.eval()


def words(count: int, seed: int) -> Tensor:
    """Return pieces of ``count`` words, [T, 1, 3], one to three each."""
    generator = torch.Generator().manual_seed(seed)
    pieces = torch.randint(0, 9, (count, 1, 3), generator=generator)
    for word, length in enumerate(torch.randint(1, 4, (count,), generator=generator).tolist()):
        pieces[word, 0, length:] = -1
    return pieces


def test_each_word_is_read_at_its_last_piece_as_bert_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = write_encoder(tmp_path / "bert", ["a", "##b", "c"])
    read = PretrainedEncoder.read(tmp_path / "bert")
    encoder = PieceEncoder(read.config)
    encoder.load_state_dict(read.weights)
    encoder.eval()
    given = [[2], [5, 6, 6], [7], [5, 6], [3]]
    expected = slowly(weights, [row for rows in given for row in rows])[[0, 3, 4, 6, 7]]
    padded = [rows + [-1] * (8 - len(rows)) for rows in given]
    pieces = torch.tensor(padded).unsqueeze(1)
    assert torch.allclose(encoder(pieces)[:, 0], expected, atol=1e-5)
    encoder.requires_grad_(False)
    with torch.inference_mode():
        assert torch.allclose(encoder(pieces)[:, 0], expected, atol=1e-5)
        monkeypatch.setattr(products, "use_one_dnn", False)
        assert torch.allclose(encoder(pieces)[:, 0], expected, atol=1e-5)


def test_mpnet_is_read_as_its_own_library_reads_it(tmp_path: Path) -> None:
    from transformers import MPNetConfig, MPNetModel

    names = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "[CLS]", "[SEP]", "a", "##b", "c", "<mask>"]
    torch.manual_seed(3)
    theirs = MPNetModel(
        MPNetConfig(
            len(names), 12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=24,
            max_position_embeddings=300, initializer_range=0.8, layer_norm_eps=1e-5,
        )
    ).eval()  # fmt: skip
    theirs.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(names))
    read = PretrainedEncoder.read(tmp_path)
    encoder = PieceEncoder(read.config)
    encoder.load_state_dict(read.weights)
    encoder.eval()
    words = ["c", "ab", "a", "?", *["ab"] * 110]  # farther apart than distances are told apart
    pieces = read.pieces
    given = [pieces.special(pieces.start), *map(pieces.rows, words), pieces.special(pieces.end)]
    counts = [sum(row >= 0 for row in rows) for rows in given]
    flat = [row for rows in given for row in rows if row >= 0]
    assert flat[:7] == [0, 9, 7, 8, 7, 4, 7] and flat[-1] == 2
    with torch.inference_mode():
        expected = theirs(torch.tensor([flat])).last_hidden_state[0]
    expected = expected[torch.tensor(counts).cumsum(0) - 1]
    column = torch.tensor(given).unsqueeze(1)
    assert torch.allclose(encoder(column)[:, 0], expected, atol=1e-5)
    shorter = torch.cat([column[:60], torch.full_like(column[60:], -1)])
    together = encoder(torch.cat([column, shorter], 1))
    assert torch.allclose(together[:, 0], expected, atol=1e-5)
    assert torch.allclose(together[:60, 1], encoder(column[:60])[:, 0], atol=1e-5)
    encoder.requires_grad_(False)
    with torch.inference_mode():
        assert torch.allclose(encoder(column)[:, 0], expected, atol=1e-5)


def test_a_sentence_is_read_in_a_batch_as_alone() -> None:
    encoder, sentences = build(), [words(4, seed) for seed in range(5)]
    assert len({int((each >= 0).sum()) for each in sentences}) > 1, "all are of one length"
    together = encoder(torch.cat(sentences, dim=1))
    for column, alone in enumerate(sentences):
        assert torch.allclose(together[:, column], encoder(alone)[:, 0], atol=1e-5)


def test_with_8_bits_nearly_as_in_float32_and_the_same_in_a_group() -> None:
    """Three of a layer's four weights are large enough."""
    config = replace(CONFIG, size=320, inner_size=960, heads=4)
    encoder = build(config).requires_grad_(False)
    for name, weight in encoder.named_parameters():
        if name.startswith("layers.") and weight.dim() == 2:
            integers = (weight / weight.abs().amax(1, keepdim=True) * 127).round()
            weight.copy_(integers * 0.0003)
    sentences = [words(count, seed) for seed, count in enumerate((3, 4, 2, 4, 1))]
    with torch.inference_mode():
        exact = [encoder(each) for each in sentences]
        encoder.round_products()
        alone = [encoder(each) for each in sentences]
        together = encoder.each(sentences)
    works = products.eight_bits_work()
    used = [[each is not None for each in layer] for layer in encoder.rounded]
    assert used == [[works, False, works, works]] * 2
    for one, same, other in zip(alone, together, exact, strict=True):
        assert torch.equal(one, same) and torch.equal(one, other) is not works
        assert (one - other).abs().max() < 1e-3 < other.abs().max()
    with torch.enable_grad():
        assert torch.allclose(encoder(sentences[0]), exact[0], atol=1e-6)
    copied = copy.deepcopy(encoder)
    with torch.inference_mode():
        assert all(
            torch.equal(copied(each), other) for each, other in zip(sentences, exact, strict=True)
        )


def test_in_scoring_too_and_alone_the_same_to_the_last_bit_whatever_came_before() -> None:
    encoder, sentences = build().requires_grad_(False), [words(4, seed) for seed in range(5)]
    with torch.inference_mode():
        together = encoder(torch.cat(sentences, dim=1))
        alone = [encoder(each) for each in sentences]
        for number in (3, 1, 4, 0, 2, 2):
            assert torch.equal(encoder(sentences[number]), alone[number])
            assert torch.allclose(together[:, number], alone[number][:, 0], atol=1e-5)


def test_what_does_not_fit_the_positions_is_read_in_windows_that_overlap() -> None:
    encoder, sentence, other = build(), words(20, 1), words(20, 2)
    assert min(int((each >= 0).sum()) for each in (sentence, other)) > 24
    found = encoder(sentence)
    assert found.shape == (20, 1, 6)
    counts = (sentence >= 0).sum((1, 2)).tolist()
    for start, end, first, last in windows(counts, CONFIG.positions):
        alone = encoder(sentence[start:end])[first - start : last - start]
        assert torch.allclose(found[first:last], alone, atol=1e-5)
    together = encoder(torch.cat([other, sentence], 1))
    assert torch.allclose(together[:, 1:], found, atol=1e-5)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=40), st.integers(3, 12))
def test_windows(counts: list[int], positions: int) -> None:
    """Every word is taken once, and as far from both ends of its window as half of what the
    neighbouring windows share."""
    chosen = list(windows(counts, positions))
    assert [word for _, _, first, last in chosen for word in range(first, last)] == [
        *range(len(counts))
    ]
    for start, end, first, last in chosen:
        assert start <= first <= last <= end and sum(counts[start:end]) <= positions
    for (_, end, _, last), (start, _, first, _) in pairwise(chosen):
        assert first == last and abs((end - last) - (first - start)) <= 1


def test_dropout_is_for_training_only() -> None:
    encoder, sentence = build(replace(CONFIG, dropout=0.5)), words(4, 1)
    assert torch.equal(encoder(sentence), build(replace(CONFIG, dropout=0.0))(sentence))
    encoder.train()
    assert not torch.equal(encoder(sentence), encoder(sentence))


def test_everything_learns_and_bfloat16_is_near() -> None:
    encoder, sentence = build(replace(CONFIG, dropout=0.0)).train(), words(5, 2)
    direction = torch.randn(6, generator=torch.Generator().manual_seed(1))
    exact = encoder(sentence)
    (exact @ direction).sum().backward()
    for name, weight in encoder.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
    rough = encoder(sentence, torch.bfloat16).float()
    assert torch.allclose(rough, exact, atol=0.2) and not torch.equal(rough, exact)


@pytest.mark.parametrize(
    "wrong",
    [
        {"piece_count": 0},
        {"size": 5},
        {"layers": 1_000},
        {"size": 1_000_000},
        {"positions": 2},
        {"dropout": 1.0},
        {"inner_size": 1.5},
        {"distance_classes": 30},
    ],
)
def test_settings_that_make_no_encoder(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        replace(CONFIG, **wrong)
