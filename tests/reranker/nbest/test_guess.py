"""What files that hold no n-best lists look like."""

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
        (PROSE.encode(), "1: .*looks like plain sentences: parse them first; found 'It was a"),
        (b"\n\n42 years ago\n", "3: .*looks like plain sentences"),
        ("Grüße.\n".encode("latin-1"), "1: .*looks like plain sentences"),
        (TREE.encode("utf-16"), "1: .*looks like UTF-16: convert it to UTF-8 first"),
        (PROSE.encode("utf-16-le"), "1: .*looks like UTF-16"),
        (PROSE.encode("utf-16-be"), "1: .*looks like UTF-16"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", r"1: .*looks like binary data \(a PNG image\)"),
        (zipped("document.xml"), r"1: .*looks like binary data \(a ZIP archive\)"),
        (zipped("model/data.pkl"), r"1: .*looks like binary data \(a PyTorch checkpoint\)"),
        (pickle.dumps({"a": 1}), r"1: .*looks like binary data \(a Python pickle\)"),
        (bytes(range(32)) * 9, "looks like binary data; found"),
        (b"BZh91AY&SY", "1: .*looks like a bzip2 file: unpack it first"),
        (b'[{"candidates": []}]\n', "1: .*one object a line"),
        (b"<?xml version='1.0'?>\n<a/>\n", "1: .*looks like XML or HTML"),
        (b"# text = Go\n1\tGo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n2\ta\ta\tX\tX\t_\t1\tx\t_\t_\n",
         "1: .*looks like CoNLL columns"),
        (b"% = %\n", "1: .*expected the lists of a known format; found '% = %'"),
    ],
)  # fmt: skip
def test_files_in_no_known_format_are_refused(read: Read, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=r"0\.txt:" + message if message[0].isdigit() else message):
        read(content)


def test_what_a_packed_file_holds_counts(read: Read) -> None:
    with pytest.raises(InputError, match="looks like plain sentences"):
        read(gzip.compress(PROSE.encode()))


def test_packed_text_in_memory_is_not_unpacked() -> None:
    with pytest.raises(InputError, match=r"body:1: .*looks like a gzip file"):
        read_nbest(TextInMemory(gzip.compress(b"text"), "body"))


def test_broken_trees_are_not_taken_for_sentences(read: Read) -> None:
    with pytest.raises(InputError, match="expected 'N<TAB>id' or 'N' before N trees; found"):
        read("(S (NP (PRP It)) (VP (VBZ runs)))\n", format="bllip")


def test_the_file_is_closed(tmp_path: Path) -> None:
    # Warnings are errors: one for a file left open would fail this test.
    path = tmp_path / "letter.txt"
    path.write_text(PROSE)
    with pytest.raises(InputError, match=r"letter\.txt:1"):
        read_nbest(path)
