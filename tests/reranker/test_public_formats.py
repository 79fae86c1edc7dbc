"""Every reader refuses every public format of the field by its name, or reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from reranker.commands.main import main
from reranker.errors import KindError
from reranker.nbest import ReadOptions, read_nbest
from reranker.nbest.tokens_file import read_sentences
from reranker.plugins.analysis.passages import read_passages
from reranker.plugins.cluster.work import _text
from reranker.process.cancellation import Cancellation
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests.reading import Body, read
from reranker.service.settings import load_settings
from reranker.text.given import sentences
from reranker.text.reading import Text
from reranker.text.running import read_running_text
from reranker.trees.treebank import read_sentences as read_gold
from reranker.trees.treebank import read_treebank
from reranker.work.texts import TextSettings
from tests.reranker.public_formats import (
    LATE,
    LISTS,
    OTHER,
    PACKED,
    TREEBANKS,
    TREES,
    WRITTEN,
    Example,
)
from tests.reranker.small_files import standard_input

Capture = pytest.CaptureFixture[str]
Reader = Callable[[str], Any]
"""Reads the file of this name; its error, or what it prints, is the refusal."""

READ = {each.name for each in TREEBANKS}
GOLD = "(S (NP (PRP It)) (VP (VBZ runs)) (. .))\n"
PARSER = ["--parser-command", "false"]
MODELS = ["--models", "model.pt"]


def command(*arguments: str) -> Reader:
    """Return a reader that runs a command, with FILE in the place of the file's name."""
    return lambda path: main([path if each == "FILE" else each for each in arguments])


def items(read: Callable[[str], Iterable[object]]) -> Reader:
    """Return a reader that consumes everything a function reads."""
    return lambda path: [*read(path)]


def body(path: Any, media: str) -> Reader:
    """Return a reader of a request's body with the file's text."""

    def run(file: str) -> None:
        content = Path(file).read_bytes()
        if media == "application/json":
            content = json.dumps({"text": decoded(file)}).encode()
        try:
            read(
                Body(path, content, media, None),
                Limits.from_settings(load_settings({})),
                Cancellation(),
            )
        except RequestError as error:
            assert error.status == 422
            raise KindError(error.message) from error

    return run


def decoded(file: str) -> str:
    return Path(file).read_bytes().decode("utf-8", "replace")


OF_TEXT: dict[str, Reader] = {
    "parse": command("parse", "FILE", *PARSER, *MODELS),
    "parse --tokens": command("parse", "FILE", "--tokens", *PARSER, *MODELS),
    "grep --as text": command("grep", "NP", "FILE", "--as", "text", *PARSER),
    "measure --as tokens": command("measure", "FILE", "--as", "tokens", *PARSER),
    "surprisal": command("surprisal", "FILE", *MODELS),
    "adapt --text": command("adapt", "--text", "FILE", *PARSER, *MODELS, "--out", "adapted"),
    "adapt, later": items(lambda path: Text([path], "tokens")),
    "train --text": items(lambda path: read_running_text([path])),
    "analyse": items(read_passages),
    "cluster --text": items(lambda path: _text(path, TextSettings("text", "gum", 60), print)),
    "/parse": body("/parse", "text/plain"),
    "/parse in JSON": body("/parse", "application/json"),
    "Python": items(lambda path: sentences(decoded(path))),
    "Python, lines": items(lambda path: sentences([*decoded(path).splitlines(), "", ""])),
}
OF_TREES: dict[str, Reader] = {
    "--nbest": items(read_nbest),
    "--nbest --format trees": items(lambda p: read_nbest(p, options=ReadOptions("trees"))),
    "--nbest --format bllip": items(lambda p: read_nbest(p, options=ReadOptions("bllip"))),
    "convert": command("convert", "FILE", "--to", "trees"),
    "convert --clean": command("convert", "FILE", "--to", "trees", "--clean"),
    "eval": command("eval", "gold.mrg", "FILE"),
    "eval, gold": command("eval", "FILE", "gold.mrg"),
    "compare": command("compare", "gold.mrg", "FILE", "gold.mrg"),
    "show": command("show", "FILE"),
    "tune": command("tune", "FILE", "gold.mrg"),
    "grep --as trees": command("grep", "NP", "FILE", "--as", "trees"),
    "measure --as trees": command("measure", "FILE", "--as", "trees"),
    "train --train": items(lambda path: read_treebank([path])),
    "--gold": items(lambda path: read_gold([path])),
}
OF_BOTH: dict[str, Reader] = {
    "grep": command("grep", "NP", "FILE", *PARSER),
    "measure": command("measure", "FILE", *PARSER),
}


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gold.mrg").write_text(GOLD)
    Path("model.pt").symlink_to(models[0])


