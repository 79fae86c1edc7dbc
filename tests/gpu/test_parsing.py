"""`rerank parse` on a GPU writes the trees that it writes on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from reranker.commands.main import main
from reranker.files.text import read_lines
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import ParserSettings
from reranker.parsers.registry import create_parser
from tests.gpu.places import DEVICE, EXAMPLES, IS_CUDA, ON_A_GPU, TOLERANCE

pytestmark = ON_A_GPU

TEXTS = ["sentences.txt", "short.txt", "essay-a.txt", "essay-b.txt"][: None if IS_CUDA else 1]


@pytest.mark.parametrize("flags", [["--models", "fast", "--candidates", "1"], []], ids=["fast", ""])
def test_the_command(tmp_path: Path, flags: list[str]) -> None:
    trees = []
    for device in ("cpu", DEVICE):
        out = tmp_path / device
        texts = [str(EXAMPLES / name) for name in TEXTS]
        assert main(["parse", *texts, *flags, "--device", device, "--out", str(out)]) == 0
        trees.append(out.read_text("utf-8").splitlines())
    assert len(trees[0]) > 20 and trees[0] == trees[1]


def test_the_parsers_lists() -> None:
    """Neighbours whose scores differ by less than rounding may change places."""
    lines = list(read_lines(EXAMPLES / "sentences.txt"))
    sentences = [Sentence(tuple(line.split())) for line in lines]
    here, there = (
        create_parser("chart", ParserSettings(device=device)).parse(sentences)
        for device in (DEVICE, "cpu")
    )
    for found, expected in zip(here, there, strict=True):
        assert isinstance(found, NBest) and isinstance(expected, NBest)
        assert found.candidates[0].text == expected.candidates[0].text
        scores = [[each.parser_score for each in some.candidates] for some in (found, expected)]
        assert scores[0] == pytest.approx(scores[1], abs=TOLERANCE)
        assert found.certainty and expected.certainty
        by_span = found.certainty.probabilities
        for span, probability in expected.certainty.probabilities.items():
            assert by_span.get(span, 0.0) == pytest.approx(probability, abs=TOLERANCE)
