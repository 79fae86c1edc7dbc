"""``rerank grep --patterns``, and the nodes that names stand for."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.trees.patterns.pattern import Pattern
from reranker.trees.tree import Tree
from reranker.work.matches import matches
from reranker.work.parses import Parses
from tests.reranker.small_files import write

Capture = pytest.CaptureFixture[str]
TREES = """(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))
(S (NP (PRP it)) (VP (VBD ran)))
"""
PATTERNS = "# of noun phrases\nplain\tNP <... {DT; NN}\n\nNP, not < PRP\tNP !< PRP\nVP\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("t.mrg"), TREES)
    write(Path("p.tsv"), PATTERNS)


@pytest.mark.usefixtures("files")
def test_a_matrix_of_sentences_and_patterns(capsys: Capture) -> None:
    assert main(["grep", "--patterns", "p.tsv", "t.mrg"]) == 0
    head = "file\tline\tid\tplain\tNP, not < PRP\tVP\n"
    assert capsys.readouterr().out == f"{head}t.mrg\t1\t\t2\t2\t1\nt.mrg\t2\t\t0\t0\t1\n"
    assert main(["grep", "t.mrg", "--csv", "t.mrg", "--patterns", "p.tsv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ['file,line,id,plain,"NP, not < PRP",VP', "t.mrg,1,,2,2,1"]
    assert len(lines) == 5


@pytest.mark.usefixtures("files")
def test_the_matches_of_many_patterns(capsys: Capture) -> None:
    assert main(["grep", "--patterns", "p.tsv", "--json", "t.mrg"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["pattern"], each["line"], each["match"]) for each in found] == [
        ("plain", 1, "the dog"),
        ("plain", 1, "a cat"),
        ("NP, not < PRP", 1, "the dog"),
        ("NP, not < PRP", 1, "a cat"),
        ("VP", 1, "saw a cat"),
        ("VP", 2, "ran"),
    ]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "patterns, flags, message",
    [
        ("VP\nx\tNP <\n", [], "p.tsv:2: pattern: expected a node"),
        ("x\tNP\nx\tVP\n", [], "p.tsv:2: a second column 'x'"),
        ("line\tNP\n", [], "p.tsv:1: a second column 'line'"),
        ("# nothing\n", [], "p.tsv: no patterns"),
        ("VP\n" + "".join(f"{n}\tVP\n" for n in range(1000)), [], "more than 1,000 patterns"),
        ("VP\n", ["--count"], "--count is for one pattern"),
        ("VP\n", ["--out", "p.tsv"], "p.tsv: is also an input"),
    ],
)
def test_what_is_wrong_with_patterns(
    patterns: str, flags: list[str], message: str, capsys: Capture
) -> None:
    write(Path("p.tsv"), patterns)
    assert main(["grep", "--patterns", "p.tsv", "t.mrg", *flags]) == 2
    printed = capsys.readouterr()
    assert message in printed.err and not printed.out


@pytest.mark.usefixtures("files")
def test_flags_without_their_others(capsys: Capture) -> None:
    assert main(["grep", "NP", "t.mrg", "--count", "--json"]) == 2
    assert "--count writes a table" in capsys.readouterr().err
    for given in (["NP"], ["--patterns", "p.tsv"]):
        with pytest.raises(SystemExit):
            main(["grep", *given])
        assert "required: FILE" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_spreadsheet_has_names_of_columns_and_of_nodes(capsys: Capture) -> None:
    assert main(["grep", "NP=a < NN=noun ?> VP=verb", "t.mrg", "--csv"]) == 0
    first, second = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert first == {
        "file": "t.mrg", "line": "1", "id": "", "probability": "", "before": "",
        "match": "the dog", "after": "saw a cat", "tree": "(NP (DT the) (NN dog))",
        "a": "(NP (DT the) (NN dog))", "noun": "(NN dog)", "verb": "",
    }  # fmt: skip
    assert second["verb"] == "(VP (VBD saw) (NP (DT a) (NN cat)))"
    assert main(["grep", "NP", "t.mrg", "--count", "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "file,sentences,matches,expected"


@pytest.mark.usefixtures("files")
def test_named_nodes_are_printed(capsys: Capture) -> None:
    assert main(["grep", "NP=a < NN=noun ?> VP=verb", "t.mrg"]) == 0
    rows = [line.split("\t")[6:] for line in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["a=(NP (DT the) (NN dog))", "noun=(NN dog)"],
        [
            "a=(NP (DT a) (NN cat))",
            "noun=(NN cat)",
            "verb=(VP (VBD saw) (NP (DT a) (NN cat)))",
        ],
    ]
    assert main(["grep", "S << NN=noun", "t.mrg", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["named"] == {
        "noun": [
            {"start": 1, "end": 2, "label": "NN", "tree": "(NN dog)", "probability": None},
            {"start": 4, "end": 5, "label": "NN", "tree": "(NN cat)", "probability": None},
        ]
    }


def test_named_nodes_have_probabilities() -> None:
    """That of the match and the node together."""
    first = Tree.from_string("(S (NP (NN x)) (VP (VB y) (NN z)))")
    second = Tree.from_string("(S (NP (NN x)) (VP (VB y) (NP (NN z))))")
    parses = Parses("f", 1, (first, second), (0.75, 0.25))
    (match,) = matches(Pattern("S < VP=v << (NN=n > NP)"), parses, names=True)
    assert match.probability == 1
    shown = {
        name: [(each.start, each.label, each.probability) for each in nodes]
        for name, nodes in match.named.items()
    }
    assert shown == {"v": [(1, "VP", 1)], "n": [(0, "NN", 1), (2, "NN", 0.25)]}


def test_a_name_used_again_stands_for_one_node_at_a_time() -> None:
    tree = Tree.from_string("(S (NP (NN x) (CC and) (NN x)) (VP (VB y)))")
    pattern = Pattern("NP < NN=a : =a $+ CC=c")
    (match,) = matches(pattern, Parses("f", 1, (tree,)), names=True)
    assert {name: [each.start for each in nodes] for name, nodes in match.named.items()} == {
        "a": [0],
        "c": [1],
    }
