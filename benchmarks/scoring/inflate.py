"""A trained model blown up to the paper's size: its behaviour, the paper's cost.

    python -m benchmarks.scoring.inflate ckpt/doc-forward.pt paper-size.tmp

Units are added that are always 0, symbols that never come, and components are repeated, so it goes
on saying nearly what the small model says (repeated components count more in the mixture). What a
search for the winner may leave out depends on a model's training, which random weights lack.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.models import AwdLstmDoc, Config

VOCABULARY_SIZE = 6_922
NEVER = -50.0  # the logit of a symbol that never comes


def inflated(small: AwdLstmDoc) -> AwdLstmDoc:
    """The model at the sizes of Takase et al. 2018, Table 2."""
    config = Config(VOCABULARY_SIZE)
    before = small.config
    large = AwdLstmDoc(config)
    with torch.no_grad():
        for parameter in large.parameters():
            parameter.zero_()
        _put(large.embedding, small.embedding)
        large.decoder_bias.fill_(NEVER)
        _put(large.decoder_bias, small.decoder_bias)
        for weight, given in zip(large.layers.parameters(), small.layers.parameters(), strict=True):
            for gate, mine in zip(weight.chunk(4), given.chunk(4), strict=True):
                _put(gate, mine)
        mixture: list[Tensor] = []
        start = 0
        assert small.mixture_weights is not None and large.mixture_weights is not None
        for layer, (has, wanted) in enumerate(
            zip(before.components, config.components, strict=True)
        ):
            if (has == 0) != (wanted == 0):
                raise ValueError("components of the second and the last layer are needed")
            if not has:
                continue
            source, target = small.projections[str(layer)], large.projections[str(layer)]
            for given, after in zip(source.parameters(), target.parameters(), strict=True):
                parts = given.chunk(has)
                for number, part in enumerate(after.chunk(wanted)):
                    _put(part, parts[number % has])
            rows = small.mixture_weights.weight[start : start + has]
            mixture += [rows[number % has] for number in range(wanted)]
            start += has
        _put(large.mixture_weights.weight, torch.stack(mixture))
    return large


def _put(target: Tensor, source: Tensor) -> None:
    """Into the corner of the larger one."""
    target[tuple(slice(0, size) for size in source.shape)] = source


def main(source: str, target: str) -> None:
    checkpoint = load_checkpoint(Path(source))
    model = checkpoint.model
    assert isinstance(model, AwdLstmDoc)
    small = checkpoint.vocabulary
    more = [f"<unused-{number}>" for number in range(VOCABULARY_SIZE - len(small))]
    vocabulary = Vocabulary([*small.symbols, *more], small.classes, small.backward)
    save_checkpoint(Path(target), inflated(model), vocabulary, {}, torch.float32)


if __name__ == "__main__":
    main(*sys.argv[1:])
