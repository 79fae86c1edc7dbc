"""Plain text as tokens: marks, capitals, brackets, and what cannot be used."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.text.running import CLOSING, OPENING, encoded, opening_id, read_running_text, token
from tests.reranker.small_files import write

ARTICLES = "<article>\nThe cat\n\nends\n</article>\n\n<article>\nno\n</article>\n"


def test_words_and_lines(tmp_path: Path) -> None:
    file = write(tmp_path / "t.txt", " no it was n't \n\n The N ( <unk> )\nend")
    assert read_running_text([file]) == [
        ("no", "it", "was", "n't"), (), ("^the", "^n", "-LRB-", "<unk>", "-RRB-"), ("end",),
    ]  # fmt: skip


def test_no_two_words_become_one() -> None:
    words = ["The", "the", "^the", "^The", "THE", "(", "-LRB-", "<article>"]
    tokens = list(map(token, words))
    assert len({each.lower() for each in tokens}) == len(words)
    assert OPENING not in tokens


def test_articles(tmp_path: Path) -> None:
    file = tmp_path / "t.txt.gz"
    file.write_bytes(gzip.compress(ARTICLES.encode()))
    lines = read_running_text([file, file])
    assert lines == 2 * [
        (OPENING,), ("^the", "cat"), (), ("ends",), (CLOSING,), (OPENING,), ("no",), (CLOSING,),
    ]  # fmt: skip
    vocabulary = Vocabulary.build(lines, minimum_count=1)
    opens, eos = opening_id(vocabulary), vocabulary.eos
    ids = list(encoded(vocabulary, lines))
    assert [len(line) for line in ids[:8]] == [1, 3, 1, 2, 1, 1, 2, 1]
    assert ids[0] == ids[5] == [opens] != ids[4]
    assert ids[2] == [eos] and ids[3][-1] == eos
    # To a vocabulary without articles, it is an opening that was never seen.
    other = Vocabulary.build([("no",)], minimum_count=1)
    assert other.symbols[opening_id(other)] == "(<unk>"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("a\n<article>\nb\n</article>\n", "1: text before the first <article>"),
        ("<article>\nb\n<article>\n", "3: <article> within that of line 1"),
        ("<article>\nb\n</article>\n</article>\n", "4: </article> without <article>"),
        ("a\n</article>\n", "2: </article> without <article>"),
        ("<article>\nb\n</article>\nc\n", "4: text outside of articles"),
        ("<article>\nb\n</article>\n<article>\nc\n", "4: <article> without </article>"),
        (b"a\nb\xff\n", "2: byte 0xff is not UTF-8"),
        ("a\n" + 600_000 * "b ", "2: more than 1,000,000 characters"),
    ],
)
def test_bad_lines_are_named(content: str | bytes, reason: str, tmp_path: Path) -> None:
    file = write(tmp_path / "t.txt", content)
    with pytest.raises(InputError) as caught:
        read_running_text([file])
    assert str(caught.value) == f"{file}:{reason}"


def test_damaged_missing_and_empty_files(tmp_path: Path) -> None:
    cut = tmp_path / "t.txt.gz"
    cut.write_bytes(gzip.compress(b"a b\n" * 1000)[:-12])
    with pytest.raises(InputError, match=r"t\.txt\.gz:\d+: "):
        read_running_text([cut])
    with pytest.raises(InputError, match=r"no\.txt: cannot be read"):
        read_running_text([tmp_path / "no.txt"])
    empty = write(tmp_path / "empty.txt", "<article>\n</article>\n\n")
    with pytest.raises(InputError, match=r"empty\.txt: contains no text"):
        read_running_text([empty])
