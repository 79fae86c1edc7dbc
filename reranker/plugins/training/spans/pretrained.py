"""An encoder pretrained on plain text, in the form in which BERT's family is published: a folder
with ``config.json``, ``model.safetensors``, and ``vocab.txt`` or, for unigram pieces,
``tokenizer.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reranker.checkpoints.span_vocabulary import AnyPieces
from reranker.checkpoints.unigram_pieces import UnigramPieces
from reranker.checkpoints.word_pieces import WordPieces
from reranker.errors import InputError, needing
from reranker.files.opening import open_file, read_text
from reranker.models.piece_encoder import PieceConfig, PieceEncoder

_NAMES = {
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}
_MPNET_NAMES = {
    "attention.attn.o": "attention.output.dense",
    "attention.attn.q": "attention.self.query",
    "attention.attn.k": "attention.self.key",
    "attention.attn.v": "attention.self.value",
    "attention.LayerNorm": "attention.output.LayerNorm",
}
_MPNET_NAME = re.compile(rf"(?<=\d\.)({'|'.join(map(re.escape, _MPNET_NAMES))})(?=\.)")
# MPNet's list has BERT's names, too, but other pieces stand at a sentence's start and end.
_MPNET_PIECES = {"<s>": "[CLS]", "[CLS]": "<s>", "</s>": "[SEP]", "[SEP]": "</s>"}
_SETTINGS = {
    "piece_count": "vocab_size",
    "size": "hidden_size",
    "inner_size": "intermediate_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
}
# The kinds of encoders, and where their positions begin: after the number of their padding.
_FIRST_POSITION = {"bert": 0, "mpnet": 2, "xlm-roberta": 2}
_PREFIX = re.compile(r"^(bert|mpnet|roberta)\.")
_POSITIONS = 256  # of a treebank's sentences few need more


@dataclass(frozen=True, slots=True)
class PretrainedEncoder:
    """The encoder's sizes, its pieces, and the weights of a ``PieceEncoder``."""

    config: PieceConfig
    pieces: AnyPieces
    weights: dict[str, Tensor]

    @classmethod
    def read(cls, folder: Path) -> PretrainedEncoder:
        """Read an encoder. Raises InputError, naming the file, for a missing or unsuitable one."""
        config, offset = _config(folder / "config.json")
        pieces = _pieces(folder, config)
        return cls(config, pieces, _weights(folder / "model.safetensors", config, offset))

    def with_pieces_of(
        self, words: Iterable[str], most: int, before: Collection[str] = ()
    ) -> PretrainedEncoder:
        """Return the encoder with at most ``most`` of its pieces: the pieces of ``words``, then the
        first of the others, which are the most frequent. If there are pieces that a model knew
        ``before``, all of these and all pieces of ``words`` are kept, however many they are."""
        known, texts = set(before), set(words)
        needed = self.pieces.needed(texts)
        needed |= {row for row, piece in enumerate(self.pieces.pieces) if piece in known}
        rows = self.pieces.first_kept(texts, needed)
        kept = sorted({*rows[:most], *(needed if known else ())})
        return PretrainedEncoder(
            replace(self.config, piece_count=len(kept)),
            self.pieces.kept(kept),
            {**self.weights, "embedding": self.weights["embedding"][kept]},
        )


def _pieces(folder: Path, config: PieceConfig) -> AnyPieces:
    path = folder / "vocab.txt"
    if not path.is_file() and (folder / "tokenizer.json").is_file():
        path = folder / "tokenizer.json"
    try:
        text = read_text(path)
        pieces: AnyPieces
        if path.suffix == ".txt":
            names = text.splitlines()
            if config.distance_classes:  # MPNet's
                names = [_MPNET_PIECES.get(name, name) for name in names]
            pieces = WordPieces(names, config.per_word)
        else:
            pieces = _unigram_pieces(text, config)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a list of word pieces ({error})") from error
    if len(pieces.pieces) != config.piece_count:
        raise InputError(
            f"{path}: {len(pieces.pieces)} pieces, but config.json says {config.piece_count}"
        )
    return pieces


