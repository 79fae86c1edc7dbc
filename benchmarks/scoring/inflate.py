"""A trained model blown up to the paper's size: its behaviour, the paper's cost.

    python -m benchmarks.scoring.inflate ckpt/doc/doc-forward.pt paper-size.tmp

Units are added that are always 0, symbols that never come, and components are repeated, so it still
says nearly what the small model says (repeated components count more in the mixture). What a search
for the winner may leave out depends on a model's training, which random weights lack.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.scoring.setting import PAPER, resized
from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.models import AwdLstmDoc

NEVER = -50.0  # the logit of a symbol that never comes


def inflated(small: AwdLstmDoc) -> AwdLstmDoc:
    """The model at the sizes of Takase et al. 2018, Table 2."""
    large = AwdLstmDoc(PAPER)
    counts = list(zip(small.config.components, large.config.components, strict=True))
    if any((few == 0) != (many == 0) for few, many in counts):
        raise ValueError("components of the second and the last layer are needed")
    assert small.mixture_weights is not None and large.mixture_weights is not None
    with torch.no_grad():
        for parameter in large.parameters():
            parameter.zero_()
        _put(large.embedding, small.embedding)
        large.decoder_bias.fill_(NEVER)
        _put(large.decoder_bias, small.decoder_bias)
        for target, source in zip(
            large.layers.parameters(), small.layers.parameters(), strict=True
        ):
            for gate, given in zip(target.chunk(4), source.chunk(4), strict=True):
                _put(gate, given)
        mixture: list[Tensor] = []
        rows = iter(small.mixture_weights.weight)
        for layer, (few, many) in enumerate(counts):
            if not few:
                continue
            own = list(islice(rows, few))
            mixture += [own[number % few] for number in range(many)]
            projections = small.projections[str(layer)], large.projections[str(layer)]
            for source, target in zip(*(each.parameters() for each in projections), strict=True):
                for number, part in enumerate(target.chunk(many)):
                    _put(part, source.chunk(few)[number % few])
        _put(large.mixture_weights.weight, torch.stack(mixture))
    return large


def _put(target: Tensor, source: Tensor) -> None:
    """Into the corner of the larger one."""
    target[tuple(slice(0, size) for size in source.shape)] = source


def main(source: str, target: str) -> None:
    checkpoint = load_checkpoint(Path(source))
    assert isinstance(checkpoint.model, AwdLstmDoc)
    vocabulary = resized(checkpoint.vocabulary, PAPER.vocabulary_size)
    save_checkpoint(Path(target), inflated(checkpoint.model), vocabulary, {}, torch.float32)


if __name__ == "__main__":
    main(*sys.argv[1:])
