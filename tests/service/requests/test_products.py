"""Lists of a request are bounded before the words of their sentence are put into them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.service_load.bombs import PRODUCTS
from reranker.nbest import NBest
from reranker.nbest.notation import Skeleton
from reranker.process.cancellation import Cancellation
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests.reading import Body, read
from reranker.service.settings import load_settings

SHORT = "(S XX )S"
LIMITS = Limits.from_settings(load_settings({}))


def read_lists(path: str, **fields: object) -> list[NBest]:
    body = Body(path, json.dumps(fields).encode(), "application/json", None)
    return read(body, LIMITS, Cancellation()).lists


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the number of words to which each candidate was fitted."""
    counts: list[int] = []
    fit = Skeleton.fit

    def counted(skeleton: Skeleton, count: int) -> None:
        counts.append(count)
        fit(skeleton, count)

    monkeypatch.setattr(Skeleton, "fit", counted)
    return counts


@pytest.mark.parametrize("name", [name for name in PRODUCTS if "long word" not in name])
def test_a_product_is_refused_before_the_work(name: str, added: list[int]) -> None:
    """A thousand candidates and a sentence of 12,000 words were 12 million words, then refused."""
    bomb = PRODUCTS[name]()
    assert bomb.path in ("/rerank", "/validate")
    with pytest.raises(RequestError) as caught:
        body = Body(bomb.path, bomb.body, bomb.media, None)
        read(body, LIMITS, Cancellation())
    assert (caught.value.status, caught.value.code) == (422, "over-limit")
    assert caught.value.param in json.loads(bomb.body)
    assert sum(added) <= 40_000  # two characters each, of 50,000 and the text's


def test_a_sentence_longer_than_any_tree_names_the_limit(added: list[int]) -> None:
    with pytest.raises(RequestError) as caught:
        read_lists("/rerank", query="a " * 1501, documents=[SHORT])
    assert "1501 words" in caught.value.message and "max_tree_tokens" in caught.value.message
    assert added == []


def test_all_lists_of_a_request_share_what_there_is(added: list[int]) -> None:
    """Each alone would be read."""
    one = {"tokens": ["a"] * 1000, "candidates": [SHORT] * 5}
    assert len(read_lists("/rerank", sentences=[one] * 6)) == 6
    with pytest.raises(RequestError):
        read_lists("/rerank", sentences=[one] * 7)


@pytest.mark.parametrize(
    "fields",
    [
        {"documents": ["(S (NN a))"], "query": "a " * 12_000},  # which is not needed
        {"sentences": [{"tokens": ["a"] * 1600, "candidates": ["", "(())"]}]},  # failed parses
        {"sentences": [{"tokens": ["word"] * 40, "candidates": [SHORT] * 250}]},
        {"sentences": [{"tokens": ["word"] * 40, "candidates": [SHORT]}] * 1000},
        {"sentences": [{"tokens": ["word"] * 30, "candidates": [f"(S {'XX ' * 29})S"] * 1000}] * 5},
    ],
)
def test_what_was_read_still_is(fields: dict[str, Any]) -> None:
    lists = read_lists("/rerank", **fields)
    assert not any(each.code == "too-long" for nbest in lists for each in nbest.rejected)
