"""Coverage-guided search for texts that take long to read.

    pip install atheris
    mkdir found  # inputs that reach new code are kept here
    python -m tests.fuzz.fuzz_slow found tests/fuzz/corpus -max_total_time=600 -max_len=200

The first byte chooses what reads (tests/reranker/repetitions.py). The rest is a head, what is
repeated behind it, and a tail, each after a byte 0xFE. Reading it may take no more CPU time, at any
length, than a large multiple of what ordinary text takes.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["reranker"]):
    from tests.reranker.repetitions import READERS, cpu_seconds, ordinary_seconds, repeated

NAMES = tuple(READERS)
CHARACTERS = (1 << 12, 1 << 14, 1 << 16)
MARGIN, LEAST = 50, 0.1  # instrumented code is slow
ALLOWED = {
    name: [LEAST + MARGIN * ordinary_seconds(name, size) for size in CHARACTERS] for name in NAMES
}


def one_input(data: bytes) -> None:
    name = NAMES[data[0] % len(NAMES)] if data else NAMES[0]
    parts = data[1:].decode("utf-8", "surrogateescape").split("\udcfe")
    head, part, tail = [*parts, "", "", ""][:3] if len(parts) > 1 else ("", parts[0], "x")
    for size, allowed in zip(CHARACTERS, ALLOWED[name], strict=True):
        seconds = cpu_seconds(READERS[name], repeated(part or " ", size, head, tail))
        assert seconds < allowed, f"{name}: {seconds:.2f} s for {size} characters of {part!r}"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
