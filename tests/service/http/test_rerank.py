"""Over HTTP come the figures of the command, to the last digit, whatever is asked at once."""

from __future__ import annotations

import json
import random
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from reranker.commands.main import main
from reranker.service.requests import schemas
from tests.reranker.ensembles import CANDIDATES
from tests.service.conftest import EXAMPLE, shorter_lists

LISTS = shorter_lists(8)
TEXT = "\n\n".join(LISTS) + "\n"


@pytest.fixture(scope="module")
def command(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the output of ``rerank --output ranked`` for the text, by flags."""
    folder = tmp_path_factory.mktemp("ranked")
    nbest = folder / "nbest"
    nbest.write_text(TEXT, encoding="utf-8")

    def ranked(*flags: str) -> list[dict[str, Any]]:
        out = folder / ("".join(flags) + ".jsonl")
        if not out.exists():
            arguments = ["--nbest", str(nbest), "--models", *models, "--output", "ranked"]
            assert main([*arguments, *flags, "--out", str(out)]) == 0
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]

    return ranked


def comparable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a sentence of an answer or a line of the command, with the same names for the same
    things."""
    ranking = [
        {("score" if name == "relevance_score" else name): one[name] for name in one}
        for one in row["ranking"]
    ]
    names = ("id", "status", "best_index", "margin", "confidence", "better_than_first", "fallback")
    rejected = [(one["index"], one["line"], one["code"]) for one in row["rejected"]]
    return {**{name: row[name] for name in names}, "ranking": ranking, "rejected": rejected}


def test_a_whole_text_is_answered_as_the_command_does(http: httpx.Client, command: Any) -> None:
    headers = {"Content-Type": "text/plain"}
    query = {"lm_weight": 0.5, "return_token_scores": True}
    answer = http.post("/rerank", content=TEXT.encode(), params=query, headers=headers)
    expected = command("--lm-weight", "0.5", "--token-scores")
    assert len(expected) == 8
    found = answer.json()["sentences"]
    assert [comparable(one) for one in found] == [comparable(row) for row in expected]
    # In JSON too, where options of the body stand beside it.
    body = {"nbest": TEXT, "lm_weight": 0.5, "return_token_scores": True}
    assert http.post("/v1/rerank", json=body).json()["sentences"] == found


def test_drawings_are_added_on_request(http: httpx.Client) -> None:
    body = {"nbest": TEXT, "lm_weight": 0.5}
    plain = http.post("/rerank", json=body).json()["sentences"]
    answer = http.post("/rerank", json={**body, "return_drawings": True}).json()
    schemas.RerankAnswer.model_validate(answer)
    for one, other in zip(plain, answer["sentences"], strict=True):
        assert other.pop("doubt") is None, "only a parser of the service can tell"
        words = other.pop("words").split()
        for row in other["ranking"]:
            drawing = ElementTree.fromstring(row.pop("svg"))
            drawn = [each.text for each in drawing.iter() if each.get("class") == "word"]
            assert drawn == words and row.pop("confidence") is None
        assert one == other


def test_random_requests_at_once_are_answered_as_one_by_one(
    http: httpx.Client, command: Any
) -> None:
    by_setting = {
        (weight, criterion): command("--lm-weight", weight, "--criterion", criterion)
        for weight, criterion in (("1", "perplexity"), ("0.3", "token-perplexity"))
    }
    generator = random.Random(5)

    def ask(number: int) -> None:
        places = generator.sample(range(len(LISTS)), generator.randint(1, 4))
        weight, criterion = generator.choice(sorted(by_setting))
        body = {
            "nbest": "\n\n".join(LISTS[place] for place in places) + "\n",
            "lm_weight": float(weight),
            "criterion": criterion,
        }
        answer = http.post("/rerank", json=body, headers={"X-Request-ID": f"r{number}"}).json()
        assert answer["id"] == f"r{number}"
        assert f"criterion={criterion} lm-weight={weight} " in answer["signature"]
        expected = [comparable(by_setting[weight, criterion][place]) for place in places]
        assert [comparable(one) for one in answer["sentences"]] == expected

    before = together(http)
    with ThreadPoolExecutor(8) as threads:
        while together(http) == before:  # sooner or later two of eight wait for one engine
            list(threads.map(ask, range(12)))


def together(http: httpx.Client) -> float:
    """Return how many requests were scored beside another, batch by batch."""
    return metric(http, "rerank_batch_requests_sum") - metric(http, "rerank_batch_requests_count")


def metric(http: httpx.Client, name: str) -> float:
    for line in http.get("/metrics").text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.rpartition(" ")[2])
    return 0.0


