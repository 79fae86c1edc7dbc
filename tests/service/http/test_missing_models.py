"""A service without a parser says so."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.checkout import before_python_path
from tests.service.requests.test_limits import error_of
from tests.service.servers import Server, serving


@pytest.fixture(scope="module")
def poor(models: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server as if no models were installed."""
    folder = tmp_path_factory.mktemp("poor")
    (folder / "sitecustomize.py").write_text(
        "import reranker.checkpoints.installed as installed; installed._folders = lambda: iter(())"
    )
    path_before = before_python_path(str(folder))
    with serving(models, real_parser=True, PYTHONPATH=path_before) as server:
        yield server


@pytest.fixture(scope="module")
def http(poor: Server) -> Iterator[httpx.Client]:
    with poor.client() as client:
        yield client


def test_without_a_parser_it_says_what_to_do(http: httpx.Client) -> None:
    assert http.get("/info").json()["parser"] is None
    answer = http.post("/parse", json={"text": "It is."})
    assert (answer.status_code, error_of(answer)["code"]) == (501, "no-parser")
    assert "--parser-model" in error_of(answer)["message"]
    assert http.post("/rerank", json={"documents": ["(S (NN a))"]}).status_code == 200


def test_without_a_parser_the_log_says_why(poor: Server) -> None:
    line = poor.logged("no parser: /parse is answered 501")
    assert line["level"] == "warning" and "install parse-reranker-models" in line["reason"]
