"""BERT's encoder written out for one sentence, on weights with their published names, and folders
with small random ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_encoder(
    folder: Path, words: list[str], *, size: int = 12, layers: int = 2, heads: int = 3
) -> dict[str, Tensor]:
    """Write a folder as such encoders are published; return its weights."""
    pieces = [*SPECIAL, *words]
    settings = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "vocab_size": len(pieces),
        "hidden_size": size,
        "intermediate_size": 2 * size,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "max_position_embeddings": 64,
    }
    shapes: dict[str, tuple[int, ...]] = {
        "attention.self.query": (size, size),
        "attention.self.key": (size, size),
        "attention.self.value": (size, size),
        "attention.output.dense": (size, size),
        "attention.output.LayerNorm": (size,),
        "intermediate.dense": (2 * size, size),
        "output.dense": (size, 2 * size),
        "output.LayerNorm": (size,),
    }
    torch.manual_seed(3)
    weights = {
        "embeddings.word_embeddings.weight": torch.randn(len(pieces), size),
        "embeddings.position_embeddings.weight": torch.randn(64, size),
        "embeddings.token_type_embeddings.weight": torch.randn(2, size),
        "embeddings.LayerNorm.weight": torch.randn(size),
        "embeddings.LayerNorm.bias": torch.randn(size),
    }
    for number in range(layers):
        for name, shape in shapes.items():
            weights[f"encoder.layer.{number}.{name}.weight"] = 0.4 * torch.randn(shape)
            weights[f"encoder.layer.{number}.{name}.bias"] = 0.4 * torch.randn(shape[0])
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    save_file(weights, folder / "model.safetensors")
    return weights


def slowly(
    weights: dict[str, Tensor], rows: list[int], *, layers: int = 2, heads: int = 3
) -> Tensor:
    """Compute the output for each piece, [n, size]."""

    def linear(name: str, data: Tensor) -> Tensor:
        return data @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name: str, data: Tensor) -> Tensor:
        centered = data - data.mean(-1, keepdim=True)
        scaled = centered / (centered.square().mean(-1, keepdim=True) + 1e-12).sqrt()
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    data = weights["embeddings.word_embeddings.weight"][rows]
    data = data + weights["embeddings.position_embeddings.weight"][: len(rows)]
    data = norm(
        "embeddings.LayerNorm", data + weights["embeddings.token_type_embeddings.weight"][0]
    )
    for layer in (f"encoder.layer.{number}" for number in range(layers)):
        query, key, value = (
            linear(f"{layer}.attention.self.{part}", data).chunk(heads, dim=1)
            for part in ("query", "key", "value")
        )
        found = []
        for q, k, v in zip(query, key, value, strict=True):
            found.append((q @ k.T / math.sqrt(q.shape[1])).softmax(1) @ v)
        attended = linear(f"{layer}.attention.output.dense", torch.cat(found, dim=1))
        data = norm(f"{layer}.attention.output.LayerNorm", data + attended)
        inner = linear(f"{layer}.intermediate.dense", data)
        inner = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
        data = norm(f"{layer}.output.LayerNorm", data + linear(f"{layer}.output.dense", inner))
    return data
