"""The real BLLIP parser with the model that we ship, in processes that are killed and run late."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.choice import PooledParsers
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.parsers.running import ParsedLists
from reranker.plugins.other_parsers.bllip import BllipParser
from reranker.process.cancellation import Stopped
from reranker.text.reading import Text
from tests.reranker.forks import in_child
from tests.waiting import PATIENCE, until

pytest.importorskip(
    "bllipparser", reason="bllipparser is not installed: pip install 'parse-reranker[bllip]'"
)

WORDS = ["When", "the", "last", "guests", "left", "the", "hotel", "closed", "its", "kitchen", "."]
LONG = Sentence(tuple(("the old man saw " * 30).split()))


def processes() -> set[int]:
    """Return our worker processes, without zombies."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return {int(child) for child in children if b"bllip_worker" in _command(child)}


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def others() -> set[int]:
    """Return the processes of parsers started by other tests."""
    return processes()


@pytest.fixture(scope="module")
def parser(others: set[int]) -> Iterator[BllipParser]:
    made = BllipParser(ParserSettings(seconds=PATIENCE))
    yield made
    made.stop()


def test_a_list_for_each_sentence(parser: BllipParser) -> None:
    sentences = [Sentence(tuple(WORDS)), Sentence(("-LRB-", "Why", "?", "-RRB-")), Sentence(("x",))]
    found = parser.parse(sentences)
    for nbest, sentence in zip(found, sentences, strict=True):
        assert isinstance(nbest, NBest) and nbest.candidates
        assert all(candidate.words == list(sentence.words) for candidate in nbest.candidates)
        scores = [candidate.parser_score for candidate in nbest.candidates]
        assert all(score is not None and score < 0 for score in scores)
    first = found[0]
    assert isinstance(first, NBest) and not first.rejected and len(first.candidates) == 50
    assert scores_fall(first)


def scores_fall(nbest: NBest) -> bool:
    scores = [candidate.parser_score or 0 for candidate in nbest.candidates]
    return scores == sorted(scores, reverse=True)


def test_flat_trees_have_the_root_of_the_others(parser: BllipParser) -> None:
    file = TextInMemory(b"It runs.\nThe old man saw it.\n", "text")
    parsed, flat = ParsedLists(parser, Text([file], "sentences", longest=3), 1)
    assert parsed.candidates[0].tree.label == "S1"
    assert flat.fallback == "(S1 (S (XX The) (XX old) (XX man) (XX saw) (XX it) (XX .)))"
    assert PooledParsers({"bllip": parser}).root == "S1"


def test_a_list_does_not_depend_on_what_was_parsed_before(parser: BllipParser) -> None:
    alone = parser.parse([Sentence(tuple(WORDS))])
    parser.parse([Sentence(("Why", "?")), LONG])
    assert parser.parse([Sentence(tuple(WORDS))]) == alone


def test_a_forked_child_has_parsers_of_its_own(parser: BllipParser) -> None:
    expected = parser.parse([Sentence(tuple(WORDS))])
    before = processes()

    def work() -> list[NBest | str]:
        answer = parser.parse([Sentence(tuple(WORDS))])
        parser.stop()
        return answer

    assert in_child(work) == expected
    assert processes() == before, "the child ended none of its parent's"
    assert parser.parse([Sentence(tuple(WORDS))]) == expected


def test_odd_words_are_answered(parser: BllipParser) -> None:
    odd = [
        "\N{GRINNING FACE}",
        "\ufffd",
        "a|b",
        "\\",
        '"',
        "-",
        "''",
        "S1",
        "(".replace("(", "-LRB-"),
    ]
    sentences = [Sentence((word, "is", "here", ".")) for word in odd]
    for nbest, sentence in zip(parser.parse(sentences), sentences, strict=True):
        assert isinstance(nbest, NBest), nbest
        assert nbest.candidates[0].words == list(sentence.words)


def test_a_process_that_is_killed_costs_its_sentence(parser: BllipParser, others: set[int]) -> None:
    parser.parse([Sentence(("Why", "?"))])
    (process,) = processes() - others
    ticks = _ticks(process)

    def kill() -> None:
        until(lambda: _ticks(process) > ticks)  # it works on the first sentence, LONG
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = parser.parse([LONG, Sentence(tuple(WORDS))])
    killer.join()
    assert isinstance(found[0], str) and "the parser was killed by signal 9" in found[0]
    assert isinstance(found[1], NBest) and found[1].candidates
    assert processes() - others != {process}


def test_one_that_is_killed_while_it_is_idle_costs_nothing(
    parser: BllipParser, others: set[int]
) -> None:
    sentences = [Sentence(("Why", "?"))]
    expected = parser.parse(sentences)
    (process,) = processes() - others
    os.kill(process, signal.SIGKILL)
    until(lambda: _status(process)[0] == "Z")  # its pipes are closed, too
    assert parser.parse(sentences) == expected
    assert len(processes() - others) == 1


def _status(process: int) -> list[str]:
    """Return the process's status fields, from its state on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _ticks(process: int) -> int:
    fields = _status(process)
    return int(fields[11]) + int(fields[12])


def test_a_sentence_that_takes_too_long_costs_no_other() -> None:
    parser = BllipParser(ParserSettings(seconds=0.05))
    found = parser.parse([LONG])
    assert found == ["the parser took more than 0.05 s"]
    parser.stop()


def test_it_can_be_stopped_while_it_parses() -> None:
    parser, ended = BllipParser(ParserSettings(seconds=PATIENCE)), threading.Event()

    def parse() -> None:
        with pytest.raises(Stopped):
            parser.parse([LONG] * 50)
        ended.set()

    threading.Thread(target=parse).start()
    time.sleep(0.5)
    parser.stop()
    assert ended.wait(PATIENCE)
    with pytest.raises(Stopped):
        parser.parse([Sentence(("Why", "?"))])


def test_a_model_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("NN 2\n")
    parser = create_parser("bllip", ParserSettings(model=str(tmp_path)))
    with pytest.raises(
        InputError, match=r"the parser bllip: .*(ended with status|killed by signal)"
    ):
        parser.parse([Sentence(("Why", "?"))])
