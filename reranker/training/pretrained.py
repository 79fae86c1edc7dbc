"""An encoder pretrained on plain text, in the form in which BERT's family is published: a folder
with ``config.json``, ``vocab.txt`` and ``model.safetensors``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reranker.checkpoints.word_pieces import WordPieces
from reranker.errors import InputError
from reranker.models.piece_encoder import PieceConfig, PieceEncoder

_NAMES = {
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}
_SETTINGS = {
    "piece_count": "vocab_size",
    "size": "hidden_size",
    "inner_size": "intermediate_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
}
_POSITIONS = 256  # of a treebank's sentences few need more


@dataclass(frozen=True, slots=True)
class PretrainedEncoder:
    """The encoder's sizes, its pieces, and the weights of a ``PieceEncoder``."""

    config: PieceConfig
    pieces: WordPieces
    weights: dict[str, Tensor]

    @classmethod
    def read(cls, folder: Path) -> PretrainedEncoder:
        """Read an encoder. Raises InputError, naming the file, for a missing or unsuitable one."""
        config = _config(folder / "config.json")
        path = folder / "vocab.txt"
        try:
            pieces = WordPieces(path.read_text("utf-8").splitlines(), config.per_word)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{path}: not a list of word pieces ({error})") from error
        if len(pieces.pieces) != config.piece_count:
            raise InputError(
                f"{path}: {len(pieces.pieces)} pieces, but config.json says {config.piece_count}"
            )
        return cls(config, pieces, _weights(folder / "model.safetensors", config))

    def with_pieces_of(self, words: Iterable[str], most: int) -> PretrainedEncoder:
        """The encoder with at most ``most`` of its pieces: those of ``words``, then the first of
        the others, which are the most frequent."""
        needed = {row for word in set(words) for row in self.pieces.rows(word)}
        single = (row for row, piece in enumerate(self.pieces.pieces) if len(piece.lstrip("#")) < 2)
        needed.update(single)  # so that nearly every word still has pieces
        ranked = sorted(
            range(self.config.piece_count),
            key=lambda row: (not self.pieces.pieces[row].startswith("["), row not in needed, row),
        )
        kept = sorted(ranked[:most])
        return PretrainedEncoder(
            replace(self.config, piece_count=len(kept)),
            WordPieces([self.pieces.pieces[row] for row in kept], self.config.per_word),
            {**self.weights, "embedding": self.weights["embedding"][kept]},
        )


def _config(path: Path) -> PieceConfig:
    try:
        read = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    settings: dict[str, Any] = read if isinstance(read, dict) else {}
    kind = settings.get("model_type")
    if kind != "bert" or settings.get("hidden_act") != "gelu":
        raise InputError(f"{path}: not an encoder of BERT's kind (model_type {kind!r:.40})")
    try:
        return PieceConfig(
            **{ours: settings[theirs] for ours, theirs in _SETTINGS.items()},
            positions=min(_POSITIONS, settings["max_position_embeddings"]),
            dropout=settings.get("hidden_dropout_prob", 0.1),
        )
    except KeyError as error:
        raise InputError(f"{path}: {error.args[0]} is missing") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error


def _weights(path: Path, config: PieceConfig) -> dict[str, Tensor]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise InputError(
            f"{path}: reading it needs safetensors; install it with "
            "`pip install 'parse-reranker[train]'`"
        ) from error
    try:
        read = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    theirs = {name.removeprefix("bert."): weight.float() for name, weight in read.items()}
    try:
        weights = _renamed(theirs, config)
    except KeyError as error:
        raise InputError(f"{path}: the weights {error} are missing") from error
    with torch.device("meta"):
        expected = PieceEncoder(config).state_dict()
    for name, weight in expected.items():
        if weights[name].shape != weight.shape:
            raise InputError(f"{path}: its weights do not fit config.json")
    return weights


def _renamed(theirs: dict[str, Tensor], config: PieceConfig) -> dict[str, Tensor]:
    segment = theirs["embeddings.token_type_embeddings.weight"][0]
    ours = {
        "embedding": theirs["embeddings.word_embeddings.weight"],
        "positions": theirs["embeddings.position_embeddings.weight"][: config.positions] + segment,
    }
    for kind in ("weight", "bias"):
        ours[f"norm.{kind}"] = theirs[f"embeddings.LayerNorm.{kind}"]
        for number in range(config.layers):
            before, after = f"encoder.layer.{number}", f"layers.layers.{number}"
            attention = [
                f"{before}.attention.self.{part}.{kind}" for part in ("query", "key", "value")
            ]
            ours[f"{after}.self_attn.in_proj_{kind}"] = torch.cat(
                [theirs[name] for name in attention]
            )
            for theirs_name, ours_name in _NAMES.items():
                ours[f"{after}.{ours_name}.{kind}"] = theirs[f"{before}.{theirs_name}.{kind}"]
    return ours