def refusal(reader: Reader, example: Example, capsys: Capture) -> str:
    """Return a reader's message about a file that it refuses; "" if it reads the file."""
    Path(example.name).write_bytes(example.content)
    try:
        status = reader(example.name)
    except KindError as error:
        return str(error)
    printed = capsys.readouterr()
    return printed.err if status == 2 and not printed.out else ""


@pytest.mark.parametrize("reader", [*OF_TEXT, *OF_TREES, *OF_BOTH])
def test_files_of_other_kinds_are_refused_by_name(reader: str, capsys: Capture) -> None:
    read = {**OF_TEXT, **OF_TREES, **OF_BOTH}[reader]
    # A text in JSON and Python's strings have no bytes.
    has_bytes = not reader.startswith(("Python", "/parse in"))
    examples = [each for each in OTHER + LATE if has_bytes or each in WRITTEN + LATE]
    if reader == "/parse":  # a byte order mark says how to decode a body
        examples = [each for each in examples if each.name != "utf16.txt"]
    if reader not in OF_TEXT:
        examples = [each for each in examples if each.name.removeprefix("late-") not in READ]
    messages = {each.name: refusal(read, each, capsys) for each in examples}
    wrong = {
        each.name: messages[each.name]
        for each in examples
        if each.looks_like not in messages[each.name].partition("looks like ")[2]
    }
    assert not wrong


@pytest.mark.parametrize("reader", [*OF_TREES, *OF_BOTH])
def test_treebanks_are_read(reader: str, capsys: Capture) -> None:
    read = {**OF_TREES, **OF_BOTH}[reader]
    messages = {each.name: refusal(read, each, capsys) for each in TREEBANKS}
    if reader in ("tune", "--nbest --format bllip"):  # these want lists
        assert all(messages.values())
    else:
        assert [name for name in messages if "looks like" in messages[name]] == []


@pytest.mark.parametrize("reader", [each for each in OF_TEXT if each != "Python, lines"])
def test_trees_are_no_text(reader: str, capsys: Capture) -> None:
    for example in LISTS + TREES:
        messages = refusal(OF_TEXT[reader], example, capsys)
        assert "looks like trees; to rank them, rerank --nbest" in messages, example.name


@pytest.mark.parametrize("reader", ["parse", "surprisal"])
def test_standard_input_and_packed_files_are_judged(reader: str, capsys: Capture) -> None:
    read = OF_TEXT[reader]
    with standard_input(OTHER[0].content):
        assert read("-") == 2
    assert "standard input: not text: looks like CoreNLP's XML" in capsys.readouterr().err
    assert "looks like CoreNLP's XML" in refusal(read, Example("t.gz", "", PACKED), capsys)


def test_one_of_several_files_is_named_and_the_others_are_read(capsys: Capture) -> None:
    others = [each for each in WRITTEN if each.name in ("ud.conllu", "amr.txt")]
    for example in others:
        Path(example.name).write_bytes(example.content)
    assert main(["grep", "NP", "ud.conllu", "gold.mrg", "amr.txt", "--count"]) == 1
    printed = capsys.readouterr()
    assert "gold.mrg\t1\t1" in printed.out
    assert "ud.conllu: not text: looks like annotation in columns" in printed.err
    assert "amr.txt: not text: looks like trees or graphs" in printed.err

    Path("trees").mkdir()
    Path("trees/1.mrg").write_text(GOLD)
    Path("trees/2.mrg").write_bytes(others[0].content)
    assert main(["convert", "--to", "trees", "--clean", "trees"]) == 1
    printed = capsys.readouterr()
    assert printed.out == f"(TOP {GOLD[:-1]})\n"
    assert "trees/2.mrg: not trees: looks like annotation in columns" in printed.err


def test_words_with_their_tags_are_read_as_sentences() -> None:
    """--tokens reads them; other kinds are refused."""
    for example in WRITTEN:
        Path(example.name).write_bytes(example.content)
    Path("tabs.txt").write_text("It\tPRP\tB-NP\nruns\tVBZ\tB-VP\n.\t.\tO\n")
    Path("slashes.txt").write_text("It/PRP runs/VBZ ./.\n")
    for name in ("tabs.txt", "slashes.txt"):
        (sentence,) = read_sentences(name)
        assert (sentence.words, sentence.tags) == (("It", "runs", "."), ("PRP", "VBZ", "."))
    for name in ("ud.conllu", "conll2000.txt", "stanford.tagged", "vertical.txt", "amr.txt"):
        with pytest.raises(KindError, match=f"{name}: not sentences: looks like "):
            list(read_sentences(name))
