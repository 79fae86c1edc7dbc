"""eval/tables/brackets.py: brackets that are right or wrong, and how probable they seemed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from reranker.checkpoints.span_file import save_span_model
from reranker.nbest.data import Sentence
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from reranker.trees.tree import Tree
from tests.eval.toy_study import module
from tests.reranker.span_models import untrained_spans

brackets = module("brackets")

Capture = pytest.CaptureFixture[str]


def test_a_model_judged_on_its_own_trees_and_on_others(tmp_path: Path, capsys: Capture) -> None:
    member = untrained_spans(5)
    path = tmp_path / "spans.pt"
    save_span_model(path, member.model, member.vocabulary, {"temperature": 3.0}, torch.float32)
    parser = create_parser("chart", ParserSettings(model=str(path), candidates=1))
    words = Sentence.of(["We", "saw", "the", "man", "with", "eyes", "."])
    (nbest,) = parser.parse([words])
    assert not isinstance(nbest, str)
    own = nbest.candidates[0].text
    other = f"(TOP (Q {' '.join(f'(X {word})' for word in words.words)}))"
    (tmp_path / "own.mrg").write_text(f"{own}\n" * 3)
    (tmp_path / "other.mrg").write_text(f"{other}\n" * 3)
    sets = [f"own={tmp_path / 'own.mrg'}", f"other={tmp_path / 'other.mrg'}"]
    plot = ["--plot", str(tmp_path / "b.png")]
    assert brackets.main([*sets, "--parser-model", str(path), *plot]) == 0
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    count = 3 * sum(token[0] == "(" for token in nbest.candidates[0].tokens)
    assert [[cell.strip() for cell in row[:4]] for row in rows] == [
        ["own", "1", str(count), "100.0"], ["own", "3", str(count), "100.0"],
        ["other", "1", str(count), "0.0"], ["other", "3", str(count), "0.0"],
    ]  # fmt: skip
    assert Tree.from_string(own).leaves() == list(words.words)
    assert (tmp_path / "b.png").stat().st_size > 1000


def test_no_model(tmp_path: Path, capsys: Capture) -> None:
    assert brackets.main([f"a={tmp_path}/a.mrg", "--parser-model", str(tmp_path / "no.pt")]) == 2
    assert "no.pt: no such file" in capsys.readouterr().err
