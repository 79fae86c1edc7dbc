"""Coverage-guided fuzzing of everything that reads n-best files and sentences.

    pip install atheris
    mkdir found  # inputs that reach new code are kept here
    python tests/fuzz/fuzz_readers.py found tests/fuzz/corpus -max_total_time=600 -max_len=4096

The first byte chooses format, notation and repair; the rest is the file, with the sentences after a
line of `=====`. Whatever the bytes: lists, candidates whose trees can be built, or an InputError.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from reranker.errors import InputError
    from reranker.nbest import FORMATS, ReadOptions, read_nbest
    from reranker.nbest.writing import list_text, tokens_text
    from reranker.trees.linearize import linearize

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-"))
NAMES = ("auto", *FORMATS)


def one_input(data: bytes) -> None:
    choice = data[0] if data else 0
    text, _, sentences = data[1:].partition(b"\n=====\n")
    nbest, tokens = FOLDER / "nbest", FOLDER / "tokens"
    nbest.write_bytes(text)
    tokens.write_bytes(sentences)
    options = ReadOptions(
        format=NAMES[choice % len(NAMES)],
        tokens=tokens if sentences else None,
        repair=(None, True, False)[choice // len(NAMES) % 3],
        beam=2 if choice % 2 or NAMES[choice % len(NAMES)] == "opennmt" else None,
        restore=choice >= 128,
    )
    with contextlib.suppress(InputError):
        lists = read_nbest(nbest, options=options, warn=lambda message: None)
        for position, found in enumerate(lists):
            for one in found.candidates:
                assert one.words == found.candidates[0].words
                assert one.tree.leaves()
                if "-NONE-" not in one.text and not one.is_repaired:
                    assert linearize(one.tree)
            assert found.fallback.startswith("(") or found.rejected
            for name in FORMATS:
                list_text(found, position, name, 10_000)
            tokens_text(found)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
