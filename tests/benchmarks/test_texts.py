"""benchmarks/service_load/texts.py: who is asked what, and what is counted."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.service_load.texts import of_service, texts_of
from benchmarks.service_load.watching import processor_seconds
from tests.answering import Answers, answering

ASKED = Counter[str]()  # requests by the client's address


class Echo(Answers):
    """A service whose tree of a sentence is the sentence, and which refuses "no"."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        ASKED[self.client_address[0]] += 1
        body = json.loads(self.body())
        (words,) = body["tokens"]
        self.answer(" ".join(words).encode() + b"\n", 429 if words == ["no"] else 200)


@pytest.fixture
def port() -> Iterator[int]:
    with answering(Echo) as port:
        yield port


def test_clients_share_the_sentences_and_answers_come_in_order(port: int) -> None:
    ASKED.clear()
    texts = ["a", "b c", "no", "d", "e"]
    seconds, trees = of_service(os.getpid(), port, texts, 2)
    assert trees == ["a", "b c", "429 no", "d", "e"]
    assert ASKED == {"127.0.0.2": 3, "127.0.0.3": 2}
    assert 0 <= seconds <= processor_seconds(os.getpid())


def test_sentences_are_spread_over_a_treebank(tmp_path: Path) -> None:
    """Two sentences of middle length are wanted of 3, 16, 17, 18 and 30 words."""
    trees = tmp_path / "gold.mrg"
    lines = (f"(S {' '.join(f'(NN w{n})' for n in range(size))})" for size in (3, 16, 17, 18, 30))
    trees.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert [len(text.split()) for text in texts_of(str(trees), 2)] == [16, 17]
