"""Guesses about files that hold no n-best lists."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.files.text import TextInMemory
from reranker.nbest import read_nbest
from tests.reranker.nbest.summaries import Read

PROSE = "It was a dark night.\nThe rain (it fell) fell in torrents.\n"
TREE = "1\t0\n-1\n(S1 (NP (NN Introduction)))\n"


def zipped(name: str) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(name, "content")
    return archive.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PROSE.encode(), "1: .*plain sentences: parse them first, with rerank parse; found 'It"),
        (b"\n\n42 years ago\n", "3: .*looks like plain sentences"),
        ("Grüße.\n".encode("latin-1"), "1: .*looks like plain sentences"),
        (TREE.encode("utf-16"), "1: .*looks like UTF-16 .*: convert it to UTF-8 first"),
        (PROSE.encode("utf-16-le"), "1: .*looks like UTF-16"),
        (PROSE.encode("utf-16-be"), "1: .*looks like UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "1: .*looks like binary data"),
        (zipped("document.xml"), "1: .*looks like an archive"),
        (zipped("model/data.pkl"), "1: .*looks like a checkpoint"),
        (pickle.dumps({"a": 1}), "1: .*looks like binary data"),
        (bytes(range(32)) * 9, "looks like binary data"),
        (b"BZh91AY&SY", "1: .*looks like a compressed file: unpack it first"),
        (b'[{"candidates": []}]\n', "1: .*one object per line"),
        (b"<?xml version='1.0'?>\n<a/>\n", "1: .*looks like HTML or XML: it has no trees"),
        (b"# text = Go\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\ta\ta\tX\tX\t_\t1\tx\t_\t_\n",
         "1: .*looks like annotation in columns"),
        # Each of these begins like a format, but has nothing that could be a tree.
        (b"1\tThe cat sat .\n2\tIt (the dog) ran .\n", "1: .*looks like plain sentences"),
        (b"0\tThe cat sat .\n1\tIt ran .\n", "1: .*looks like plain sentences"),
        (b"1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\t(\t(\tX\tX\t_\t1\tx\t_\t_\n",
         "1: .*looks like annotation in columns"),
        (b"5 apples\n", "1: .*looks like plain sentences"),
        (b"5 (five) apples\n", "1: .*looks like plain sentences"),
        (b"3\n5\n7\n", "1: .*looks like numbers without trees"),
        (b"1,2,3\n4,5,6\n", "1: .*looks like a table"),
        (b"(laughs) Hello there .\n", "1: .*looks like plain sentences"),
        (b"(laughs) Hello .\n(laughs) Hi .\n\nOh .\n", "1: .*looks like plain sentences"),
        (b"(Applause)\n", "1: .*looks like plain sentences"),
        (b'{\n  "candidates": [\n    {"tree": "(S (NN a))"}\n  ]\n}\n',
         "1: .*looks like n-best lists in JSON: with one object per line"),
        (b'{"sentence": "The cat sat ."}\n', "1: .*looks like JSON: .* with 'candidates'"),
        (b"[1,2]\n", "1: .*looks like JSON"),
        (TREE.encode("utf-32"), "1: .*looks like UTF-16 .*: convert it to UTF-8 first"),
        (b"% = %\n", "1: .*expected the lists of a known format; found '% = %'"),
    ],
)  # fmt: skip
def test_files_in_no_known_format_are_refused(read: Read, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=r"0\.txt:" + message if message[0].isdigit() else message):
        read(content)


@pytest.mark.parametrize(
    ("text", "accepted", "rejected"),
    [
        ("0\tsome id\n0\t1\n", 0, 0),
        ("0\n0\n", 0, 0),
        ("(())\n(TOP )\n", 0, 2),
        ("2\t0\n", 0, 1),  # cut short from here on
        ("0 x\n2 y\n", 0, 1),
        ("2 x\n-8.5 -30.5\n", 0, 1),
        ("2\n41.25\n", 0, 1),
        ("1\t0\n-1\n(S1 (S\n", 0, 1),
        ("(S (NP\n", 0, 1),
        ('{"candidates": []}\n', 0, 0),
        ('{"id": \n' + '{"candidates": ["(S (NN a))"]}\n', 1, 1),
    ],
)
def test_lists_without_a_tree_are_read(read: Read, text: str, accepted: int, rejected: int) -> None:
    lists = read(text)
    assert sum(len(nbest.candidates) for nbest in lists) == accepted
    assert sum(len(nbest.rejected) for nbest in lists) == rejected


def test_what_a_packed_file_holds_counts(read: Read) -> None:
    with pytest.raises(InputError, match="looks like plain sentences"):
        read(gzip.compress(PROSE.encode()))


def test_packed_text_in_memory_is_not_unpacked() -> None:
    with pytest.raises(InputError, match=r"body:1: .*looks like a compressed file"):
        read_nbest(TextInMemory(gzip.compress(b"text"), "body"))


def test_broken_trees_are_not_taken_for_sentences(read: Read) -> None:
    with pytest.raises(InputError, match="'N<TAB>id'"):
        read("(S (NP (PRP It)) (VP (VBZ runs)))\n", format="bllip")


def test_the_file_is_closed(tmp_path: Path) -> None:
    # Warnings are errors: one for a file left open would fail this test.
    path = tmp_path / "letter.txt"
    path.write_text(PROSE)
    with pytest.raises(InputError, match=r"letter\.txt:1"):
        read_nbest(path)
