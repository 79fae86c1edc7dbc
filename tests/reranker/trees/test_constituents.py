from __future__ import annotations

import pytest

from reranker.trees.constituents import constituents


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("x", []),
        ("(S x )S", [(0, 1, "S", 0)]),
        ("(S (VP x )VP )S", [(0, 1, "S VP", 0)]),
        ("(S a (VP (NP b c )NP )VP )S", [(0, 3, "S", 0), (1, 3, "VP NP", 2)]),
        ("(S (S a )S (S b )S )S", [(0, 2, "S", 0), (0, 1, "S", 1), (1, 2, "S", 4)]),
        ("(X )X (S a )S", [(0, 1, "S", 2)]),
        ("(S (X )X a )S", [(0, 1, "S", 0)]),
        ("(S (X )X (VP a (X )X )VP )S", [(0, 1, "S VP", 0)]),
    ],
)
def test_constituents(tokens: str, expected: list[tuple[int, int, str, int]]) -> None:
    assert [tuple(each) for each in constituents(tokens.split())] == expected
