"""The position of each list in its files, for progress bars."""

from __future__ import annotations

import gzip
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from reranker.nbest import FORMATS, NBestFiles, ReadOptions, read_nbest
from reranker.nbest.writing import list_text, tokens_text
from tests.reranker.small_files import bllip, write

TREE = "(S1 (NP (DT The) (NN caf\N{LATIN SMALL LETTER E WITH ACUTE})))"
LISTS = bllip(*([TREE] * (1 + number % 7) for number in range(700)))
"""Larger than what is read ahead, with letters of two bytes."""


def positions(lists: NBestFiles) -> list[float]:
    """Return the share of the files that each list and the lists before it take up."""
    assert lists.size
    return [lists.position / lists.size for _ in lists]


@pytest.mark.parametrize("name", FORMATS)
def test_every_dialect(name: str, tmp_path: Path) -> None:
    file = write(tmp_path / "n.txt", LISTS)
    options = ReadOptions(name, tmp_path / "tokens", beam=7)
    with open(tmp_path / "other", "w") as other, open(tmp_path / "tokens", "w") as tokens:
        for position, nbest in enumerate(read_nbest(file)):
            other.write(list_text(nbest, position, name, 7))
            tokens.write(tokens_text(nbest))
    shares = positions(read_nbest(tmp_path / "other", options=options))
    assert len(shares) == 700 or name == "trees"
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1, abs=1e-3)
    for place in (175, 350, 525):
        assert shares[place * len(shares) // 700] == pytest.approx(place / 700, abs=0.01)


@pytest.mark.parametrize("packer", [gzip, zstandard])
def test_packed_files(packer: Any, tmp_path: Path) -> None:
    # Random words, so that the packed file is much larger than the part read ahead.
    generator = random.Random(1)
    words = [generator.randbytes(8).hex() for _ in range(8_000)]
    text = bllip(*([f"(S1 (NN {word}))"] for word in words)).encode()
    # In frames of 30 kB, since zstd unpacks blocks of 128.
    parts = [text[start : start + 30_000] for start in range(0, len(text), 30_000)]
    packed = b"".join(map(packer.compress, parts))
    shares = positions(read_nbest(write(tmp_path / "n", packed)))
    assert shares[-1] == 1
    for place in (2_000, 4_000, 6_000):
        assert shares[place] == pytest.approx(place / 8_000, abs=0.1)


def test_pooled_files_and_pipes(tmp_path: Path) -> None:
    file = write(tmp_path / "n.txt", LISTS)
    short = write(tmp_path / "short.txt", bllip([TREE]))
    lists = read_nbest(file, short)
    assert lists.size == os.path.getsize(file) + os.path.getsize(short)
    assert positions(lists)[-1] == 1
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[LISTS])
    writer.start()
    lists = read_nbest(pipe, short)
    assert lists.size is None
    assert len([lists.position for _ in lists]) == 700
    writer.join()
