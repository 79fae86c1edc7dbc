"""Gold trees: which are refused, and whose tags candidates get."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTree, GoldTrees
from reranker.trees import Tree
from tests.reranker.small_files import write

CAT = "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NNP Ann))) (. .)))"


def test_gold_tags() -> None:
    plain, tagged = (GoldTree(CAT, gold_tags) for gold_tags in (False, True))
    for tree in (CAT, Tree.from_string(CAT)):
        assert plain.score(tree).counts == tagged.score(tree).counts
    mistagged = CAT.replace("NN", ".")
    assert plain.score(mistagged).status == "error"
    assert tagged.score(mistagged).status == "valid"
    # Nothing to tag: EVALB says why.
    assert tagged.score("(NP (DT a") == plain.score("(NP (DT a")
    assert "gold words" in tagged.score("(NP (DT a))").reason
    assert tagged.oracle(["(NP (DT a", mistagged]) == 1


def test_gold_tags_of_a_tree_with_traces() -> None:
    gold = GoldTree(CAT.replace("(. .)", "(NP-SBJ (-NONE- *-1)) (. .)"), gold_tags=True)
    score = gold.score(CAT.replace("NN ", ", "))
    assert (score.status, score.correct_tags, score.f1) == ("valid", 4, 100.0)


def test_trees_in_order_as_often_as_asked_for(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.mrg", f"\n( (NP\n  (NN dog)))\n{CAT}\n\n")
    gold = GoldTrees([file], False)
    assert [str(place) for place in gold.places] == [f"{file}:2", f"{file}:4"]
    for _ in range(2):
        assert [tree.tree.leaves()[0] for tree in gold] == ["dog", "the"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("(NP (DT a", "2 bracket(s) left open at the end: '(NP (DT a'"),
        ("(NP (DT a)))", "more brackets are closed than opened"),
        ("(TOP )", "the tree has no words"),
        ("the cat", "a tree starts with '(', not with 'the'"),
        ("(NP (NN cat dog))", "text that is not '(TAG word)': 'cat'"),
        ("(NP (DT \udcff", "byte 0xff is not UTF-8"),
    ],
)
@pytest.mark.parametrize("gold_tags", [False, True])
def test_what_is_not_a_gold_tree_is_named_with_its_line(
    broken: str, reason: str, gold_tags: bool, tmp_path: Path
) -> None:
    text = f"{CAT}\n{broken}\n{CAT}\n".encode(errors="surrogateescape")
    file = write(tmp_path / "gold.mrg", text)
    with pytest.raises(InputError) as raised:
        GoldTrees([file], gold_tags)
    assert str(raised.value).startswith(f"{file}:2: not a gold tree: {reason}")


def test_a_file_without_trees(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gold\.mrg: no gold trees"):
        GoldTrees([write(tmp_path / "gold.mrg", "\n\n")], False)
