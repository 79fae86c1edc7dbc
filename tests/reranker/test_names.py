"""The name of the distribution, and the help of the package."""

from __future__ import annotations

import doctest
import importlib.util
from pathlib import Path

import pytest

import reranker
from tests.checkout import ROOT


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
