"""An encoder that training leaves as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from reranker.models.piece_encoder import PieceConfig, PieceEncoder
from reranker.plugins.training.loop.train import train
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.plugins.training.spans.frozen_encoder import FrozenEncoder
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from reranker.plugins.training.spans.run import SpanRun
from reranker.trees.linearize import linearize_tagged
from reranker.trees.tree import Tree
from tests.models.bert import write_encoder

CONFIG = PieceConfig(9, size=6, inner_size=8, layers=2, heads=2, positions=12, per_word=2)
TREES = [
    linearize_tagged(Tree.from_string(text))
    for text in (
        "(TOP (S (NP (DT the) (NN dog)) (VP (VB walk))))",
        "(TOP (S (NP (DT the) (NN cat)) (VP (VB walk))))",
    )
]


def test_it_reads_a_sentence_once() -> None:
    torch.manual_seed(1)
    encoder = PieceEncoder(CONFIG)
    pieces = torch.tensor([[[1, -1], [2, -1]], [[3, 4], [5, -1]]])  # [T, B, P]
    frozen = FrozenEncoder(encoder.train())
    first = frozen(pieces)
    with torch.no_grad():
        expected = encoder.eval()(pieces)
        assert torch.allclose(first, expected, atol=2e-2), "remembered in bfloat16"
        for weight in encoder.parameters():
            weight.zero_()
    assert torch.equal(frozen(pieces.flip(1)), first.flip(1)), "in any batch"
    assert not any(weight.requires_grad for weight in encoder.parameters())


def test_training_leaves_it_as_it_is(tmp_path: Path) -> None:
    write_encoder(tmp_path / "bert", ["the", "dog", "cat", "walk"])
    encoder = PretrainedEncoder.read(tmp_path / "bert")
    settings = {"hidden_sizes": [6], "spelling_rows": 16}
    config = SpanTrainingConfig(epochs=3, encoder_rate=0.0, minimum_count=1, model=settings)
    moving = SpanRun(replace(config, encoder_rate=1.0), TREES, TREES, encoder=encoder)
    frozen = SpanRun(config, TREES, TREES, encoder=encoder)
    before = moving.dev_perplexity()
    assert abs(frozen.dev_perplexity() - before) < 0.02 * before
    for run, is_moved in ((frozen, False), (moving, True)):
        assert run.model.encoder is not None
        start = run.model.encoder.embedding.clone()
        train(run, tmp_path / "spans.pt", tmp_path / str(is_moved))
        assert torch.equal(run.model.encoder.embedding, start) is not is_moved
