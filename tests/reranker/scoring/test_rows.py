"""Fewer rows are padded only where that changes no bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.models import AwdLstmDoc, Config, mixture
from reranker.models.language_model import State
from reranker.scoring.rows import FEW_ROWS, row_multiple
from tests.models.settings import SETTINGS, build

CHECKPOINTS = sorted((Path(__file__).parents[3] / "ckpt").glob("*.pt"))
CONFIG = Config(vocabulary_size=9, embedding_size=4, hidden_sizes=(6,), components=(0, 1))


class Particular(AwdLstmDoc):
    """A model whose processor computes numbers of rows otherwise that are no multiple of 16."""

    def advance(self, tokens: Tensor, state: State) -> tuple[list[Tensor], State]:
        outputs, after = super().advance(tokens, state)
        return [part + (len(tokens) % 16) * 1e-6 for part in outputs], after


def test_as_many_rows_as_the_bits_need() -> None:
    model = Particular(CONFIG).eval()
    assert row_multiple(model, 3) == 16
    assert row_multiple(model, FEW_ROWS + 1) == mixture.ROW_MULTIPLE


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda path: path.stem)
def test_a_row_is_the_same_among_few_and_among_many(path: Path) -> None:
    model = load_checkpoint(path).model
    multiple = row_multiple(model, 1)
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(len(model.embedding), (160,), generator=generator)
    with torch.inference_mode():
        many, after = model.advance(tokens, model.initial_state(160))
        for rows in (multiple, 2 * multiple, 64, 96):
            few, state = model.advance(tokens[:rows], model.initial_state(rows))
            for part, whole in zip(few, many, strict=True):
                assert torch.equal(part, whole[:rows])
            for layer, layer_of_many in zip(state, after, strict=True):
                for part, whole in zip(layer, layer_of_many, strict=True):
                    assert torch.equal(part, whole[:rows])


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_model_can_be_measured(setting: str) -> None:
    assert row_multiple(build(setting), 5) in (4, 8, 16, mixture.ROW_MULTIPLE)
