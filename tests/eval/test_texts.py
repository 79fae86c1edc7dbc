"""eval/texts: corpora of a user's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.text.running import read_running_text
from tests.eval.scripts import module
from tests.reranker.small_files import write

Capture = pytest.CaptureFixture[str]


corpus, size = module("texts/corpus.py"), module("texts/size.py")
sentence_ends = module("texts/sentence_ends.py")
end_counts = module("texts/end_counts.py")


def make(kind: str, names: list[str], out: Path, *flags: str) -> int:
    """Run the script; return its exit status."""
    status: int = corpus.main([kind, *names, "--out", str(out), *flags])
    return status


def files(folder: Path, *contents: str) -> list[str]:
    return [write(folder / f"{place}.txt", text) for place, text in enumerate(contents)]


def test_an_article_becomes_text(tmp_path: Path, capsys: Capture) -> None:
    # Ten articles, of which one each is held out.
    names = files(tmp_path, *["The cat , 1,984.5 of them\n\nThe cat ran\n"] * 10)
    out = tmp_path / "out"
    assert make("wikipedia", names, out, "--words", "6", "--held-out", "0.1") == 0
    assert (out / "wiki.train.txt").read_text().count("<article>") == 8
    for name in ("dev", "test"):
        lines = (out / f"wiki.{name}.txt").read_text().splitlines()
        # Five of seven words are as rare as `them`, which is the last of these.
        assert lines == ["<article>", "The cat , N of <unk>", "The cat ran", "</article>"]
        assert read_running_text([out / f"wiki.{name}.txt"])
    head, *rows, vocabulary = capsys.readouterr().out.splitlines()
    assert head.split() == ["part", "files", "lines", "words", "in", "vocabulary"]
    assert [row.split()[:4] for row in rows] == [
        ["wiki.train.txt", "8", "16", "72"],
        ["wiki.dev.txt", "1", "2", "9"],
        ["wiki.test.txt", "1", "2", "9"],
    ]
    assert vocabulary == "vocabulary: 6 words"


def test_the_same_seed_divides_alike() -> None:
    counts = {Path(str(number)): 10 for number in range(100)}
    one, two, rest = corpus.divided(counts, (0.05, 0.201), 1)
    assert (len(one), len(two), len(rest)) == (5, 21, 74)
    assert sorted([*one, *two, *rest]) == sorted(counts)
    assert corpus.divided(counts, (0.05, 0.201), 1) == [one, two, rest]
    assert corpus.divided(counts, (0.05, 0.201), 2) != [one, two, rest]
    with pytest.raises(InputError, match=r"2 files .* 3 parts"):
        corpus.divided(dict(list(counts.items())[:2]), (0.1, 0.1), 1)


def test_a_text_of_someone_else_stays(tmp_path: Path, capsys: Capture) -> None:
    names = files(tmp_path, *["a b\n"] * 3)
    (tmp_path / "lambada.dev.txt").write_text("mine")
    assert make("lambada", names, tmp_path) == 2
    assert "lambada.dev.txt: not a file that this run may replace" in capsys.readouterr().err
    assert (tmp_path / "lambada.dev.txt").read_text() == "mine"
    assert not (tmp_path / "lambada.train.txt").exists()


def test_lines_that_cannot_be_used_are_named_once(tmp_path: Path, capsys: Capture) -> None:
    names = files(tmp_path, "a b\n<article>\nc\n", "a\n", "b\n")
    bad = Path(write(tmp_path / "bad.txt", b"a\nb\xff c\n"))
    assert make("lambada", [*names, str(bad)], tmp_path / "out") == 1
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        f"{names[0]}:2: left out: <article> marks articles in what is written",
        f"{bad}:2: left out: byte 0xff is not UTF-8",
    ]
    assert "lambada.train.txt" in printed.out
    texts = [(tmp_path / "out" / f"lambada.{name}.txt").read_text() for name in ("train", "dev")]
    assert sum(text.count("\n") for text in texts) == 5
    assert "article" not in "".join(texts)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (("a\n", "\n", "b\n"), "1.txt: an article without words"),
        (("a\n", "b\n"), "2 files are too few to be divided into 3 parts"),
    ],
)
def test_files_that_cannot_be_used(
    contents: tuple[str, ...], message: str, tmp_path: Path, capsys: Capture
) -> None:
    names = files(tmp_path, *contents)
    assert make("wikipedia", names, tmp_path / "out") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert make("lambada", [str(tmp_path / "no.txt")], tmp_path / "out") == 2
    assert "no.txt: cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "becomes"),
    [("7", "N"), ("1,000.5", "N"), ("-3", "N"), ("1980s", "1980s"), (".", "."), ("N", "N")],
)
def test_numbers(word: str, becomes: str) -> None:
    assert corpus.without_number(word) == becomes


def test_the_size_of_a_text(tmp_path: Path, capsys: Capture) -> None:
    one = write(tmp_path / "a.txt", "<article>\na b\n\na\n</article>\n")
    two = write(tmp_path / "b.txt", "a b c\n")
    assert size.main([one, two]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        [one, "3", "3", "6", "3"],
        [two, "1", "3", "4"],
    ]
    assert size.main([str(tmp_path / "no.txt")]) == 2
    assert "no.txt: cannot be read" in capsys.readouterr().err
    assert size.main([]) == 2


def test_ends_of_sentences_in_running_text(tmp_path: Path, capsys: Capture) -> None:
    trees = [
        "(S (NP (NNP Dr.) (NNP Who)) (VP (VBZ is) (RB n't)) (-LRB- -LRB-) (RB here) (-RRB- -RRB-)"
        " (. .))",
        "(NP (NN Part) (CD 1))",
        "(S (`` ``) (VB Go) (. !) ('' ''))",
        "(X (SU /))",
    ]
    assert sentence_ends.ends(map(sentence_ends.Tree.from_string, trees)) == (
        'Dr. Who isn\'t (here). Part 1 "Go!"',
        {22, 29},
        {22},
    )
    name = write(tmp_path / "dev.mrg", "\n".join(trees))
    assert sentence_ends.main([name, "--show"]) == 0
    assert capsys.readouterr().out == (
        'missed: Dr. Who isn\'t (here). Part 1 |"Go!"\n'
        f"{'treebank':{len(name)}}  ends  found  right  precision  recall\n"
        f"{name}     2      1      1      100.0    50.0\n"
    )
    assert sentence_ends.main([str(tmp_path / "none.mrg")]) == 2
    assert "none.mrg: cannot be read" in capsys.readouterr().err


def test_counts_of_ends(tmp_path: Path, capsys: Capture) -> None:
    trees = [
        "(S (NP (PRP We)) (VP (VBD met) (NP (NNP Foo) (NNP Qux.) (NNP Smith))) (. .))",
        "(S (NP (PRP We)) (VP (VBD met) (NP (NNP Qux.) (NNP Smith) (NNP Jones))) (. .))",
    ]
    texts = [
        "He left Qux .",
        "We met Qux. in town .",
        'Then , " Go , " he said .',
        '" So , " said he .',
    ]
    treebank = write(tmp_path / "train.mrg", "\n".join(trees))
    text = write(tmp_path / "text.txt", "\n".join(texts))
    out = tmp_path / "ends.tsv"
    assert end_counts.main(["--treebanks", treebank, "--texts", text, "--out", str(out)]) == 0
    rows = [line.split("\t") for line in out.read_text().splitlines()[1:]]
    # One end; within a sentence once before lower case, a capital and two capitals each.
    assert ["token", "Qux", "1", "1", "1", "1", "0", "0", "0", "0", "0"] in rows
    # Both quotations, and none of the five sentences that begin with a capital: log 5 in halves.
    assert ["verb", "1.5", "said"] in rows
    assert rows[0] == [
        "start",
        "",
        *("0.1667", "0.8333", *["0.1667"] * 3, "0.1667", "0.1667", "0.1667"),
    ]
    counts = end_counts.EndCounts()
    counts.add("So Rome is Mr. Rome it is.")
    assert (counts.first, counts.capital, counts.lower) == (
        {"So": 1},
        {"Mr.": 1, "Rome": 1},
        {"Is": 2, "It": 1},
    )
    assert end_counts.main(["--texts", str(tmp_path / "no.txt"), "--out", str(tmp_path / "x")]) == 2
    write(tmp_path / "none.txt", "no mark\n")
    assert (
        end_counts.main(["--texts", str(tmp_path / "none.txt"), "--out", str(tmp_path / "x")]) == 2
    )
    assert "no sentence with a mark" in capsys.readouterr().err
