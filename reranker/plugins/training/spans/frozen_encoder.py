"""An encoder that training leaves as it is: it reads every sentence once."""

from __future__ import annotations

import torch
from torch import Tensor

from reranker.models.piece_encoder import PieceEncoder


class FrozenEncoder:
    """The outputs of ``encoder`` for sentences' pieces, remembered in bfloat16: 768 bytes a word of
    384 numbers."""

    def __init__(self, encoder: PieceEncoder) -> None:
        self._encoder = encoder.requires_grad_(False)
        self._known: dict[bytes, Tensor] = {}

    def __call__(self, pieces: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Run ``PieceEncoder.forward`` as in scoring, whatever ``dtype`` is: [T, B, size] from
        ``pieces`` [T, B, P]."""
        keys = [column.cpu().numpy().tobytes() for column in pieces.unbind(1)]
        new = [number for number, key in enumerate(keys) if key not in self._known]
        if new:
            is_training = self._encoder.training
            self._encoder.eval()
            with torch.no_grad():
                read = self._encoder(pieces[:, new]).to(torch.bfloat16)
            self._encoder.train(is_training)
            for number, column in zip(new, read.unbind(1), strict=True):
                self._known[keys[number]] = column.clone()
        return torch.stack([self._known[key] for key in keys], 1).to(torch.float32)
