"""``--tokens FILE``."""

import gzip
from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.nbest.data import Sentence
from reranker.nbest.tokens_file import read_sentences


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sentences.txt"


def sentences(path: Path, text: str | bytes) -> list[Sentence]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_sentences(path))


GO = Sentence(("Go", "!"), ("VB", "."))
RUNS = Sentence(("It", "runs", "."), ("PRP", "VBZ", "."))


def test_words(path: Path) -> None:
    assert sentences(path, "It runs .\n\n  Go   !  ") == [
        Sentence(("It", "runs", ".")),
        Sentence(()),
        Sentence(("Go", "!")),
    ]


def test_words_and_tags(path: Path) -> None:
    assert sentences(path, "It/PRP runs/VBZ ./.\nGo/VB !/.\n") == [RUNS, GO]


def test_the_last_slash_counts(path: Path) -> None:
    assert sentences(path, "and/or/CC 1\\/2/CD //SYM\n") == [
        Sentence(("and/or", "1\\/2", "/"), ("CC", "CD", "SYM"))
    ]


@pytest.mark.parametrize("line", ["and/or or", "and/ or/CC", "/CC or/CC", "/ /"])
def test_a_slash_in_some_words_is_no_tag(path: Path, line: str) -> None:
    assert sentences(path, line) == [Sentence(tuple(line.split()))]


def test_what_the_head_settles_holds_to_the_end(path: Path) -> None:
    text = "It/PRP\n" * 200 + "Go!\n"
    with pytest.raises(InputError, match=r"sentences\.txt:201: 'Go!'"):
        sentences(path, text)


def test_columns(path: Path) -> None:
    text = "It\tPRP\nruns\tVBZ\n.\t.\n\nGo\tVB\n!\t.\n"
    assert sentences(path, text) == [RUNS, GO]
    assert sentences(path, text + "\n") == [RUNS, GO]
    assert sentences(path, text.replace("\n", "\r\n")) == [RUNS, GO]
    assert sentences(path, text.replace("\n\n", "\n\n\n")) == [RUNS, Sentence(()), GO]
    # Columns after a second tab are ignored.
    assert sentences(path, text.replace("VB\n", "VB\t3\tx y\n")) == [RUNS, GO]


@pytest.mark.parametrize("line", ["Go", "Go\t", "\tVB", "Go on\tVB", "Go\tV B", "Go VB"])
def test_broken_columns(path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"sentences\.txt:2: "):
        sentences(path, f"It\tPRP\n{line}\n")


def test_brackets_are_escaped(path: Path) -> None:
    expected = [Sentence(("-LRB-", "a", "-RRB-", ":--RRB-", "[", "-LRB-"))]
    assert sentences(path, "( a ) :-) [ \\(\n") == expected
    assert sentences(path, "(/( a/NN )/)\n") == [
        Sentence(("-LRB-", "a", "-RRB-"), ("-LRB-", "NN", "-RRB-"))
    ]
    assert sentences(path, "(\t(\n") == [Sentence(("-LRB-",), ("-LRB-",))]


def test_only_ascii_space_separates(path: Path) -> None:
    # Trees are read so too, and a French number is one word.
    number = "12\N{NO-BREAK SPACE}000"
    assert sentences(path, f"{number} francs\n") == [Sentence((number, "francs"))]
    assert sentences(path, f"{number}\tCD\n") == [Sentence((number,), ("CD",))]


def test_packed_files_and_byte_order_marks(path: Path) -> None:
    text = "\ufeffIt/PRP runs/VBZ ./.\n".encode()
    assert sentences(path, text) == [RUNS]
    assert sentences(path, gzip.compress(text)) == [RUNS]


def test_a_damaged_file_is_an_input_error(path: Path) -> None:
    packed = gzip.compress("".join(f"a{n * 104729} b\n" for n in range(2000)).encode())
    with pytest.raises(InputError, match=r"sentences\.txt .*cannot be read to its end"):
        sentences(path, packed[:-4])


def test_bytes_that_are_not_utf8_are_an_input_error(path: Path) -> None:
    with pytest.raises(InputError, match=r"sentences\.txt:2: byte 0xff"):
        sentences(path, b"It runs\ncaf\xff\n")


def test_a_missing_file_is_an_input_error(path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_sentences(path))


def test_flat_trees() -> None:
    assert RUNS.flat_tree() == "(TOP (S (PRP It) (VBZ runs) (. .)))"
    assert Sentence(("It", "runs")).flat_tree() == "(TOP (S (XX It) (XX runs)))"
    assert Sentence(()).flat_tree() == "(TOP )"