def test_sentences_with_ids_scores_and_broken_trees(http: httpx.Client) -> None:
    body = {
        "sentences": [
            {
                "id": "saw",
                "tokens": ["We", "saw", "the", "man", "with", "eyes", "."],
                "candidates": [
                    {"tree": CANDIDATES[0], "score": -30.5},
                    "(S1 (S",  # no tree
                    {"tree": CANDIDATES[3], "score": -31.0},  # other tags only: a duplicate
                    {"tree": CANDIDATES[1], "score": -32.0},
                    CANDIDATES[2],  # no score, so it cannot be weighed
                    {"tree": "(S1 (NN Other))", "score": -1.0},
                ],
            },
            {"candidates": []},
            {"tokens": ["two words"], "candidates": [CANDIDATES[0]]},
        ],
        "lm_weight": 0.5,
    }
    answer = http.post("/rerank", json=body)
    assert answer.status_code == 200
    schemas.RerankAnswer.model_validate(answer.json())
    saw, empty, odd = answer.json()["sentences"]
    assert {one["index"] for one in saw["ranking"]} == {0, 2, 3}
    assert [(one["index"], one["code"]) for one in saw["rejected"]] == [
        (1, "unbalanced"),
        (4, "no-score"),
        (5, "wrong-length"),
    ]
    for one in saw["ranking"]:
        if one["duplicate_of"] is None:
            mixed = 0.5 * -one["nll"] + 0.5 * one["parser_score"]
            assert one["relevance_score"] == pytest.approx(mixed, abs=1e-4)
    assert [one["duplicate_of"] for one in saw["ranking"] if one["index"] == 2] == [0]
    first, *others = [one for one in saw["ranking"] if one["duplicate_of"] is None]
    gap = first["relevance_score"] - others[0]["relevance_score"]
    assert saw["margin"] == pytest.approx(gap, abs=1e-4)
    assert (empty["id"], empty["status"], empty["fallback"]) == ("1", "failed", "(TOP )")
    assert (odd["status"], odd["rejected"][0]["code"]) == ("failed", "bad-list")
    # 3 of the 4 readable trees differ: 20 tokens each with <eos>, one more where an NP is added.
    assert answer.json()["usage"]["candidates"] == 4


def test_top_n_and_trees_left_out(http: httpx.Client) -> None:
    body = {"sentences": [{"candidates": list(CANDIDATES)}]}
    whole = http.post("/rerank", json=body).json()["sentences"][0]
    short = http.post("/rerank?top_n=2", json={**body, "return_trees": False}).json()
    expected = [{k: v for k, v in one.items() if k != "tree"} for one in whole["ranking"][:2]]
    assert short["sentences"][0] == {**whole, "ranking": expected}
    # The body has the last word.
    one = http.post("/rerank?top_n=2", json={**body, "top_n": 1}).json()["sentences"][0]
    assert one["ranking"] == whole["ranking"][:1]


def test_one_list_in_the_shape_of_cohere(http: httpx.Client) -> None:
    documents = [*CANDIDATES[:3], "(broken"]
    whole = http.post("/rerank", json={"sentences": [{"candidates": documents}]}).json()
    ranking = whole["sentences"][0]["ranking"]
    own = [(one["index"], one["relevance_score"]) for one in ranking]
    body = {"model": "any", "query": "We saw the man with eyes .", "documents": documents}
    answer = http.post("/rerank", json={**body, "top_n": 2}).json()
    schemas.DocumentsAnswer.model_validate(answer)
    results = answer["results"]
    assert [(one["index"], one["relevance_score"]) for one in results] == own[:2]
    assert [one["document"]["text"] for one in results] == [documents[i] for i, _ in own[:2]]
    assert [one["index"] for one in answer["rejected"]] == [3]
    # A query tells the words of trees that hide them.
    hidden = "(S (NP XX )NP (VP XX )VP . )S"
    found = http.post("/rerank", json={"query": "It runs .", "documents": [hidden]}).json()
    plain = "(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))"
    told = http.post("/rerank", json={"documents": [plain]}).json()
    assert found["results"][0]["relevance_score"] == told["results"][0]["relevance_score"]
    unknown = http.post("/rerank", json={"documents": [hidden]}).json()
    assert [one["code"] for one in unknown["rejected"]] == ["hidden-words"]


def test_scores_of_trees(http: httpx.Client) -> None:
    trees = [CANDIDATES[1], "(S1 (S", CANDIDATES[0]]
    answer = http.post("/score", json={"trees": trees, "return_token_scores": True}).json()
    schemas.ScoreAnswer.model_validate(answer)
    first, broken, last = answer["results"]
    assert broken["log_probability"] is None and broken["error"]["code"] == "unbalanced"
    body = {"sentences": [{"candidates": [CANDIDATES[0], CANDIDATES[1]]}]}
    ranking = http.post("/rerank", json=body).json()["sentences"][0]["ranking"]
    nll = {one["index"]: one["nll"] for one in ranking}
    assert (last["log_probability"], first["log_probability"]) == (-nll[0], -nll[1])
    total = sum(value for _, value in first["token_scores"])
    assert total == pytest.approx(first["log_probability"], abs=1e-3)
    assert len(first["token_scores"]) == first["tokens"]


