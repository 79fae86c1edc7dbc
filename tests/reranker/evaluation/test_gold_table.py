"""The table of ``--gold``: lists are named as people count them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.errors import InputError
from reranker.evaluation.brackets import GoldTrees
from reranker.evaluation.gold_table import GoldTable
from reranker.nbest.candidates import from_candidates

TREE = "(TOP (S (NP (PRP We)) (VP (VBD left))))"


@pytest.mark.parametrize(("name", "shown"), [("1", "2"), ("s2", "s2"), ("0", "0")])
def test_a_list_without_a_gold_tree_is_named_by_its_number(
    name: str, shown: str, tmp_path: Path
) -> None:
    (tmp_path / "gold.mrg").write_text(f"{TREE}\n")
    table = GoldTable(GoldTrees([tmp_path / "gold.mrg"], gold_tags=False))
    table.add(from_candidates([TREE], id="0"), 0)
    with pytest.raises(InputError, match=f"gold.mrg: no gold tree for list {shown}$"):
        table.add(from_candidates([TREE], id=name), 0)
