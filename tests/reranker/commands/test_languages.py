"""Text in other languages than English, in three scripts, from training to trees."""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path

import pytest

import reranker
from reranker.checkpoints.installed import user_folder
from reranker.checkpoints.span_file import load_span_model
from reranker.commands.main import main
from reranker.errors import InputError
from reranker.plugins.pipelines.nltk_parser import RerankingParser
from reranker.trees.tree import Tree
from tests.reranker.languages import EXAMPLES, install

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for language in EXAMPLES:
        install(language, folder / "parse-reranker" / "models" / language)
    return folder


@pytest.fixture(autouse=True)
def _home(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    monkeypatch.delenv("RERANK_MODELS", raising=False)


@pytest.mark.parametrize("language", EXAMPLES)
def test_text_becomes_trees_of_its_words(language: str, tmp_path: Path, capsys: Capture) -> None:
    if language == "zh":
        pytest.importorskip("jieba")
    example = EXAMPLES[language]
    text = tmp_path / "text.txt"
    text.write_text(example.text, encoding="utf-8")
    assert main(["parse", str(text), "--language", language]) == 0
    printed = capsys.readouterr()
    trees = [*map(Tree.from_string, printed.out.splitlines())]
    assert [" ".join(tree.leaves()) for tree in trees] == example.words
    if language == "ar":  # of the others we have models, which come first
        known = {tag for row in example.trees.splitlines() for tag in Tree.from_string(row).tags()}
        assert all({*tree.tags()} <= known for tree in trees), "no tag is English"
    assert "warning" not in printed.err
    assert [ranking.tree for ranking in reranker.parse(example.text, language=language)] == [
        tree.to_string() for tree in trees
    ]


@pytest.mark.filterwarnings("ignore:.*not Chinese")  # three trees have few of its words
@pytest.mark.parametrize("language", EXAMPLES)
def test_an_ensemble_by_its_name_brings_its_parser(
    language: str,
    models: list[str],
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not the parser that is the default, of English or of the same language."""
    example, name = EXAMPLES[language], f"{language}-mine"
    text = tmp_path / "text.txt"
    text.write_text("\n".join(example.words), encoding="utf-8")
    parse = ["parse", str(text), "--tokens", "--models", name]
    assert main(parse) == main([*parse, "--language", language]) == 0
    printed, messages = capsys.readouterr()
    trees = printed.splitlines()
    assert trees[:2] == trees[2:] and "not English" not in messages
    known = {tag for row in example.trees.splitlines() for tag in Tree.from_string(row).tags()}
    assert all({*Tree.from_string(tree).tags()} <= known for tree in trees)
    with reranker.Reranker.load(name) as loaded:
        given = [words.split() for words in example.words]
        for rankings in (
            reranker.parse(given, models=name),
            loaded.parse(given),
            pickle.loads(pickle.dumps(loaded)).parse(given),
        ):
            assert [ranking.tree for ranking in rankings] == trees[:2]
        best = [next(parsed) for parsed in RerankingParser(loaded).parse_sents(given)]
        assert [Tree.from_nltk(tree).to_string() for tree in best] == trees[:2]
        if language != "zh" or importlib.util.find_spec("jieba"):
            read = [Tree.from_string(each.tree).leaves() for each in loaded.parse(example.text)]
            assert read == given
    monkeypatch.setenv("RERANK_MODELS", name)
    with reranker.Reranker.load(models) as loaded:
        (other,) = loaded.parse([["It", "runs", "."]])
        assert "(. .)" in other.tree, "not this language's parser, but the default one"
    assert main(parse[:3]) == 0
    rankings = reranker.parse(given)
    assert [*capsys.readouterr().out.splitlines()] == [each.tree for each in rankings] == trees[:2]


def test_another_language_s_parser_stays_where_it_is_asked_for(
    tmp_path: Path, capsys: Capture
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(EXAMPLES["ar"].words[0], encoding="utf-8")
    assert main(["parse", str(text), "--tokens", "--models", "id-mine", "--language", "ar"]) == 0
    assert "language models of Indonesian choose among trees of Arabic" in capsys.readouterr().err
    assert main(["parse", str(text), "--tokens", "--parser-model", "no-such"]) == 2
    assert "nor an installed ensemble that has a parser" in capsys.readouterr().err


@pytest.mark.parametrize("language", EXAMPLES)
def test_given_words_stay(language: str, tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(EXAMPLES[language].words), encoding="utf-8")
    assert main(["parse", str(text), "--tokens", "--language", language, "--output", "json"]) == 0
    assert EXAMPLES[language].words[0].split(" ")[0] in capsys.readouterr().out


def test_the_parsers_model_says_the_language(tmp_path: Path, capsys: Capture) -> None:
    models = user_folder() / "id"
    text = tmp_path / "text.txt"
    text.write_text(EXAMPLES["id"].text, encoding="utf-8")
    named = ["--parser-model", str(models / "parser.pt"), "--models", str(models)]
    assert main(["parse", str(text), *named]) == 0
    printed = capsys.readouterr()
    assert " nya)" in printed.out and "language models of" not in printed.err


def test_models_of_two_languages(tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text(EXAMPLES["id"].text, encoding="utf-8")
    models = str(user_folder() / "ar" / "words.pt")
    assert main(["parse", str(text), "--language", "id", "--models", models]) == 0
    assert "language models of Arabic choose among trees of Indonesian" in capsys.readouterr().err
    parser = str(user_folder() / "ar" / "parser.pt")
    assert main(["parse", str(text), "--language", "id", "--parser-model", parser]) == 0
    warning = "the parser's model is of Arabic, not of Indonesian"
    assert warning in capsys.readouterr().err
    assert main(["grep", "NP", str(text), "--language", "id", "--parser-model", parser]) == 0
    assert warning in capsys.readouterr().err


def test_text_in_another_language_gets_a_warning(tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The old man walked home with a heavy heart.", encoding="utf-8")
    assert main(["parse", str(text), "--language", "ar"]) == 0
    assert "If this is not Arabic" in capsys.readouterr().err


@pytest.mark.parametrize("language", EXAMPLES)
def test_text_of_many_scripts_and_forms(language: str, tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\u200bIbu café кот 北京 \u202bנערה\u202c .\n\u200b\ncafe\u0301 .\n", "utf-8")
    assert main(["parse", str(text), "--tokens", "--language", language]) == 1
    printed = capsys.readouterr()
    words = [" ".join(Tree.from_string(tree).leaves()) for tree in printed.out.splitlines()]
    assert words == ["Ibu café кот 北京 נערה .", "\u200b", "café ."]
    assert f"{text}:2: " in printed.err and "no visible characters" in printed.err


def test_languages_without_models(tmp_path: Path, capsys: Capture) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Hvað heitir þú?", encoding="utf-8")
    assert main(["parse", str(text), "--language", "is"]) == 2
    error = capsys.readouterr().err
    assert "no models of Icelandic are installed, only of " in error and "Arabic" in error
    assert main(["parse", str(text), "--language", "Icelandic"]) == 2
    assert "not a code of two or three letters, such as" in capsys.readouterr().err
    with pytest.raises(InputError, match="no models of Icelandic"):
        reranker.parse("Hvað heitir þú?", language="is")


def test_models_lists_languages(capsys: Capture) -> None:
    assert main(["models"]) == 0
    printed = capsys.readouterr().out
    assert "\n  reads   Arabic\n" in printed
    assert "languages of `rerank parse --language`: English (en), " in printed


def test_marks_are_learned_from_the_treebank() -> None:
    for language, tag in (("id", "PUN"), ("zh", "PU"), ("ar", "PUNC")):
        checkpoint = load_span_model(user_folder() / language / "parser.pt")
        assert checkpoint.information["punctuation"] == [tag]
        assert checkpoint.language == language


def test_spacys_pipeline_says_the_language() -> None:
    spacy = pytest.importorskip("spacy")
    importlib.import_module("reranker.plugins.pipelines.spacy_component")
    nlp = spacy.blank("ar")  # whose tokenizer is made at once
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("parse_reranker", config={"device": "cpu"})
    (sentence,) = nlp("ذهب الأب .").sents
    assert sentence._.parse_string.endswith("(PUNC .))")
