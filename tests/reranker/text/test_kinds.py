"""Text that turns out to be of another kind."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from reranker.errors import KindError
from reranker.files.kinds import LONGEST_START
from reranker.files.text import TextFile
from reranker.text.given import sentences
from reranker.text.reading import Text

PROSE = "It was a dark night, and the rain fell in torrents (except now and then).\n"
ROWS = "1\tIt\tit\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\truns\trun\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
MANY = LONGEST_START // len(PROSE)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_later_part_is_refused_with_its_line(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """However far away: after at most twice as much as is judged at once."""
    path = tmp_path / "t.txt"
    path.write_bytes(pack((PROSE * 3 * MANY + ROWS * 3 * MANY).encode()))
    read = 0
    with pytest.raises(KindError, match=r"\.txt:[0-9]+: not text from here on: .*CoNLL") as error:
        for _ in Text([path], "sentences"):
            read += 1
    line = int(str(error.value).split(":")[1])
    assert 2 * MANY < line < 4 * MANY < read < 6 * MANY


def test_the_end_of_a_text_may_be_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text(PROSE * 2 * MANY + "name\tyear\nAnn\t1990\nBob\t1991\nEve\t1992\n" * 5)
    assert len(list(Text([path], "sentences"))) == 2 * MANY + 20


def test_of_a_pipe_the_first_line_is_too_little(tmp_path: Path) -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "w") as pipe:
            pipe.write("# newdoc\n")
            pipe.flush()
            pipe.write(ROWS)

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(KindError, match="not text: looks like annotation in columns"):
        list(Text([TextFile(f"/dev/fd/{reading}")], "sentences"))
    writer.join()
    os.close(reading)


def test_a_sentence_of_a_list_fails_by_itself() -> None:
    given = ["It runs.", '{"text": "It runs."}', "(S (NP (PRP It)) (VP (VBZ runs)))"]
    problems = [each.problem for each in sentences(given)]
    assert problems == [
        None,
        "not text: looks like JSON: take the text out of it first",
        "not text: looks like trees; to rank them, rerank --nbest FILE",
    ]
    assert next(sentences([["{", '"a":', "1", "}"]])).problem is None  # words are words


def test_lines_of_a_file_are_no_sentences() -> None:
    with pytest.raises(KindError, match="text: not text: looks like annotation in columns"):
        list(sentences(ROWS.splitlines()))
