"""``rerank augment`` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.commands.main import main

MUST = (
    "(TOP (S (NP (PRP I)) (VP (MD must) (VP (VB see) (NP (DT the) (JJ full) (NN moon)))) (. .)))\n"
)
READ = "(TOP (S (NP (PRP We)) (VP (MD can) (VP (VB read) (NP (NN text)))) (. .)))\n"


@pytest.fixture
def trees(tmp_path: Path) -> str:
    path = tmp_path / "trees.mrg"
    path.write_text(MUST + READ)
    return str(path)


def output(capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, list[str], list[str]]:
    """Return the exit status of the command, and the lines of its output and messages."""
    status = main(["augment", *flags])
    out, err = capsys.readouterr()
    return status, out.splitlines(), err.splitlines()


def test_counts_are_said(trees: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = output(capsys, trees, "--kinds", "commands", "questions")
    assert status == 0
    assert len(out) == 2
    assert "(VP (VB" in out[0]
    left_out = "left out: 0 of --not-in, 0 made before"
    assert err == [
        f"rerank: 2 trees made: commands 2, questions 0; {left_out}",
        "rerank: of 2 trees, 0 rejected",
    ]


def test_a_seed_makes_the_same_trees_whatever_is_beside_them(
    trees: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = output(capsys, trees)[1]
    assert output(capsys, trees)[1] == both
    assert any(output(capsys, trees, "--seed", str(seed))[1] != both for seed in range(2, 9))
    alone = tmp_path / "alone.mrg"
    alone.write_text(READ)
    assert output(capsys, str(alone))[1] == both[-len(output(capsys, str(alone))[1]) :]


def test_sentences_of_other_files_and_repeated_ones_are_left_out(
    trees: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.mrg"
    known.write_text("(TOP (NP (X FULL) (X MOON)))\n(TOP (NP (X The) (X full) (X moon)))\n")
    flags = [trees, trees, "--kinds", "headings"]
    _, (heading,), err = output(capsys, *flags)
    assert "left out: 0 of --not-in, 1 made before" in err[0]
    assert heading.lower().endswith("(jj full) (nn moon)))")
    status, out, err = output(capsys, *flags, "--not-in", str(known))
    assert (status, out) == (2, [])
    assert err == ["rerank: nothing to make: no tree matches a kind, but for known sentences"]


def test_a_share_of_a_kind_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = tmp_path / "many.mrg"
    nouns = [f"moon{number}" for number in range(300)]
    many.write_text("".join(READ.replace("text", noun) for noun in nouns))
    _, out, _ = output(capsys, str(many), "--kinds", "stops=0.25")
    assert 50 < len(out) < 100  # 75 are expected, with a standard deviation of 7.5


def test_a_broken_tree_is_rejected_and_the_others_are_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.mrg"
    path.write_text("(TOP (S (NP (PRP I))\n\n" + MUST)
    status, out, err = output(capsys, str(path), "--kinds", "commands")
    assert status == 1
    assert len(out) == 1
    assert f"{path}:1: tree rejected, unbalanced" in err[0]
    assert err[-1] == "rerank: of 2 trees, 1 rejected"


def test_trees_are_cleaned_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "raw.mrg"
    raw = MUST.replace("TOP", "").replace("NP (PRP", "NP-SBJ (PRP")
    path.write_text(raw.replace("(. .)", "(NP (-NONE- *))") + "(TOP (NP (DT a) moon))\n")
    status, out, err = output(capsys, str(path), "--kinds", "commands", "items")
    assert (status, len(out)) == (1, 2)
    assert not any("NONE" in each or "-SBJ" in each for each in out)
    assert f"{path}:2: tree rejected, not-a-tree: a leaf that is not (TAG word): (NP (" in err[0]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("poems", "no kind 'poems'; there are commands, headlines"),
        ("stops=2", "the share of stops must be above 0, at most 1"),
        ("stops=nan", "the share of stops must be above 0, at most 1"),
        ("stops=x", "the share of stops must be above 0, at most 1"),
    ],
)
def test_wrong_kinds_are_refused(
    kind: str, message: str, trees: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["augment", trees, "--kinds", kind])
    assert ending.value.code == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_read_is_not_overwritten(
    trees: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["augment", trees, "--out", trees]) == 2
    assert Path(trees).read_text() == MUST + READ
