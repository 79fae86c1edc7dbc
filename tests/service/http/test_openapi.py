"""The interface's description: its examples work and its answers are as described."""

from __future__ import annotations

from typing import Any

import httpx
import jsonschema
import pytest

from reranker.service.requests.schemas import FORMS


@pytest.fixture(scope="module")
def document(http: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/openapi.json").json()
    return found


def test_every_path_is_described(document: dict[str, Any]) -> None:
    assert set(document["paths"]) == {
        "/rerank",
        "/parse",
        "/score",
        "/validate",
        "/models",
        "/models/reload",
        "/info",
        "/health/live",
        "/health/ready",
        "/metrics",
    }


def test_every_path_takes_what_its_forms_say(document: dict[str, Any]) -> None:
    for path, forms in FORMS.items():
        if path not in document["paths"]:  # a second name
            continue
        operation = document["paths"][path]["post"]
        query = {each["name"] for each in operation["parameters"] if each["in"] == "query"}
        assert query == set(forms.query.model_fields), path
        content = operation["requestBody"]["content"]
        assert tuple(content) == forms.media
        assert len(content["application/json"]["examples"]) == len(forms.models)


def test_examples_are_answered_as_described(http: httpx.Client, document: dict[str, Any]) -> None:
    tried = 0
    for path in ("/rerank", "/parse", "/score", "/validate"):
        operation = document["paths"][path]["post"]
        described = operation["responses"]["200"]["content"]["application/json"]["schema"]
        schema = {**described, "components": document["components"]}
        for media, content in operation["requestBody"]["content"].items():
            examples = content.get("examples") or {"text": {"value": content["example"]}}
            for example in examples.values():
                value = example["value"]
                if media == "text/plain":
                    answer = http.post(path, content=value, headers={"Content-Type": media})
                else:
                    form = {**content["schema"], "components": document["components"]}
                    jsonschema.validate(value, form)
                    answer = http.post(path, json=value)
                assert answer.status_code == 200, (path, answer.text)
                jsonschema.validate(answer.json(), schema)
                tried += 1
    assert tried == 13  # 3 forms and text, three times; 1 for /score


def test_plain_answers_are_as_described(http: httpx.Client, document: dict[str, Any]) -> None:
    for path in ("/models", "/info", "/health/live", "/health/ready"):
        responses = document["paths"][path]["get"]["responses"]
        schema = responses["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(http.get(path).json(), {**schema, "components": document["components"]})


def test_all_but_health_may_ask_for_a_key(document: dict[str, Any]) -> None:
    operations = {p: next(iter(methods.values())) for p, methods in document["paths"].items()}
    closed = {path for path, operation in operations.items() if "401" in operation["responses"]}
    assert set(operations) - closed == {"/health/live", "/health/ready"}


def test_docs_need_nothing_from_elsewhere(http: httpx.Client) -> None:
    """What it shows is tested with a browser (page/test_api.py)."""
    page = http.get("/docs")
    assert page.status_code == 200 and "//" not in page.text.replace("<!doctype html>", "")
    assert http.get("/page/api.js").status_code == 200
