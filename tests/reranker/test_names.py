"""Names that people try, and the help of the package."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest

import reranker
from tests.checkout import ROOT


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Parser", "reranker.parse(text) parses"),
        ("Pipeline", "reranker.parse(text) parses"),
        ("load", "reranker.Reranker.load()"),
        ("parse_sents", "with form='tokens' spaces are between its words"),
        ("rerank", "reranker.Reranker.load().rerank(trees)"),
    ],
)
def test_a_name_of_other_packages_says_what_to_type(name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(reranker, name)
    text = str(raised.value)
    assert text.startswith(f"module 'reranker' has no attribute '{name}'; ") and meant in text
    assert raised.value.name == name and not hasattr(reranker, name)


def test_no_hint_shadows_a_name_that_exists() -> None:
    assert not {*reranker._MEANT} & {*dir(reranker)}
    for name in reranker._MEANT:
        assert importlib.util.find_spec(f"reranker.{name}") is None, name


def test_the_name_of_the_distribution_says_which_module_to_import() -> None:
    path = ROOT / "packages" / "parse_reranker.py"
    spec = importlib.util.spec_from_file_location("parse_reranker", path)
    assert spec is not None and spec.loader is not None
    with pytest.raises(ImportError, match="import reranker"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert f'"{path.relative_to(ROOT)}" = "parse_reranker.py"' in (
        Path(ROOT / "pyproject.toml").read_text("utf-8")
    )


def test_help_begins_with_three_examples_that_run() -> None:
    (examples,) = doctest.DocTestFinder(recurse=False).find(reranker, "reranker")
    assert sum(example.want != "" for example in examples.examples) == 3
    result = doctest.DocTestRunner().run(examples)
    assert (result.failed, result.attempted) == (0, 7)
