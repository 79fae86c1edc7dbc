"""``rerank analyse`` as a user meets it: tables, JSON and pictures out, exit codes."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reranker.checkpoints.checkpoint import Checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.commands.main import main
from tests.reranker.ensembles import save, untrained
from tests.reranker.plugins.analysis.known_models import (
    THE_DOG,
    THE_DOG_BARKS,
    VOCABULARY,
    even_attention,
    known_memory,
    known_mixture,
    known_softmax,
)
from tests.reranker.small_files import write

Capture = pytest.CaptureFixture[str]

OF_MODELS = {  # kind -> a model it has something to say about, and more flags
    "variation": ("mixture.pt", []),
    "layers": ("mixture.pt", ["--sample", "1"]),
    "rank": ("softmax.pt", ["--tokens", "5"]),
    "classes": ("softmax.pt", ["--by", "tag"]),
    "windows": ("even.pt", []),
    "attention": ("memory.pt", []),
    "attention-sample": ("memory.pt", ["--tokens", "2"]),
    "attention-example": ("memory.pt", ["--token", "3"]),
}  # fmt: skip
OF_TEXT = {"variation": "mixture.pt", "layers": "mixture.pt", "rank": "softmax.pt",
           "perplexity": "softmax.pt", "last-word": "softmax.pt"}  # fmt: skip
Lines = list[list[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write models whose weights are known, two trees and the log of a run."""
    folder = tmp_path_factory.mktemp("analysis")
    backward = replace(
        known_memory((0.3, 0.7)), vocabulary=Vocabulary(VOCABULARY.symbols, backward=True)
    )
    members: dict[str, Checkpoint] = {
        "softmax": known_softmax(),
        "mixture": known_mixture((0.5, 0.3, 0.2), (1, 2)),
        "memory": known_memory((0.1, 0.2, 0.7)),
        "even": even_attention(2),
        "other": untrained(1),
        "backward": backward,
        "tags": untrained(1, reads_tags=True),
    }
    for name, member in members.items():
        save(folder / f"{name}.pt", member)
    write(folder / "dev.mrg", f"{THE_DOG}\n{THE_DOG_BARKS}\n")
    write(folder / "a.txt", "the dog\nbarks the\n")
    write(folder / "b.txt", "the\n")
    (folder / "run").mkdir()
    row = {"batches": 9, "tokens": 1000, "seconds": 90.0, "dev_perplexity": 9.5, "epoch": 0.5}
    write(folder / "run" / "log.jsonl", json.dumps(row) + "\n")
    return folder


def _of(folder: Path, kind: str, *models: str) -> list[str]:
    files = [str(folder / name) for name in models]
    return ["analyse", kind, "--models", *files, "--trees", str(folder / "dev.mrg")]


def _lines(capsys: Capture) -> Lines:
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_tables_of_mixtures(folder: Path, capsys: Capture) -> None:
    assert main(_of(folder, "variation", "mixture.pt")) == 0
    # std (0.5, 0.3, 0.2) = 0.15275, divided by 1/3
    assert _lines(capsys)[1] == ["mixture.pt", "3", "0.458", "0.200", "0.500"]
    assert main(_of(folder, "layers", "mixture.pt")) == 0
    half = ["50.0%"] * 5  # of all tokens and of each kind
    assert _lines(capsys)[1:] == [
        ["mixture.pt", "embedding", "1", "33.3%", *half],
        ["mixture.pt", "layer", "1", "2", "66.7%", *half],
    ]


def test_table_of_ranks(folder: Path, capsys: Capture) -> None:
    assert main(_of(folder, "rank", "softmax.pt", "mixture.pt")) == 0
    head, *rows = _lines(capsys)
    assert " ".join(head) == "model contexts symbols at most rank over 1e-3 tolerance"
    # The distribution is always the same. D = 2, so one softmax could have rank 4.
    assert [row[:6] for row in rows] == [
        ["softmax.pt", "7", "9", "4", "1", "1"],
        ["mixture.pt", "7", "9", "7", "1", "1"],
    ]