def test_a_perplexity_beyond_every_number(http: httpx.Client) -> None:
    """A word under 300 brackets: exp of about 600 tokens' nats."""
    tree = "(S1 " + "(NP " * 300 + "(NN a)" + ")" * 301
    (sentence,) = http.post("/rerank", json={"sentences": [{"candidates": [tree]}]}).json()[
        "sentences"
    ]
    (result,) = http.post("/score", json={"trees": [tree]}).json()["results"]
    assert sentence["ranking"][0]["perplexity"] is None
    assert result["perplexity"] is None and result["log_probability"] < -700


def test_validate_says_what_the_command_says(
    http: httpx.Client, models: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = f"2\ts1\n-20.5\n{CANDIDATES[0]}\n-21\n(S1 (S\n\n1\ts2\n-9\n(S1 (X (NN Aardvark)))\n"
    file = tmp_path / "nbest"
    file.write_text(text)
    assert main(["validate", str(file), "--models", *models, "--json"]) == 1
    printed = json.loads(capsys.readouterr().out.replace(str(file), "nbest"))
    answer = http.post("/validate", content=text, headers={"Content-Type": "text/plain"}).json()
    schemas.ValidateAnswer.model_validate(answer)
    assert answer == printed
    assert answer["rejected_by_code"] == {"unbalanced": 1}
    assert answer["frequent_unknown_words"]["model-1.pt"] == ["Aardvark"]


def test_every_dialect_and_hidden_words(http: httpx.Client) -> None:
    linear = "(S (NP XX )NP (VP XX )VP . )S"
    body = {"nbest": f"1\n{linear}\n", "tokens": "It runs .\n"}
    (hidden,) = http.post("/rerank", json=body).json()["sentences"]
    body = {"nbest": "0 ||| -3.5 ||| (S (NP It) (VP runs) .)\n"}
    (rnng,) = http.post("/rerank", json=body).json()["sentences"]
    assert hidden["ranking"][0]["nll"] == rnng["ranking"][0]["nll"]
    refused = http.post("/rerank", json={"nbest": f"1\n{linear}\n"})
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert (error["code"], error["param"]) == ("unreadable", "nbest")
    assert "(tokens)" in error["message"] and "--" not in error["message"]


def test_packed_bytes_are_not_unpacked(http: httpx.Client) -> None:
    import gzip

    packed = gzip.compress(EXAMPLE.read_bytes())
    answer = http.post("/rerank", content=packed, headers={"Content-Type": "text/plain"})
    assert answer.status_code == 422


def test_models_and_information(http: httpx.Client, models: list[str]) -> None:
    import hashlib

    found = http.get("/models").json()["models"]
    digests = [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in models]
    assert [one["sha256"] for one in found] == digests
    information = http.get("/info").json()
    schemas.InfoAnswer.model_validate(information)
    assert information["limits"]["max_depth"] == 500
    assert (information["device"], information["precision"]) == ("cpu", "exact")


def test_metrics_count(http: httpx.Client) -> None:
    names = [
        "rerank_sentences_total",
        "rerank_candidates_total",
        'rerank_rejected_total{code="unbalanced"}',
        "rerank_words_total",
        "rerank_unknown_words_total",
        'rerank_requests_total{method="POST",path="/rerank",status="200"}',
    ]
    before = [metric(http, name) for name in names]
    tree = "(S1 (S (NP (PRP We)) (VP (VBD saw) (NP (NN Aardvark)))))"
    http.post("/rerank", json={"sentences": [{"candidates": [tree, "((", CANDIDATES[0]]}]})
    # The third has other words: wrong-length, not unbalanced.
    after = [metric(http, name) for name in names]
    assert [new - old for new, old in zip(after, before, strict=True)] == [1, 1, 1, 3, 1, 1]
    assert metric(http, "rerank_device_memory_bytes") > 1e7
    assert metric(http, "rerank_queue_tokens") == 0


def test_mixed_scores_that_are_no_log_probabilities_are_warned_of(http: httpx.Client) -> None:
    text = f"0.9\t{CANDIDATES[0]}\n0.8\t{CANDIDATES[1]}\n\n" * 2
    for weight, count in ((0.5, 1), (1, 0)):
        answer = http.post("/rerank", json={"nbest": text, "lm_weight": weight}).json()
        named = [each for each in answer["warnings"] if "is no log-probability" in each]
        assert len(named) == count
