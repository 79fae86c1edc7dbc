"""``POST /parse`` of text in other languages than English, in three scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reranker.checkpoints.installed import user_folder
from reranker.languages import language_name
from reranker.trees.tree import Tree
from tests.checkout import RERANK
from tests.reranker.languages import EXAMPLES, install
from tests.service.servers import serving


@pytest.fixture(scope="module")
def arabic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a user's folder, and the models of Arabic that are installed in it."""
    data = tmp_path_factory.mktemp("arabic")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(data))
        models = user_folder() / "mine"
    install("ar", models)
    return data, models


@pytest.mark.parametrize("language", ["zh", "ar"])
def test_the_service_parses_the_language_it_was_started_with(
    language: str,
    arabic: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another that is written like English is parsed in tests/reranker/commands/test_languages."""
    monkeypatch.chdir(tmp_path)
    if language == "ar":
        monkeypatch.setenv("XDG_DATA_HOME", str(arabic[0]))
    else:
        pytest.importorskip("jieba")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        install(language, user_folder() / "mine")
    by_name = ["ar-mine"] if language == "ar" else []  # an ensemble's language must be the text's
    flags = [] if by_name else ["--language", language]
    with serving(by_name, *flags) as server, server.client() as client:
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


def test_a_parser_of_another_language_is_refused_at_the_start(arabic: tuple[Path, Path]) -> None:
    folder = arabic[1]
    models = [str(folder / "words.pt"), "--parser-model", str(folder / "parser.pt")]
    ended = subprocess.run(
        [RERANK, "serve", "--port", "0", "--models", *models],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "the parser's model is of Arabic: start with --language ar" in ended.stderr