def test_tables_of_perplexities(folder: Path, capsys: Capture) -> None:
    assert main(_of(folder, "classes", "softmax.pt", "memory.pt")) == 0
    # 11 tokens: three of 1/16, six of 1/8 and two of 1/4: 2^(34/11) = 8.52
    assert _lines(capsys) == [
        ["predicted", "tokens", "softmax.pt", "memory.pt"],
        ["nouns", "2", "16.00", "16.00"],
        ["verbs", "1", "16.00", "16.00"],
        ["determiners", "2", "8.00", "8.00"],
        ["opening", "brackets", "2", "4.00", "4.00"],
        ["closing", "brackets", "2", "8.00", "8.00"],
        ["end", "2", "8.00", "8.00"],
        ["all", "11", "8.52", "8.52"],
    ]
    assert main([*_of(folder, "classes", "softmax.pt"), "--by", "tag"]) == 0
    assert [row[0] for row in _lines(capsys)[1:]] == [
        *("(NP", ")NP", "<eos>", "DT", "NN", "VBZ", "all")
    ]
    assert main(_of(folder, "windows", "even.pt", "memory.pt")) == 0
    assert _lines(capsys) == [
        ["architecture", "2", "3"],
        ["attention", "8.52"],
        ["recurrent-memory", "8.52"],
    ]
    assert main(["analyse", "curves", str(folder / "run")]) == 0
    assert _lines(capsys)[1] == ["run", "1", "9.500", "0.50", "1,000", "1.5", "9.500"]


def test_tables_of_attention(folder: Path, capsys: Capture) -> None:
    assert main(_of(folder, "attention", "memory.pt", "even.pt")) == 0
    # memory.pt sees the last three tokens, even.pt the outputs after the two before the last.
    assert _lines(capsys) == [
        ["steps", "back", "memory.pt", "even.pt"],
        ["2", "10.0%", "50.0%"],
        ["1", "20.0%", "50.0%"],
        ["0", "70.0%"],
        ["tokens", "7", "7"],
    ]
    assert main(_of(folder, "attention-sample", "memory.pt", "even.pt")) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    # All tokens with full windows: the last three of the first tree and four of the second.
    tokens = ["dog", ")NP", "<eos>", "dog", "barks", ")NP", "<eos>"]
    assert [line.split() for line in first.splitlines()] == [
        ["memory.pt", "2", "1", "0"],
        *([token, "10", "20", "70"] for token in tokens),
    ]
    assert [line.split() for line in second.splitlines()] == [
        ["even.pt", "2", "1"],
        *([token, "50", "50"] for token in tokens),
    ]


def test_an_example(folder: Path, capsys: Capture) -> None:
    command = _of(folder, "attention-example", "memory.pt", "softmax.pt", "even.pt")
    assert main([*command, "--tree", "2", "--token", "4"]) == 0
    lines = _lines(capsys)
    assert lines[:7] == [
        ["memory.pt", "softmax.pt", "even.pt"],
        ["(NP", "10.0%", "50.0%"],
        ["The", "20.0%", "50.0%"],
        ["dog", "70.0%"],
        ["->", "barks", "barks", "barks", "barks"],
        ["perplexity", "16.00", "16.00", "16.00"],
        ["1.", *["(NP", "-1.39"] * 3],  # log(1/4)
    ]
    # Five, then no more: four of the symbols with log(1/8).
    assert [line[0] for line in lines[7:]] == ["2.", "3.", "4.", "5."]
    assert all(line[2::2] == ["-2.08"] * 3 for line in lines[7:])


@pytest.mark.parametrize("kind", [*OF_MODELS, "curves"])
def test_pictures_and_json(kind: str, folder: Path, tmp_path: Path, capsys: Capture) -> None:
    if kind == "curves":
        command = ["analyse", kind, str(folder / "run"), "--by", "minutes"]
    else:
        model, flags = OF_MODELS[kind]
        command = [*_of(folder, kind, model), *flags]
    picture = tmp_path / "picture.png"
    assert main([*command, "--plot", str(picture)]) == 0
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert capsys.readouterr().out.count("\n") >= 2
    assert main([*command, "--json"]) == 0
    # NaN and Infinity, which Python would write and read, are no JSON.
    assert json.loads(capsys.readouterr().out, parse_constant=_no_number)


def _of_text(folder: Path, kind: str, model: str, *files: str) -> list[str]:
    given = "--passages" if kind == "last-word" else "--text"
    paths = [str(folder / name) for name in files]
    return ["analyse", kind, "--models", str(folder / model), given, *paths]


