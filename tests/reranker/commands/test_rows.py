"""Tables: one row a line, whatever files are called and sentences hold."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests.program import rerank
from tests.reranker.small_files import write

TREES = "(TOP (S (NP (PRP She)) (VP (VBZ sees) (NP (SYM =1+1)))))\n" * 2
NAMES = ("a\tb.mrg", "a\nb.mrg", "a\rb.mrg", "a\x0bb\x0cb.mrg", "a\u2028b.mrg", 'a"b,c.mrg')

COMMANDS = [
    "grep NP FILE", "grep NP FILE --count", "grep NP FILE --csv", "grep NP FILE --count --csv",
    "grep --patterns patterns FILE", "grep --patterns patterns FILE --csv",
    "measure FILE", "measure FILE --by sentence", "measure FILE --csv",
    "clauses FILE", "clauses FILE --csv", "clauses FILE --count",
    "check FILE --parser-model spans.pt", "check FILE --parser-model spans.pt --csv",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, span_model: str) -> Path:
    write(tmp_path / "patterns", "NP\n")
    shutil.copy(span_model, tmp_path / "spans.pt")
    return tmp_path


@pytest.mark.plugins
@pytest.mark.parametrize("command", COMMANDS)
def test_no_name_of_a_file_makes_a_row(command: str, folder: Path) -> None:
    def lines(name: str) -> list[str]:
        write(folder / name, TREES)
        words = [name if word == "FILE" else word for word in command.split()]
        done = rerank(*words, folder=folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.removesuffix("\n").split("\n")

    delimiter = "," if "--csv" in command else "\t"

    def widths(rows: list[str]) -> list[int]:
        return [len(row) for row in csv.reader(rows, delimiter=delimiter)]

    plain = lines("plain.mrg")
    for name in NAMES:
        rows = lines(name)
        assert len("\n".join(rows).splitlines()) == len(rows) == len(plain)
        assert widths(rows) == widths(plain)


@pytest.mark.plugins
def test_no_word_is_a_formula(folder: Path) -> None:
    write(folder / "=cmd.mrg", TREES)
    with_commas, with_tabs = (
        rerank("grep", "SYM", "=cmd.mrg", *flags, folder=folder).stdout.splitlines()
        for flags in (["--csv"], [])
    )
    assert with_commas[1].startswith("'=cmd.mrg,1,") and ",'=1+1," in with_commas[1]
    assert with_tabs[0].startswith("=cmd.mrg:1\t") and "\t=1+1\t" in with_tabs[0]
