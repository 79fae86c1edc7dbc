"""``POST /parse`` of text in other languages than English, in three scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.checkpoints.installed import user_folder
from reranker.trees.tree import Tree
from tests.reranker.languages import EXAMPLES, install
from tests.service.servers import serving


@pytest.mark.parametrize("language", EXAMPLES)
def test_the_service_parses_the_language_it_was_started_with(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if language == "zh":
        pytest.importorskip("jieba")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    install(language, user_folder() / "mine")
    with serving([], "--language", language) as server, server.client() as client:
        assert client.get("/info").json()["parser"]["language"] == language
        answer = client.post("/parse", json={"text": EXAMPLES[language].text, "language": language})
        assert answer.status_code == 200, answer.text
        trees = [
            Tree.from_string(each["ranking"][0]["tree"]) for each in answer.json()["sentences"]
        ]
        assert [" ".join(tree.leaves()) for tree in trees] == EXAMPLES[language].words
        other = client.post("/parse", json={"text": "Hvað heitir þú?", "language": "is"})
        assert other.status_code == 422
        assert other.json()["error"]["param"] == "language"
        assert ", not 'is'" in other.json()["error"]["message"]
