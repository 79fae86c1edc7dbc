"""``rerank surprisal`` as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest

import reranker
from reranker.commands.main import main
from reranker.plugins.surprisal.surprisal import COLUMNS
from tests.reranker.ensembles import save
from tests.reranker.plugins.surprisal.toy import checkpoint

Capture = pytest.CaptureFixture[str]
TEXT = "It rains here. Boxes (and otters)!\n\nDon't rain.\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("surprisal")
    save(folder / "backward.pt", checkpoint(1, backward=True))
    return save(folder / "forward.pt", checkpoint(1))


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text(TEXT)


def run(model: str, *flags: str) -> int:
    return main(["surprisal", "text.txt", "--models", model, "--beam", "10", *flags])


def rows(text: str) -> list[dict[str, str]]:
    first, _, rest = text.partition("\n")
    assert first.startswith("# bits; models forward.pt ")
    return list(csv.DictReader(io.StringIO(rest), delimiter="\t"))


def test_a_row_for_each_word_as_it_is_written(model: str, capsys: Capture) -> None:
    assert run(model) == 0
    out = capsys.readouterr().out
    size = len(checkpoint(1).vocabulary)
    assert f"beam 10; words outside {size} symbols: P(class) x P(letters" in out
    printed = rows(out)
    assert list(printed[0]) == list(COLUMNS)
    assert [row["text"] for row in printed] == TEXT.split()
    assert [TEXT[int(row["start"]) : int(row["end"])] for row in printed] == TEXT.split()
    assert [row["sentence"] for row in printed] == list("11122233")
    # "here." is two tokens, "otters)!" three, "Don't" two.
    assert [row["tokens"] for row in printed] == list("11212322")
    for row in printed:
        parts = float(row["syntactic"]) + float(row["lexical"])
        assert float(row["surprisal"]) == pytest.approx(parts, abs=2e-4)
    assert printed[0]["unknown"] == "0" and float(printed[0]["spelling"]) == 0
    assert printed[5]["unknown"] == "3" and float(printed[5]["spelling"]) > 0


def test_tokens_sum_to_words_and_words_to_the_sentence(model: str, capsys: Capture) -> None:
    assert run(model, "--unit", "nats", "--json") == 0
    words = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run(model, "--unit", "bits", "--json", "--rows", "token") == 0
    tokens = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for by_word, by_token in zip(words, tokens, strict=True):
        total = by_word["surprisal"]
        assert math.log(2) * by_token["surprisal"] == pytest.approx(total, abs=1e-3)
        for sentence, nats in ((by_word, 1.0), (by_token, math.log(2))):
            summed = sum(row["surprisal"] for row in sentence["words"]) + sentence["end"]
            assert nats * summed == pytest.approx(total, abs=2e-3)
        assert len(by_token["words"]) == sum(row["tokens"] for row in by_word["words"])


def test_command_and_python_agree_and_threads_change_nothing(model: str, capsys: Capture) -> None:
    assert run(model, "--threads", "1") == 0
    first = capsys.readouterr().out
    assert run(model, "--threads", "3") == 0
    assert capsys.readouterr().out == first
    printed = rows(first)
    read = reranker.surprisal(TEXT, models=model, beam=10)
    assert [f"{row['surprisal']:.4f}" for row in read.rows()] == [
        row["surprisal"] for row in printed
    ]
    alone = [reranker.surprisal(text, models=model, beam=10).rows() for text in
             ("It rains here.", "Boxes (and otters)!", "Don't rain.")]  # fmt: skip
    assert [row["surprisal"] for rows in alone for row in rows] == [
        row["surprisal"] for row in read.rows()
    ]
    (of_a_list,) = reranker.surprisal(["It rains here."], models=model, beam=10)
    assert of_a_list.rows() == read[0].rows()
    words = ["It", "rains", "here", "."]
    assert [
        row["text"] for row in reranker.surprisal([words], models=model, beam=10).rows()
    ] == words


def test_pandas(model: str) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas, which the extra ray brings")
    frame = reranker.surprisal(TEXT, models=model, beam=3).to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(COLUMNS) and len(frame) == len(TEXT.split())


def test_a_picture(model: str) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra: pip install '.[train]'")
    assert run(model, "--plot", "bars.svg", "--out", "out.tsv") == 0
    assert "surprisal (bits)" in Path("bars.svg").read_text()


def test_what_is_too_long_loses_no_word(model: str, capsys: Capture) -> None:
    Path("text.txt").write_text("it rains here today\n\nit rains\n")
    assert run(model, "--longest", "3") == 1
    out, err = capsys.readouterr()
    printed = rows(out)
    assert [row["text"] for row in printed] == ["it", "rains", "here", "today", "it", "rains"]
    assert [row["surprisal"] == "NA" for row in printed] == [True] * 4 + [False] * 2
    assert "text.txt:1: not read: 4 words, more than 3" in err
    assert "1 sentence not read as written" in err


@pytest.mark.parametrize(
    "content",
    [b"x\n", "\u4e2d\u6587\u3002\n".encode(), b"\xff it\n", b"# % \\ $x$\n", b"it " * 299 + b"\n"],
    ids=["one word", "other script", "not UTF-8", "signs", "299 words"],
)
def test_bad_input(content: bytes, model: str, capsys: Capture) -> None:
    Path("text.txt").write_bytes(content)
    assert run(model, "--beam", "1", "--tokens") == int(b"\xff" in content)
    printed = rows(capsys.readouterr().out)
    assert len(printed) == len(content.split())
    assert all(math.isfinite(float(row["surprisal"])) for row in printed)


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--models", "BACKWARD"], "backward.pt is a language model that reads from the end"),
        (["--models", "none.pt"], "none.pt: no such file"),
        (["--beam", "3000"], "beam must be an integer from 1 to 2,000, got 3000"),
        (["--plot", "x.txt"], "x.txt: its name has to end in one of"),
        (["--out", "text.txt"], "is also an input"),
        (["--plot", "same.png", "--out", "same.png"], "two outputs are the same file"),
        (["--resume"], "standard output cannot be resumed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_flags(flags: list[str], message: str, model: str, capsys: Capture) -> None:
    backward = str(Path(model).with_name("backward.pt"))
    given = [backward if flag == "BACKWARD" else flag for flag in flags]
    assert run(model, *given) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_no_text(content: str, model: str, capsys: Capture) -> None:
    Path("text.txt").write_text(content)
    assert run(model) == 2
    assert "text.txt: no text" in capsys.readouterr().err


def test_lists_give_hindsight(model: str, capsys: Capture) -> None:
    Path("lists.txt").write_text(
        "2\ts1\n-1\n(S1 (S (NP (PRP It)) (VBZ rains)))\n-2\n(S1 (S (NP (PRP It) (VBZ rains))))\n\n"
        "1\ts2\n-1\n(S1 (WHAT (PRP It)))\n\n1\ts3\n-1\n(S1 (S (NP (PRP It)\n\n"
    )
    assert main(["surprisal", "--nbest", "lists.txt", "--models", model]) == 1
    out, err = capsys.readouterr()
    printed = rows(out)
    assert [row["text"] for row in printed] == ["It", "rains", "It"]
    assert [row["hindsight"] == "NA" for row in printed] == [False, False, True]
    assert "surprisal" not in printed[0]
    assert "no tree whose labels the model knows" in err and "unbalanced" in err
    assert main(["surprisal", "text.txt", "--nbest", "lists.txt"]) == 2
    assert main(["surprisal"]) == 2
    assert "name either files of text or, after --nbest" in capsys.readouterr().err
