"""Ranked output, read again."""

from __future__ import annotations

import pytest

from reranker.errors import InputError
from reranker.outputs.ranked_file import read_ranked


@pytest.mark.parametrize(
    "entry, reason",
    [
        ('"tree": "(S (NN a))", "tree": "(S (NN b))"', "'tree' is given twice"),
        ('"index": 0', "no 'tree'"),
        ('"tree": 1', "a tree is not a string"),
    ],
)
def test_a_line_that_is_not_a_sentence_is_named(entry: str, reason: str) -> None:
    lines = ['{"ranking": [{"tree": "(S (NN a))"}]}', "", f'{{"ranking": [{{{entry}}}]}}']
    message = f"ranked.jsonl:3: not a sentence of `rerank --output ranked`: {reason}"
    with pytest.raises(InputError) as raised:
        list(read_ranked("ranked.jsonl", lines))
    assert str(raised.value) == message


@pytest.mark.parametrize(("version", "named"), [("3", "3"), ("1", "1"), ('"2"', "'2'")])
def test_a_line_of_another_version_is_named(version: str, named: str) -> None:
    tree = '"ranking": [{"tree": "(S (NN a))"}]'
    known = [f"{{{tree}}}", f'{{"version": 2, {tree}}}']
    assert len([*read_ranked("ranked.jsonl", known)]) == 2
    with pytest.raises(InputError) as raised:
        list(read_ranked("ranked.jsonl", [f'{{"version": {version}, {tree}}}']))
    assert str(raised.value) == (
        "ranked.jsonl:1: not a sentence of `rerank --output ranked`: "
        f"of version {named}, and this program reads 2"
    )
