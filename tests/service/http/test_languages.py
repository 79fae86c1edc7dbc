"""``POST /parse`` of text in another language than English: here Chinese, in which a package of its
own finds the words. Two more languages: tests/reranker/commands/test_languages.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reranker.languages import language_name
from reranker.trees.tree import Tree
from tests.reranker.languages import EXAMPLES, install
from tests.service.servers import RERANK, serving

pytest.importorskip("jieba")
language = "zh"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    install(language, folder / "parse-reranker" / "models" / "mine")
    return folder


def test_the_service_parses_the_language_it_was_started_with(data: Path) -> None:
    with (
        serving([], "--language", language, folder=data, XDG_DATA_HOME=str(data)) as server,
        server.client() as client,
    ):
        assert client.get("/info").json()["parser"]["language"] == language
        answer = client.post("/parse", json={"text": EXAMPLES[language].text, "language": language})
        assert answer.status_code == 200, answer.text
        trees = [
            Tree.from_string(each["ranking"][0]["tree"]) for each in answer.json()["sentences"]
        ]
        assert [" ".join(tree.leaves()) for tree in trees] == EXAMPLES[language].words
        assert answer.json()["warnings"] == []
        foreign = client.post("/parse", json={"text": "Der alte Mann ging müde nach Hause."})
        (warning,) = foreign.json()["warnings"]
        assert f"is this {language_name(language)}?" in warning
        unseen = client.post("/parse", json={"tokens": [["\u200b"]]}).json()["sentences"][0]
        assert [each["message"] for each in unseen["rejected"]] == ["no visible characters"]
        other = client.post("/parse", json={"text": "Hvað heitir þú?", "language": "is"})
        assert other.status_code == 422
        assert other.json()["error"]["param"] == "language"
        assert ", not 'is'" in other.json()["error"]["message"]


def test_a_parser_of_another_language_is_refused_at_the_start(data: Path) -> None:
    folder = data / "parse-reranker" / "models" / "mine"
    models = [str(folder / "words.pt"), "--parser-model", str(folder / "parser.pt")]
    ended = subprocess.run(
        [RERANK, "serve", "--port", "0", "--models", *models],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "the parser's model is of Chinese: start with --language zh" in ended.stderr