@pytest.mark.parametrize("kind", OF_TEXT)
def test_text_as_a_table_json_and_a_picture(kind: str, folder: Path, tmp_path: Path) -> None:
    command = _of_text(folder, kind, OF_TEXT[kind], "a.txt")
    picture, table = tmp_path / "picture.png", tmp_path / "table.txt"
    assert main([*command, "--plot", str(picture), "--out", str(table), "--threads", "1"]) == 0
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert table.read_text().count("\n") >= 2
    assert main([*command, "--json", "--out", str(table)]) == 0
    assert json.loads(table.read_text(), parse_constant=_no_number)


def test_perplexity_of_texts(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    scores = tmp_path / "scores.jsonl"
    command = _of_text(folder, "perplexity", "softmax.pt", "a.txt", "b.txt")
    command[4:4] = [str(folder / "memory.pt")]
    assert main([*command, "--token-scores", str(scores)]) == 0
    # a: 1/8 1/16 1/8 and 1/16 1/8 1/8, 2^(20/6) = 10.08; b: 1/8 1/8, 8; together 2^(26/8) = 9.51
    assert _lines(capsys) == [
        ["model", "a.txt", "b.txt", "all"],
        ["tokens", "6", "2", "8"],
        ["softmax.pt", "10.08", "8.00", "9.51"],
        ["memory.pt", "10.08", "8.00", "9.51"],
        ["average", "10.08", "8.00", "9.51"],
    ]
    lines = [json.loads(line) for line in scores.read_text().splitlines()]
    assert [[token for token, _ in line] for line in lines] == [
        ["the", "dog", "<eos>"], ["barks", "the", "<eos>"], ["the", "<eos>"],
    ]  # fmt: skip
    assert sum(value for line in lines for _, value in line) == pytest.approx(-26 * math.log(2))


def test_models_of_other_vocabularies_are_not_averaged(
    folder: Path, tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    command = _of_text(folder, "perplexity", "softmax.pt", "a.txt")
    command[4:4] = [str(folder / "other.pt")]
    assert main(command) == 0
    assert [line[0] for line in _lines(capsys)] == ["model", "tokens", "softmax.pt", "other.pt"]
    assert "have different vocabularies" in caplog.text
    assert main([*command, "--token-scores", str(tmp_path / "s.jsonl")]) == 2
    assert "needs one model, or several with the same vocabulary" in capsys.readouterr().err


def test_last_words(
    folder: Path, tmp_path: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    write(folder / "p.txt", "the dog\nthe\nthe zebra\n")
    command = _of_text(folder, "last-word", "softmax.pt", "a.txt", "p.txt")
    assert main(command) == 1
    assert caplog.messages == [f"{folder / 'p.txt'}:2: left out: one word, with nothing before it"]
    # Last words dog 1/16 and the or <unk> 1/8, sqrt(128) = 11.31; all: 2^(20/6) and 2^(19/6).
    assert _lines(capsys)[1:] == [
        ["softmax.pt", "a.txt", "2", "0.0%", "11.31", "10.08", "0"],
        ["softmax.pt", "p.txt", "2", "0.0%", "11.31", "8.98", "1"],
    ]
    assert main([*command, "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert found["sets"]["p.txt"]["rejected"] == 1
    write(folder / "p.txt", "\n")
    assert main(command) == 2
    assert "contains no passage of two words or more" in capsys.readouterr().err


def test_trees_or_text(folder: Path, capsys: Capture) -> None:
    command = _of_text(folder, "variation", "mixture.pt", "a.txt")
    assert main([*command, "--sample", "1"]) == 2
    assert "--sample draws trees" in capsys.readouterr().err
    for flags in ([*command, "--trees", str(folder / "dev.mrg")], command[:4]):
        with pytest.raises(SystemExit, match="2"):
            main(flags)
    assert main([*_of_text(folder, "rank", "softmax.pt", "a.txt"), "--tokens", "all"]) == 0
    capsys.readouterr()
    assert main(_of_text(folder, "perplexity", "backward.pt", "a.txt")) == 2
    assert "backward.pt: a backward model, which cannot read" in capsys.readouterr().err


def test_an_infinite_perplexity_is_null_in_json(
    folder: Path, tmp_path: Path, capsys: Capture
) -> None:
    """A model that will not have what comes: log P is minus infinity in float32 for two thousand
    nats a token."""
    member = known_softmax()
    member.model.decoder_bias[0] += 2000.0
    save(tmp_path / "sure.pt", member)
    trees = ["--trees", str(folder / "dev.mrg")]
    assert (
        main(["analyse", "classes", "--models", str(tmp_path / "sure.pt"), *trees, "--json"]) == 0
    )
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=_no_number)
    assert ": null" in text


def _no_number(text: str) -> Any:
    raise AssertionError(text)


def test_everything_unrounded_as_json(folder: Path, capsys: Capture) -> None:
    assert main([*_of(folder, "layers", "mixture.pt"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["tokens"] == {"words": 5, "opening": 2, "closing": 2, "end": 2}
    assert found["layers"]["layer 1"]["softmaxes"] == 2
    assert found["layers"]["layer 1"]["weight"] == pytest.approx(0.5, abs=1e-6)
    assert main([*_of(folder, "attention", "memory.pt"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [each["steps_back"] for each in found["attention"]] == [2, 1, 0]
    weights = [each["weight"] for each in found["attention"]]
    assert weights == pytest.approx([0.1, 0.2, 0.7], abs=1e-6)


def test_a_backward_model(folder: Path, capsys: Capture, caplog: pytest.LogCaptureFixture) -> None:
    assert main(_of(folder, "classes", "backward.pt", "softmax.pt")) == 0
    assert not caplog.messages, "it predicts the same symbols"
    rows = _lines(capsys)
    assert rows[1] == ["nouns", "2", "16.00", "16.00"]
    assert rows[-1] == ["all", "11", "8.52", "8.52"]
    command = _of(folder, "attention-example", "backward.pt")
    assert main([*command, "--tree", "2", "--token", "3"]) == 0
    assert _lines(capsys)[1:5] == [
        [")NP", "30.0%"],
        ["barks", "70.0%"],
        ["->", "dog", "dog"],
        ["perplexity", "16.00"],
    ]
    for kind, flags in (("attention-example", ["--token", "3"]), ("attention-sample", [])):
        assert main([*_of(folder, kind, "backward.pt", "memory.pt"), *flags]) == 2
        reason = "backward.pt and memory.pt read in different directions"
        assert reason in capsys.readouterr().err


def test_perplexities_that_do_not_compare(
    folder: Path, capsys: Capture, caplog: pytest.LogCaptureFixture
) -> None:
    assert main(_of(folder, "classes", "softmax.pt", "memory.pt")) == 0
    assert not caplog.messages
    assert main(_of(folder, "classes", "softmax.pt", "other.pt")) == 0
    assert caplog.messages == [
        "softmax.pt and other.pt have different vocabularies: their perplexities are not comparable"
    ]


@pytest.mark.parametrize(
    ("kind", "model", "flags", "message"),
    [
        ("variation", "softmax.pt", [], "softmax.pt has only one softmax"),
        ("layers", "memory.pt", [], "memory.pt has only one softmax"),
        ("windows", "softmax.pt", [], "awd-lstm-doc has no window"),
        ("attention", "softmax.pt", [], "awd-lstm-doc has no attention"),
        ("attention-sample", "mixture.pt", [], "awd-lstm-doc has no attention"),
        ("attention-example", "memory.pt", ["--token", "9"], "no token 9; its tokens are"),
        ("attention-example", "memory.pt", ["--token", "1", "--tree", "3"], "there are 2 trees"),
        ("rank", "softmax.pt", ["--plot", "rank.pgn"], "has to end in one of"),
        ("rank", "no.pt", [], "no.pt"),
        ("rank", "tags.pt", [], "tags.pt: a language model that reads tags in place of words"),
    ],
)
def test_mistakes(
    kind: str, model: str, flags: list[str], message: str, folder: Path, capsys: Capture
) -> None:
    assert main([*_of(folder, kind, model), *flags]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and not printed.out


def test_mistakes_with_files(folder: Path, capsys: Capture) -> None:
    trees = folder / "dev.mrg"
    before = trees.read_bytes()
    assert main([*_of(folder, "rank", "softmax.pt"), "--plot", str(trees)]) == 2
    assert "is also an input" in capsys.readouterr().err
    assert trees.read_bytes() == before
    assert main(["analyse", "curves", str(trees)]) == 2
    assert "contains no evaluations" in capsys.readouterr().err
    assert main(["analyse", "curves", str(folder / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--sample", "0"], ["--sample", "two"], []])
def test_flags_that_are_none(flags: list[str], folder: Path, capsys: Capture) -> None:
    command = [*_of(folder, "variation", "mixture.pt"), *flags] if flags else ["analyse"]
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
