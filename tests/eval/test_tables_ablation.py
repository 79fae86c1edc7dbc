"""eval/tables/ablation.py: the members of an ensemble, together and apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.eval.scripts import module
from tests.reranker.plugins.tuning.tuned_lists import BEST, GOLD, WORSE, WORST, entry, ranked

ablation = module("tables/ablation.py")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def given(tmp_path: Path) -> str:
    """Write scores of three members. The first is right about the first six sentences, the second
    about the others; the third knows nothing. The member that is right outweighs the wrong one."""
    sentences = [
        [
            entry(0, WORST, 5.0, None, 1.0, 3.0, 1.0),
            entry(1, WORSE, 8.0, None, 4.0, 2.5, 1.5),
            entry(2, BEST, 3.5, None, *((0.0, 2.5) if number < 6 else (2.0, 0.0)), 1.0),
        ]
        for number in range(12)
    ]
    (tmp_path / "dev.jsonl").write_text(ranked(*sentences))
    (tmp_path / "dev.mrg").write_text(f"{GOLD}\n" * 12)
    return f"dev={tmp_path / 'dev.jsonl'},{tmp_path / 'dev.mrg'}"


def test_members_together_and_apart(given: str, capsys: Capture) -> None:
    flags = ["--members", "first", "second", "third", "--subset", "third", "first"]
    assert ablation.main([given, *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| models | dev | p | gap closed |"
    cells = {
        name: rest
        for name, *rest in ([c.strip() for c in line.strip("|").split("|")] for line in lines[2:])
    }
    assert list(cells) == [
        *("parser", "all", "first", "second", "third"),
        *("all but first", "all but second", "all but third", "third, first", "oracle"),
    ]
    assert cells["all"] == ["100.00", "-", "100%"]
    assert cells["oracle"] == ["100.00", "-", "-"]
    assert cells["parser"][0] == "0.00" and cells["parser"][1] == "< 0.001"
    # Six right of twelve, four brackets each; one bracket in each other tree, and that wrong.
    assert cells["first"][0] == f"{200 * 24 / (48 + 24 + 6):.2f}"
    assert cells["all but second"] == cells["third, first"]
    assert cells["all but third"][0] == "100.00" and cells["all but third"][1] == "1.000"
    assert cells["third"][0] == cells["parser"][0]


def test_shorter_lists(given: str, capsys: Capture) -> None:
    names = ["--members", "first", "second", "third"]
    assert ablation.main([given, *names, "--candidates", "2"]) == 0
    cells = [line.strip("|").split("|") for line in capsys.readouterr().out.splitlines()[2:]]
    found = {name.strip(): f1.strip() for name, f1, *_ in cells}
    # The best trees were third; the second ones have three of the gold tree's four brackets.
    assert found["oracle"] == found["second"] == f"{200 * 3 / 7:.2f}"
    assert found["parser"] == found["first"] == "0.00"


def test_what_makes_no_table(given: str, capsys: Capture) -> None:
    for flags, reason in (
        (["--members", "one", "two"], "dev: scored by 3 models, not 2"),
        (["--members", "a", "b", "c", "--subset", "d"], "--subset: d is none of a, b, c"),
    ):
        assert ablation.main([given, *flags]) == 2
        assert reason in capsys.readouterr().err
    for text, reason in (
        ("few", "few: a set is NAME=RANKED,GOLD"),
        ("x=none.jsonl,none.mrg", "none.jsonl: cannot be read"),
    ):
        assert ablation.main([text, "--members", "a"]) == 2
        assert reason in capsys.readouterr().err
