"""A field that is not known is an error that names it; those that Cohere's clients send and that
change nothing are taken."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.reranker.ensembles import CANDIDATES
from tests.service.requests.test_limits import error_of

TREES = [*CANDIDATES[:2]]
LIST = {"query": "We saw the man with eyes .", "documents": TREES}


@pytest.mark.parametrize(
    "path, body, param, meant",
    [
        ("/rerank", {**LIST, "top_k": 1}, "top_k", "is 'top_n' meant?"),
        ("/v1/rerank", {**LIST, "top_k": 1}, "top_k", "is 'top_n' meant?"),
        ("/v2/rerank", {**LIST, "top_k": 1}, "top_k", "is 'top_n' meant?"),
        ("/rerank", {**LIST, "lm_weigth": 1}, "lm_weigth", "'lm_weight'"),
        ("/rerank", {**LIST, "texts": TREES}, "texts", "there is no field 'texts' here"),
        # Forms of other services than Cohere's.
        ("/rerank", {"query": "", "texts": TREES}, "texts", "there is no field 'texts' here"),
        ("/rerank", {**LIST, "truncation": True}, "truncation", "there is no field 'truncation'"),
        ("/rerank", {"candidates": TREES}, "candidates", '{"sentences": [{"candidates": [...]}]}'),
        ("/parse", {"words": [["It"]]}, "words", "there is no field 'words' here"),
        ("/rerank", {**LIST, "x" * 99: 1}, "x" * 99, "there are top_n, criterion, lm_weight"),
        (
            "/rerank",
            {**LIST, "documents": [{"text": TREES[0], "scor": 1}]},
            "documents.0.scor",
            "'score'",
        ),
        ("/rerank", {"documents": [{"tree": TREES[0]}]}, "documents.0.text", "required"),
        ("/rerank", {"sentences": [{"candidates": [], "name": "s1"}]}, "sentences.0.name", "id"),
        (
            "/rerank",
            {"sentences": [{"candidates": [{"tree": TREES[0], "scores": 1}]}]},
            "sentences.0.candidates.0.scores",
            "is 'score' meant?",
        ),
        ("/score", {"trees": TREES, "return_token_score": 1}, "return_token_score", "_scores'"),
        ("/validate", {"nbest": "(S (NN a))", "forma": "ptb"}, "forma", "is 'format' meant?"),
        ("/parse", {"text": "It runs.", "top_k": 1}, "top_k", "is 'top_n' meant?"),
        # In the query.
        ("/rerank?top_k=1", LIST, "top_k", "is 'top_n' meant?"),
        ("/rerank?format=ptb", LIST, "format", "there is no field 'format' here"),
        ("/rerank?return_trees=false", LIST, "return_trees", "there is no field"),
        ("/parse?bean=1", {"text": "It runs."}, "bean", "there is no field 'bean'"),
        ("/score?criterion=perplexity", {"trees": TREES}, "criterion", "there are none"),
        ("/v2/rerank?top_n=1", LIST, "top_n", "there are none"),
    ],
)
def test_an_unknown_field_is_named(
    http: httpx.Client, path: str, body: Any, param: str, meant: str
) -> None:
    answer = http.post(path, json=body)
    assert answer.status_code == 422, answer.text
    error = error_of(answer)
    assert (error["code"], error["param"]) == ("invalid", param)
    assert meant in error["message"]


@pytest.mark.parametrize(
    "fields",
    [
        # Cohere, version 1
        {"model": "rerank-v3.5", "rank_fields": ["text"], "max_chunks_per_doc": 10},
        {"model": None, "rank_fields": None, "return_documents": False},
        # Cohere, version 2
        {"model": "rerank-v3.5", "max_tokens_per_doc": 4096, "priority": 0},
    ],
)
def test_fields_of_other_services(http: httpx.Client, fields: dict[str, Any]) -> None:
    plain = http.post("/rerank", json=LIST).json()["results"]
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        answer = http.post(path, json={**LIST, **fields})
        assert answer.status_code == 200, answer.text
        found = [(one["index"], one["relevance_score"]) for one in answer.json()["results"]]
        assert found == [(one["index"], one["relevance_score"]) for one in plain]


def test_documents_may_have_names(http: httpx.Client) -> None:
    documents = [{"text": tree, "id": str(n), "title": "x"} for n, tree in enumerate(TREES)]
    named = http.post("/rerank", json={**LIST, "documents": documents}).json()["results"]
    assert named == http.post("/rerank", json=LIST).json()["results"]
    refused = http.post("/rerank", json={**LIST, "rank_fields": ["title"]})
    assert error_of(refused)["param"] == "rank_fields.0"


def test_version_2_of_cohere(http: httpx.Client) -> None:
    """Its answers have no documents, and say which version they are."""
    body = {"model": "any", **LIST, "documents": [*TREES, "(broken"], "top_n": 2}
    answer = http.post("/v2/rerank", json=body, headers={"X-Request-ID": "mine"}).json()
    first = http.post("/v1/rerank", json=body).json()
    assert answer["results"] == [
        {name: one[name] for name in ("index", "relevance_score")} for one in first["results"]
    ]
    assert (answer["id"], answer["meta"]) == ("mine", {"api_version": {"version": "2"}})
    assert [one["index"] for one in answer["rejected"]] == [2]
    assert "meta" not in first
    other = http.post("/v2/rerank", json={"sentences": [{"candidates": TREES}]})
    assert (other.status_code, error_of(other)["param"]) == (422, "documents")
    text = http.post("/v2/rerank", content=b"(S", headers={"Content-Type": "text/plain"})
    assert text.status_code == 415


@pytest.mark.parametrize(
    "path, body, param",
    [
        ("/rerank", '{"nbest": "(S (NN a))", "top_n": 1, "top_n": 2}', "top_n"),
        ("/rerank", '{"nbest": "(S (NN a))", "top_n": 1, "top\\u005fn": 1}', "top_n"),
        (
            "/rerank",
            '{"sentences": [{"candidates": [{"tree": "(S (NN a))"}, {"tree": "", "tree": ""}]}]}',
            "sentences.0.candidates.1.tree",
        ),
        ("/v2/rerank", '{"documents": ["(S (NN a))"], "priority": [{"a": 1, "a": 2}]}', "a"),
        ("/parse", '{"text": "It runs.", "text": "It ran."}', "text"),
        ("/score", '{"trees": [], "trees": ["(S (NN a))"]}', "trees"),
        ("/validate", '{"nbest": "(S (NN a))", "nbest": "(S (NN a))"}', "nbest"),
        # In the query.
        ("/rerank?top_n=1&top_n=2", '{"nbest": "(S (NN a))"}', "top_n"),
        ("/parse?top_n=1&top%5fn=1", '{"text": "It runs."}', "top_n"),
        ("/models/reload?fewer=true&fewer=false", "", "fewer"),
    ],
)
def test_a_field_that_is_given_twice_is_named(
    http: httpx.Client, path: str, body: str, param: str
) -> None:
    answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    error = error_of(answer)
    assert error["code"] == "invalid"
    assert error["param"].endswith(param)
    assert error["message"] == f"{param.rpartition('.')[2]!r} is given twice"


def test_a_timeout_that_is_given_twice_is_named(http: httpx.Client) -> None:
    headers = [("X-Request-Timeout", "1"), ("X-Request-Timeout", "600")]
    answer = http.post("/rerank", json=LIST, headers=headers)
    assert (answer.status_code, error_of(answer)["param"]) == (422, "X-Request-Timeout")
