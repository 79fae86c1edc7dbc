"""Word vectors: files of them, classes of words that are alike, and where embeddings start."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import torch
from torch import Tensor

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.models import AwdLstmDoc, Config
from reranker.plugins.training.corpus.word_vectors import WordVectors, start_embedding
from tests.reranker.small_files import write

GLOVE = "the 0.5 -1\nCat 2 1e-1\n, 0 0\n"


def read(folder: Path, content: str | bytes, limit: int = 100) -> dict[str, list[float]]:
    """Return each word and its numbers."""
    found = WordVectors.read(Path(write(folder / "v.txt", content)), limit)
    assert found.vectors.dtype == torch.float32
    rounded = [[round(number, 4) for number in row] for row in found.vectors.tolist()]
    return dict(zip(found.words, rounded, strict=True))


EXPECTED = {"the": [0.5, -1.0], "cat": [2.0, 0.1], ",": [0.0, 0.0]}


@pytest.mark.parametrize(
    "content",
    [
        GLOVE,
        "3 2\n" + GLOVE,  # word2vec
        "3 2\n" + GLOVE.replace("\n", " \n"),  # fastText
        GLOVE.replace("\n", "\r\n"),
        "\ufeff" + GLOVE,
        gzip.compress(GLOVE.encode(), mtime=0),
    ],
)
def test_every_format(content: str | bytes, tmp_path: Path) -> None:
    assert read(tmp_path, content) == EXPECTED


def test_the_first_words_are_taken_and_the_first_spelling_of_each(tmp_path: Path) -> None:
    content = "The 1 1\nthe 2 2\nTHE 3 3\ncat 4 4\ndog 5 5\nbroken\n"
    assert read(tmp_path, content, 2) == {"the": [1, 1], "cat": [4, 4]}
    assert list(read(tmp_path, content, 3)) == ["the", "cat", "dog"]


def test_odd_words(tmp_path: Path) -> None:
    content = (
        "the 1 2\n. . . 3 4\nat name@domain.com 3 4\n1984 5 6\n\u00a0 7 8\n\x85 9 1\na\u2028b 2 3\n"
    )
    assert list(read(tmp_path, content)) == ["the", "1984", "\u00a0", "\x85", "a\u2028b"]
    assert list(read(tmp_path, b"caf\xff 1 2\n")) == ["caf\udcff"]  # not UTF-8, and harmless


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "contains no word vectors"),
        ("3 2\n", "contains no word vectors"),
        ("the\n", "1: not a word and its numbers: 'the"),
        ("\n", "1: not a word and its numbers"),
        ("the 1 2\ncat 1\n", "2: not a word and 2 numbers: 'cat 1"),
        ("the 1 2\ncat 1 2 3\n", "2: not a word and 2 numbers"),
        ("2 3\nthe 1 2\n", "2: not a word and 3 numbers"),
        ("the 1 2\n\ncat 1 2\n", "2: not a word and 2 numbers"),
        ("the 1 x\n", "1: not a word and 2 numbers"),
        ("the 1 nan\n", "1: not a word and 2 numbers"),
        ("the 1 1e39\n", "1: not a word and 2 numbers"),  # too great for float32
        ("the\t1\t2\n", "1: not a word and its numbers"),
        ("(S (NP it))\n", "1: not a word and 2 numbers"),
        ("1 999999999\nthe 1 2\n", "2: not a word and 999999999 numbers"),
        ("the" + 5_000 * " 1" + "\n", "1: not a word and 5000 numbers"),
        ("x" * 3_000_000, "1: not a word and its numbers"),
        (bytes(range(256)) * 9, "1: not a word and its numbers"),
        (b"\x80\x02}q\x00.", "1: not a word and its numbers"),
        (gzip.compress(9 * GLOVE.encode(), mtime=0)[:-9], "damaged: "),
    ],
)
def test_files_of_something_else(content: str | bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'v.txt'}:") and reason in message
    assert "\n" not in message and len(message) < 300 + len(str(tmp_path))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.txt: cannot be read"):
        WordVectors.read(tmp_path / "none.txt", 5)


def vectors(**rows: tuple[float, ...]) -> WordVectors:
    return WordVectors(tuple(rows), torch.tensor([*rows.values()]))


ANIMALS_AND_TREES = vectors(
    the=(-1.0, 0.5), zebra=(3.0, 0.1), oak=(0.2, 1.0), lion=(1.0, 0.0), cat=(9.0, 1.0),
    elm=(0.0, 7.0), mp3=(1.0, 1.0),
)  # fmt: skip


def test_words_are_classed_by_the_angle_between_vectors() -> None:
    classes = ANIMALS_AND_TREES.classes({"zebra", "lion", "elm", "oak", "unheard-of"}, 2)
    assert set(classes) == {"the", "zebra", "oak", "lion", "cat", "elm"}, "mp3 has a digit"
    assert classes["zebra"] == classes["lion"] == classes["cat"], "cat is frequent, but like them"
    assert classes["oak"] == classes["elm"]
    assert {classes["zebra"], classes["oak"]} == {0, 1}


def test_classes_of_few_words_or_none() -> None:
    assert ANIMALS_AND_TREES.classes(set(), 2) == {}
    assert ANIMALS_AND_TREES.classes({"unheard-of", "mp3"}, 2) == {}
    assert ANIMALS_AND_TREES.classes({"zebra"}, 0) == {}
    assert set(ANIMALS_AND_TREES.classes({"zebra"}, 2).values()) == {0}
    found = ANIMALS_AND_TREES.classes({"zebra", "elm", "oak"}, 100_000)
    assert len({found[word] for word in ("zebra", "elm", "oak")}) == 3
    alike = vectors(a=(0.0, 0.0), b=(0.0, 0.0), c=(1.0, 1.0), d=(1e38, 1e38))
    found = alike.classes({"a", "b", "c"}, 3)
    assert found["c"] == found["d"] and found.keys() == {"a", "b", "c", "d"}


def test_classes_are_the_same_whatever_computes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    words = tuple(f"{letter}{other}" for letter in "abcdefghij" for other in "abcdefghijklmno")
    some = WordVectors(words, torch.randn(len(words), 8))
    expected = some.classes(set(words[::2]), 12)
    assert set(expected.values()) == set(range(12))
    monkeypatch.setattr("reranker.plugins.training.corpus.word_vectors._PRODUCTS", 40)
    assert some.classes(set(words[::2]), 12) == expected


SYMBOLS = ["<eos>", "<unk>", "(<unk>", ")<unk>", "<unks/1>", "<*/1>", "<*/2>", "a", "b", "c", "d"]
CROSS = vectors(a=(4.0, 1.0), b=(-2.0, 1.0), c=(1.0, 2.0), d=(1.0, 0.0), e=(1.0, 2.0))


def started(classes: dict[str, int], given: WordVectors, size: int) -> tuple[Tensor, Tensor]:
    """Return the embedding before and after."""
    torch.manual_seed(2)
    model = AwdLstmDoc(Config(len(SYMBOLS), size, (size,), components=()))
    before = model.embedding.detach().clone()
    start_embedding(model, Vocabulary(SYMBOLS, classes), given)
    return before, model.embedding.detach()


def test_embeddings_start_from_the_vectors() -> None:
    before, after = started({}, CROSS, 3)
    assert torch.equal(after[:7], before[:7]), "symbols without a vector"
    assert torch.equal(after[:, 2], before[:, 2]), "vectors have two numbers only"
    # Of a to d the mean is (1, 1): (3, 0), (-3, 0), (0, 1) and (0, -1), main axes already. Their
    # eight numbers have the standard deviation sqrt((9 + 9 + 1 + 1) / 7).
    step = before.std() / (20 / 7) ** 0.5
    found = after[7:, :2] / step
    expected = torch.tensor([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert torch.allclose(found * found[[0, 2], [0, 1]].sign(), expected, atol=1e-4)
    assert after[7:, :2].std() == pytest.approx(before.std().item(), rel=1e-4)


def test_vectors_longer_than_the_embedding_keep_their_main_axes() -> None:
    before, after = started({}, CROSS, 1)
    step = before.std() / (18 / 3) ** 0.5  # of 3, -3, 0 and 0
    found = after[7:, 0] / step
    assert torch.allclose(found * found[0].sign(), torch.tensor([3.0, -3, 0, 0]), atol=1e-4)


def test_a_class_starts_from_the_mean_of_its_words() -> None:
    # (2.5, 0.5) is the mean of a and d; no word is in class 2.
    before, after = started({"a": 1, "d": 1, "c": 0}, CROSS, 2)
    assert torch.equal(after[:4], before[:4])
    assert torch.equal(after[6], before[6])
    assert torch.allclose(after[4], (after[7] + after[10]) / 2, atol=1e-6)
    assert torch.equal(after[5], after[4])


@pytest.mark.parametrize(
    "given",
    [
        vectors(z=(1.0, 2.0)),
        vectors(a=(1.0, 2.0)),
        vectors(a=(1.0, 2.0), b=(1.0, 2.0), c=(1.0, 2.0)),
    ],
)
def test_vectors_that_tell_nothing_leave_the_embedding_as_it_is(given: WordVectors) -> None:
    before, after = started({}, given, 2)
    assert torch.equal(before, after)


def test_huge_numbers_leave_no_infinity() -> None:
    huge = vectors(a=(3e38, 0.0), b=(-3e38, 1.0), c=(0.0, 3e38), d=(2e38, 3e38))
    before, after = started({"a": 1, "d": 1}, huge, 2)
    assert torch.isfinite(after).all()
    assert not torch.equal(after, before)
