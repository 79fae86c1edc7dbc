"""What ``rerank`` answers to commands and files given the wrong way."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.commands.main import main
from tests.reranker.small_files import bllip, write

Capture = pytest.CaptureFixture[str]

FLAT = "(S1 (NP (DT The) (NN end)))"


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("tun", "unknown command: tun; did you mean tune?"),
        ("evaluate", "unknown command: evaluate; did you mean eval?"),
        ("validat", "unknown command: validat; did you mean validate?"),
        (
            "xyz",
            "unknown command: xyz; there are adapt, analyse, cluster, compare, completion, "
            "convert, eval, generate, models, parse, serve, show, train, tune, validate "
            "(see rerank --help)",
        ),
        (
            "foo.txt",
            "foo.txt is not a command; to rerank n-best lists, or to parse plain text:\n"
            "  rerank --nbest foo.txt\n"
            "  rerank parse foo.txt",
        ),
    ],
)
def test_words_that_are_no_command(word: str, answer: str, capsys: Capture) -> None:
    assert main([word, "--gold", "x"]) == 2
    assert capsys.readouterr().err == f"rerank: {answer}\n"


def test_help_is_a_command(capsys: Capture) -> None:
    for word in ("help", "--help"):
        with pytest.raises(SystemExit) as stopped:
            main([word])
        assert stopped.value.code == 0
        assert capsys.readouterr().out.startswith("usage: rerank [-h]")


def test_an_existing_file_is_not_a_misspelt_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tun", "")
    assert main(["tun"]) == 2
    assert "\n  rerank --nbest tun\n  rerank parse tun\n" in capsys.readouterr().err


def test_globs_of_nbest_files(tmp_path: Path, models: list[str], capsys: Capture) -> None:
    for name in ("a1.txt", "a2.txt", "[b].txt"):
        write(tmp_path / name, bllip((FLAT,)))
    pattern = str(tmp_path / "a*.txt")
    assert main(["--nbest", pattern, "--models", *models, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().err
    assert "2 candidates ranked" in printed
    assert printed.index("a1.txt: format bllip") < printed.index("a2.txt: format bllip")
    assert main(["validate", pattern]) == 0
    assert main(["validate", str(tmp_path / "[b].txt")]) == 0  # a file's own name comes first
    capsys.readouterr()
    assert main(["--nbest", str(tmp_path / "c*.txt"), "--models", *models]) == 2
    assert capsys.readouterr().err == f"rerank: {tmp_path / 'c*.txt'}: no file matches\n"


@pytest.mark.parametrize("command", [["convert", "--to", "trees"], ["--models", "x.pt", "--nbest"]])
def test_a_missing_folder_is_named(
    command: list[str], tmp_path: Path, models: list[str], capsys: Capture
) -> None:
    file = write(tmp_path / "n.txt", bllip((FLAT,)))
    command = [models[0] if word == "x.pt" else word for word in command]
    out = tmp_path / "missing" / "x.txt"
    assert main([*command, file, "--out", str(out)]) == 2
    expected = f"rerank: {out}: there is no folder {out.parent}; create it first\n"
    assert capsys.readouterr().err == expected
