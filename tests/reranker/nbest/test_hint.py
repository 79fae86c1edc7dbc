"""Lists of one candidate, some of which are n-best lists read as trees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.nbest import read_nbest
from reranker.nbest.guess import HINT_LISTS, with_hint

RUNS = "(S (NP (PRP It)) (VP (VBZ runs)))"
FLAT = "(S (NP (PRP It) (VBZ runs)))"
GO = "(S (VP (VB Go)))"
END = "(S (VP (VB End)))"
ONE = "every list has one candidate"
TRY = (
    f"{ONE}, and neighbouring trees share their words: if they are n-best lists, with a blank line "
    "after each, try format berkeley"
)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"{RUNS}\n{GO}\n{END}\n", ONE),
        (f"{RUNS}\n{RUNS}\n{GO}\n{END}\n{GO}\n", ONE),  # a sentence twice
        (f"{RUNS}\n{FLAT}\n{GO}\n{GO}\n", TRY),
        (f"{RUNS}\n{FLAT}\n{FLAT}\n", TRY),
        (f"{RUNS}\n{GO}\n\n{RUNS}\n", ONE),  # neighbours are next to each other
        (f"1\ta\n-1\n{RUNS}\n\n1\tb\n-1\n{GO}\n\n", ONE),
        (f"1\ta\n-1\n{RUNS}\n\n2\tb\n-1\n{GO}\n-2\n(S\n\n", None),
        (f"{RUNS}\n", None),
    ],
)
def test_hints(tmp_path: Path, text: str, hint: str | None) -> None:
    path = tmp_path / "lists.txt"
    path.write_text(text)
    hints: list[str] = []
    assert list(with_hint(read_nbest(path), hints.append)) == list(read_nbest(path))
    assert hints == ([] if hint is None else [hint])


def test_pooled_files_have_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "lists.txt"
    path.write_text(f"{RUNS}\n{GO}\n")
    hints: list[str] = []
    assert len(list(with_hint(read_nbest(path, path), hints.append))) == 2
    assert not hints


def test_a_long_first_list_is_read_as_berkeley_s_with_the_hint_s_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 500-best lists: the first blank line is beyond the head of the file.
    path = tmp_path / "lists.txt"
    path.write_text(f"{RUNS}\n{FLAT}\n" * 250 + f"\n{GO}\n\n")
    assert main(["validate", str(path)]) == 0
    messages = capsys.readouterr().err
    assert (
        messages
        == f"rerank: {TRY.replace('every list', f'each of the first {HINT_LISTS} lists')}\n"
    )
    assert main(["validate", str(path), "--format", "berkeley"]) == 0
    output = capsys.readouterr()
    assert re.search(r"in the longest list +500\n", output.out)
    assert output.err == ""
