"""Stanza itself, with tiny models."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.errors import InputError
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.trees.tree import Tree
from tests.reranker.plugins.other_parsers.tiny_stanza import LANGUAGE, build
from tests.reranker.small_files import write

pytestmark = [
    pytest.mark.slow,
    # Not imported here, which takes seconds, for those who leave out the slow tests.
    pytest.mark.skipif(not find_spec("stanza"), reason="the package stanza is not installed"),
    pytest.mark.filterwarnings("default"),  # Stanza's and torch's warnings
]

WORDS = ["We", "saw", "the", "man", "-LRB-", "with", "[", "``", "it", "''", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("stanza")
    build(path)
    return str(path / LANGUAGE)


def trees(found: Sequence[NBest | str]) -> list[str]:
    return [each if isinstance(each, str) else each.candidates[0].text for each in found]


def test_the_tree_of_each_sentence_is_stanzas_own(folder: str) -> None:
    import stanza

    parser = create_parser("stanza", ParserSettings(model=folder))
    sentences = [Sentence.of(WORDS), Sentence.of(["We"]), Sentence.of(WORDS[:4])]
    found = trees(parser.parse(sentences))
    for tree, sentence in zip(map(Tree.from_string, found), sentences, strict=True):
        assert tree.leaves() == list(sentence.words)
    assert found == [trees(parser.parse([sentence]))[0] for sentence in sentences]
    pipeline = stanza.Pipeline(
        LANGUAGE,
        dir=str(Path(folder).parent),
        processors="tokenize,pos,constituency",
        tokenize_pretokenized=True,
        download_method=None,
    )
    words = ["We", "saw", "the", "man", "(", "with", "[", '"', "it", '"', "."]
    own = Tree.from_string(str(pipeline([words]).sentences[0].constituency))
    assert Tree.from_string(found[0]) == own.with_words(WORDS)


def test_from_the_command_line(
    tmp_path: Path, folder: str, models: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = write(tmp_path / "t.txt", "We saw it (again). The man met it.")
    flags = ["--parser", "stanza", "--parser-model", folder, "--models", *models]
    assert main(["parse", text, *flags, "--threads", "1", "--jobs", "2"]) == 0
    leaves = [Tree.from_string(line).leaves() for line in capsys.readouterr().out.splitlines()]
    assert leaves == [
        ["We", "saw", "it", "-LRB-", "again", "-RRB-", "."],
        ["The", "man", "met", "it", "."],
    ]


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs --parser-model"):
        create_parser("stanza", ParserSettings())
    for model in (str(tmp_path / "en"), str(tmp_path)):
        with pytest.raises(InputError, match="parser stanza"):
            create_parser("stanza", ParserSettings(model=model))
