"""``POST /parse`` of text in another language than English, in another script."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.checkpoints.installed import user_folder
from reranker.errors import RerankError
from reranker.languages import language_name
from reranker.service.lifecycle import Service
from reranker.service.settings import load_settings
from reranker.trees.tree import Tree
from tests.reranker.languages import EXAMPLES, install
from tests.service.servers import serving
from tests.waiting import finished


@pytest.fixture(scope="module")
def arabic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a user's folder, and the models of Arabic that are installed in it."""
    data = tmp_path_factory.mktemp("arabic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(data))
        models = user_folder() / "mine"
    install("ar", models)
    return data, models


def test_the_service_parses_the_language_it_was_started_with(
    arabic: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are parsed in tests/reranker/commands/test_languages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(arabic[0]))
    language = "ar"
    by_name = ["ar-mine"]
    assert load_settings({"models": by_name}).text_language == language
    with serving(by_name, "--language", language) as server, server.client() as client:
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
        assert f"If this is not {language_name(language)}," in warning
        unseen = client.post("/parse", json={"tokens": [["\u200b"]]}).json()["sentences"][0]
        assert [each["message"] for each in unseen["rejected"]] == ["no visible characters"]
        other = client.post("/parse", json={"text": "Hvað heitir þú?", "language": "is"})
        assert other.status_code == 422
        assert other.json()["error"]["param"] == "language"
        assert ", not 'is'" in other.json()["error"]["message"]


def test_a_parser_of_another_language_is_refused_at_the_start(arabic: tuple[Path, Path]) -> None:
    """How the process ends then: tests/service/test_read_only.py."""
    models = [str(arabic[1] / f"{name}.pt") for name in ("words", "parser")]
    service = Service(load_settings({"models": models[:1], "parser_model": models[1]}))

    async def start() -> None:
        await service.start()
        await service.stop()

    finished(start())
    message = "the parser's model is of Arabic: start with --language ar"
    assert isinstance(service.failure, RerankError) and message in str(service.failure)
