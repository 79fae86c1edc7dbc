"""``reranker.parse``: defaults that are loaded once, and what is said without them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reranker
from reranker import defaults
from reranker.checkpoints import installed
from reranker.errors import InputError
from reranker.parsers import choice
from reranker.parsers.choice import OPTIONS, ParserChoice
from reranker.parsers.parser import ParserSettings
from reranker.process.forks import ForkSafeCache
from tests.reranker.span_models import save_spans
from tests.waiting import at_once

TEXT = "She met the man on Monday. He waved."


def test_the_obvious_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RERANK_MODELS", raising=False)
    first, second = reranker.parse(TEXT)
    assert first.tree == (
        "(TOP (S (NP (PRP She)) (VP (VBD met) (NP (DT the) (NN man)) "
        "(PP (IN on) (NP (NNP Monday)))) (. .)))"
    )
    assert first.origin is not None and second.origin is not None
    assert [TEXT[begin:end] for begin, end in second.origin.offsets] == ["He", "waved", "."]
    assert len(first) == 20 and first.confidence and first.certainty
    (best,) = reranker.parse("She met the man on Monday .", form="tokens", top=1)
    assert best.tree == first.tree and best[0].score == first[0].score
    assert {each.duplicate_of for each in best[1:]} <= {best[0].index}


@pytest.mark.parametrize("name", ["jobs", "candidates"])
def test_counts_of_another_library(name: str, models: list[str]) -> None:
    def parse(count: object) -> str:
        options: dict[str, Any] = {name: count}
        return reranker.parse("It runs.", models=models, **options)[0].tree

    assert parse(np.int64(2)).startswith("(TOP ")
    for wrong in (0, 1.5, "2"):
        with pytest.raises(InputError, match=f"{name} .*{wrong!r}"):
            parse(wrong)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("models", 3, "expected the path of a model, got 3"),
        ("model", "large", "parse has no argument 'model': is 'models' meant"),
        ("job", 2, "is 'jobs' meant"),
        ("parser_models", "m.pt", "is 'parser_model' meant"),
        ("zzz", 1, "'zzz': there are text, form, .*models, parser, .*parser_seconds"),
        ("parser_model", 3, "parser_model must be a name or several, got 3"),
        ("parser_model", [None], r"parser_model must be a name or several, got \[None\]"),
        ("parser_command", ["cat"], r"parser_command must be a string, got \['cat'\]"),
        ("parser_seconds", 3_601, "above 0 and at most 3,600, got 3601"),
        ("parser_seconds", 0.0, "above 0 and at most 3,600, got 0.0"),
        ("parser_seconds", "x", "above 0 and at most 3,600, got 'x'"),
    ],
)
def test_a_wrong_argument_is_named(
    name: str, value: object, message: str, models: list[str]
) -> None:
    options: dict[str, Any] = {"models": models, name: value}
    with pytest.raises(InputError, match=message):
        reranker.parse("It runs.", **options)


@pytest.mark.filterwarnings("ignore:.*6 of the first 8 words are unknown")
def test_a_path_is_a_file(models: list[str], tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    parser_model = save_spans(tmp_path / "spans.pt", 3)
    options: dict[str, Any] = {"models": models, "parser_model": parser_model}
    trees = [ranking.tree for ranking in reranker.parse(TEXT, **options)]
    assert [ranking.tree for ranking in reranker.parse(path, **options)] == trees


@pytest.mark.plugins
@pytest.mark.filterwarnings("ignore:.*6 of the first 8 words are unknown")
def test_a_path_is_a_file_for_the_plug_ins_too(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    model = save_spans(tmp_path / "spans.pt", 3)
    of_text, of_file = (reranker.measure(each, parser_model=model) for each in (TEXT, path))
    assert of_text.rows == of_file.rows
    of_text, of_file = (reranker.clauses(each, parser_model=model) for each in (TEXT, path))
    assert [each.clauses for each in of_text] == [each.clauses for each in of_file]


def test_a_model_of_the_parser_may_be_a_path(models: list[str], tmp_path: Path) -> None:
    path = Path(save_spans(tmp_path / "spans.pt", 3))
    for given in (path, [path], str(path)):
        (ranking,) = reranker.parse("It runs.", models=models, parser_model=given)
        assert len(ranking) == 20


def test_another_language_gets_a_warning(models: list[str]) -> None:
    with pytest.warns(UserWarning, match=r"text: (\d+) of the first \1 words are unknown"):
        (ranking,) = reranker.parse("Wir gingen gestern nach Hause.", models=models)
    assert len(ranking) == 20


def test_options_are_those_of_the_command_line(models: list[str]) -> None:
    (few,) = reranker.parse("It runs.", models=models, candidates=3)
    assert len(few) <= 3
    for many in (10_001, 10**30):
        with pytest.raises(InputError, match=r"candidates .*10,000"):
            reranker.parse("It runs.", models=models, candidates=many)
    with pytest.raises(InputError, match=r"'beam'.* parser, parser_comm"):
        reranker.parse("It runs.", models=models, beam=3)


def test_options_are_declared_once() -> None:
    assert ParserChoice.from_options({}) == ParserChoice()
    assert ParserChoice.from_options(dict.fromkeys(OPTIONS)) == ParserChoice()
    given = {"parser": "bllip", "parser_model": ["m"], "parser_seconds": 3, "jobs": 4}
    assert ParserChoice.from_options(given, device="cuda") == ParserChoice(
        ["bllip"], None, ["m"], ParserSettings(seconds=3, device="cuda")
    )
    program = ParserChoice.from_options({"parser": ["bllip", "command"], "parser_command": "./p"})
    assert (program.names, program.command) == (["bllip", "command"], "./p")
    assert {name: option.default for name, option in OPTIONS.items()} == {
        **{"parser": (), "parser_command": None, "parser_model": (), "language": ""},
        **{"candidates": None, "overparsing": 10, "parser_seconds": 20},
    }


def test_the_readme_s_first_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RERANK_MODELS", raising=False)
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r'echo "(.+)" \| rerank parse -\n(.+)\n```', readme)
    assert found is not None
    (ranking,) = reranker.parse(found[1])
    assert ranking.tree == found[2]


def test_what_is_loaded_is_kept_and_shared(
    models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, parsers = ForkSafeCache(), ForkSafeCache()
    monkeypatch.setattr(defaults, "_loaded", loaded)
    monkeypatch.setattr(choice, "_kept", parsers)
    found = at_once(4, lambda: reranker.parse("It runs.", models=models)[0].tree)
    assert len(set(found)) == 1
    assert set(loaded._values) == {("models", tuple(models))}
    assert set(parsers._values) == {repr((["chart"], None, {}, ParserSettings()))}


def test_models_named_by_the_environment(
    models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    named = reranker.parse("It runs.", models=models)
    monkeypatch.setenv("RERANK_MODELS", ",".join(models))
    assert reranker.parse("It runs.") == named
    assert reranker.parse("It runs.", models=map(Path, models)) == named


def test_no_text_and_what_is_no_text() -> None:
    assert reranker.parse("") == reranker.parse(" \n ") == []
    with pytest.raises(InputError, match=r"expected a text as a string, a list .*, got b'It"):
        reranker.parse(b"It runs.")  # type: ignore[arg-type]


@pytest.mark.plugins
def test_an_unknown_parser() -> None:
    with pytest.raises(InputError, match=r"'none'.* beam, benepar, bllip"):
        reranker.parse("It runs.", parser="none")


def test_where_nothing_is_installed_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "_loaded", ForkSafeCache())
    monkeypatch.setattr(choice, "_kept", ForkSafeCache())
    monkeypatch.setattr(installed, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"install .*parse-reranker"):
        reranker.parse("It runs.")
