"""The kernels of ``kernel.cpp``, compiled where there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.matrix_units.arithmetic import LOG2_E, split

SOURCE = Path(__file__).with_name("kernel.cpp")
_FLAGS = ("-O3", "-std=c++17", "-shared", "-fPIC", "-mavx512f", "-mavx512bf16", "-mfma")
_ROWS = 32
_BLOCK_BYTES = 256 << 10  # of weights, a quarter of the second-level cache or less
_NOTHING = -1e4  # the bias of a word whose power of two is 0


class Kernel(NamedTuple):
    """A way to the normalisers."""

    name: str
    function: str
    needs: str  # the function that says whether the processor has it
    parts: int  # bfloat16 parts of an activation; 0: float32
    words: int  # a group's
    is_tiled: bool = False


KERNELS = (
    Kernel("float32 vectors", "vectors", "has_vectors", 0, 12),
    Kernel("bf16 vectors, one part", "pairs_1", "has_pairs", 1, 12),
    Kernel("bf16 vectors, two parts", "pairs_2", "has_pairs", 2, 12),
    Kernel("AMX tiles, one part", "tiles_1", "has_tiles", 1, 32, True),
    Kernel("AMX tiles, two parts", "tiles_2", "has_tiles", 2, 32, True),
)
EMULATED = (
    Kernel("emulated tiles, one part", "emulated_1", "has_vectors", 1, 32, True),
    Kernel("emulated tiles, two parts", "emulated_2", "has_vectors", 2, 32, True),
)


def compiled() -> ctypes.CDLL | str:
    """The library, or why it could not be built."""
    compiler = shutil.which("g++")
    if compiler is None:
        return "no g++ here"
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "kernel.so")
        command = [compiler, *_FLAGS, str(SOURCE), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return f"g++ cannot compile it: {(done.stderr.splitlines() or ['no reason'])[0]}"
        return ctypes.CDLL(str(library))


def has(library: ctypes.CDLL, kernel: Kernel) -> bool:
    return bool(getattr(library, kernel.needs)())


def prepared(
    library: ctypes.CDLL, kernel: Kernel, weight: Tensor, bias: Tensor
) -> Callable[[Tensor], Tensor]:
    """A function from rows [R, D] to the logsumexp of their logits [R], float32, for a weight
    [V, D] (of bfloat16 numbers, unless the kernel is float32's) and a bias [V]."""
    words, size = weight.shape
    groups = -(-words // kernel.words)
    depth = (
        size if kernel.parts == 0 else -(-size // 32) * 32 if kernel.is_tiled else size + size % 2
    )
    padded = functional.pad(weight, (0, depth - size, 0, groups * kernel.words - words))
    packed_bias = functional.pad(bias * LOG2_E, (0, len(padded) - words), value=_NOTHING)
    grouped = padded.view(groups, kernel.words, depth)
    if kernel.parts:
        grouped = grouped.to(torch.bfloat16).view(torch.int32)  # pairs
    packed = (grouped if kernel.is_tiled else grouped.transpose(1, 2)).contiguous()
    inner = packed.numel() // groups // kernel.words
    block = max(1, _BLOCK_BYTES // (packed[0].numel() * 4))
    function = getattr(library, kernel.function)

    def log_sums(rows: Tensor) -> Tensor:
        chunks = -(-len(rows) // _ROWS)
        ready = _packed_rows(rows, chunks, depth, kernel.parts)
        sums = torch.empty(chunks * _ROWS)
        pointers = [ctypes.c_void_p(part.data_ptr()) for part in (ready, packed, packed_bias)]
        counts = map(ctypes.c_long, (chunks, groups, inner, block))
        function(*pointers, *counts, ctypes.c_void_p(sums.data_ptr()))
        return sums[: len(rows)].log()

    return log_sums


def _packed_rows(rows: Tensor, chunks: int, depth: int, parts: int) -> Tensor:
    """[chunks, D, 32] in float32, or [chunks, D / 2, parts, 32] pairs of bfloat16 numbers."""
    missing = (0, depth - rows.shape[1], 0, chunks * _ROWS - len(rows))
    scaled = functional.pad(rows * LOG2_E, missing).view(chunks, _ROWS, depth)
    if not parts:
        return scaled.transpose(1, 2).contiguous()
    pairs = [part.to(torch.bfloat16).view(torch.int32) for part in split(scaled, parts)]
    return torch.stack(pairs, 1).permute(0, 3, 1, 2).contiguous()  # from [chunks, parts, 32, pairs]
