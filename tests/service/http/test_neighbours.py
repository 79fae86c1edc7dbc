"""No score depends on the candidates and sentences beside it: over HTTP, as in Python and in files,
it is the tree's alone."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker import Reranker
from tests.reranker.nbest.any_candidates import Given, given_lists


def of_the_good(lists: Given, ranking: list[dict[str, Any]], name: str) -> dict[str, float]:
    good = {one.text for one in lists.good}
    scores = {lists.mixed[one["index"]]: one[name] for one in ranking}
    return {text: score for text, score in scores.items() if text in good}


@pytest.mark.filterwarnings("ignore:.*since a list has the trees of one sentence")
def test_scores_are_those_of_each_tree_alone(http: httpx.Client, models: list[str]) -> None:
    reranker = Reranker.load(models)

    def post(path: str, **body: object) -> Any:
        answer = http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @settings(deadline=None, max_examples=8)
    @given(st.lists(given_lists(), min_size=1, max_size=3))
    def holds(lists: list[Given]) -> None:
        alone = [
            {one.text: reranker.rerank([one.text])[0].score for one in each.good} for each in lists
        ]
        entries = [{"candidates": each.mixed} for each in lists]
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        for body in ({"sentences": entries}, {"nbest": text}):
            for each, scores, found in zip(
                lists, alone, post("/rerank", **body)["sentences"], strict=True
            ):
                assert of_the_good(each, found["ranking"], "relevance_score") == scores
        for each, scores in zip(lists, alone, strict=True):
            found = post("/rerank", query="She left .", documents=each.mixed)["results"]
            assert of_the_good(each, found, "relevance_score") == scores
            python = [
                {"index": one.index, "score": one.score} for one in reranker.rerank(each.mixed)
            ]
            assert of_the_good(each, python, "score") == scores
        trees = [text for each in lists for text in each.mixed]
        results = post("/score", trees=trees)["results"]
        assert [one["log_probability"] for one in results] == reranker.score(trees)

    holds()