def _unigram_pieces(text: str, config: PieceConfig) -> UnigramPieces:
    """Return the pieces of a ``tokenizer.json``. Raises LookupError, TypeError or ValueError for
    another kind. Rows beyond those of its list, which a ``<mask>`` and padding take, have no
    piece."""
    model = json.loads(text)["model"]
    if model["type"] != "Unigram":
        raise ValueError(f"its model is {model['type']}, not Unigram or a vocab.txt")
    pieces, scores = zip(*model["vocab"], strict=True)
    more = range(len(pieces), config.piece_count)
    names = [*pieces[: config.piece_count], *(f"<row {row}>" for row in more)]
    rounded = [round(score, 4) for score in scores] + [min(scores)] * len(more)
    return UnigramPieces(names, rounded[: len(names)], config.per_word)


def _config(path: Path) -> tuple[PieceConfig, int]:
    """Return the settings, and the number of the first position."""
    try:
        read = json.loads(read_text(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    settings: dict[str, Any] = read if isinstance(read, dict) else {}
    kind = settings.get("model_type")
    if kind not in _FIRST_POSITION or settings.get("hidden_act") != "gelu":
        raise InputError(f"{path}: not an encoder of BERT's kind (model_type {kind!r:.40})")
    offset = _FIRST_POSITION[kind]
    try:
        config = PieceConfig(
            **{own: settings[theirs] for own, theirs in _SETTINGS.items()},
            positions=min(_POSITIONS, settings["max_position_embeddings"] - offset),
            dropout=settings.get("hidden_dropout_prob", 0.1),
            norm_epsilon=settings.get("layer_norm_eps", 1e-12),
            distance_classes=(
                settings.get("relative_attention_num_buckets", 32) if kind == "mpnet" else 0
            ),
        )
    except KeyError as error:
        raise InputError(f"{path}: {error.args[0]} is missing") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error
    return config, offset


def _weights(path: Path, config: PieceConfig, offset: int) -> dict[str, Tensor]:
    needed = f"{path}: reading it needs safetensors; install it with "
    with needing(f"{needed}`pip install 'parse-reranker[train]'`"):
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    try:
        open_file(path).close()
        read = load_file(path)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason})") from error
    theirs = {_PREFIX.sub("", name): weight.float() for name, weight in read.items()}
    if config.distance_classes:
        theirs = {
            _MPNET_NAME.sub(lambda found: _MPNET_NAMES[found[0]], name): weight
            for name, weight in theirs.items()
        }
    try:
        weights = _renamed(theirs, config, offset)
    except KeyError as error:
        raise InputError(f"{path}: the weights {error} are missing") from error
    with torch.device("meta"):
        expected = PieceEncoder(config).state_dict()
    for name, weight in expected.items():
        if weights[name].shape != weight.shape:
            raise InputError(f"{path}: its weights do not fit config.json")
    return weights


def _renamed(theirs: dict[str, Tensor], config: PieceConfig, offset: int) -> dict[str, Tensor]:
    positions = theirs["embeddings.position_embeddings.weight"][offset:][: config.positions]
    own = {"embedding": theirs["embeddings.word_embeddings.weight"]}
    if config.distance_classes:
        own["positions"] = positions
        own["distances"] = theirs["encoder.relative_attention_bias.weight"]
    else:
        own["positions"] = positions + theirs["embeddings.token_type_embeddings.weight"][0]
    for kind in ("weight", "bias"):
        own[f"norm.{kind}"] = theirs[f"embeddings.LayerNorm.{kind}"]
        for number in range(config.layers):
            before, after = f"encoder.layer.{number}", f"layers.layers.{number}"
            attention = [
                f"{before}.attention.self.{part}.{kind}" for part in ("query", "key", "value")
            ]
            own[f"{after}.self_attn.in_proj_{kind}"] = torch.cat(
                [theirs[name] for name in attention]
            )
            for theirs_name, own_name in _NAMES.items():
                own[f"{after}.{own_name}.{kind}"] = theirs[f"{before}.{theirs_name}.{kind}"]
    return own
