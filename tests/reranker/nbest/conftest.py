"""Text in, lists out."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from reranker.nbest import NBest, ReadOptions, read_nbest
from tests.reranker.nbest.summaries import Read


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return ``read(text, ..., sentences=text for --tokens, other ReadOptions)``; several texts are
    pooled files, ``0.txt``, ``1.txt`` and so on."""

    def read_texts(
        *texts: str | bytes, sentences: str | bytes | None = None, **options: Any
    ) -> list[NBest]:
        paths = [tmp_path / f"{number}.txt" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        if sentences is not None:
            tokens = tmp_path / "sentences.txt"
            tokens.write_bytes(sentences.encode() if isinstance(sentences, str) else sentences)
            options["tokens"] = tokens
        with contextlib.closing(read_nbest(*paths, options=ReadOptions(**options))) as lists:
            return list(lists)

    return read_texts
