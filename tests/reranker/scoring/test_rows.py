"""Fewer rows are padded only where that changes no bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.models import AwdLstmDoc, Config
from reranker.models.layer import LayerState, LstmLayer
from reranker.models.products import ROW_MULTIPLE
from reranker.scoring.rows import FEW_ROWS, row_multiple, rows_for, stages
from tests.models.settings import SETTINGS, build

CKPT = Path(__file__).parents[3] / "ckpt"
CHECKPOINTS = [CKPT / "rnn-forward.pt", *sorted(CKPT.glob("doc/*.pt"))[:2]]
CONFIG = Config(vocabulary_size=9, embedding_size=4, hidden_sizes=(6,), components=(0, 1))


class Particular(LstmLayer):
    """A layer on a processor whose bits differ unless the rows are a multiple of 16."""

    def step(self, projected: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        output, after = super().step(projected, state)
        return output + (len(projected) % 16) * 1e-6, after


def test_as_many_rows_as_the_bits_need() -> None:
    model = AwdLstmDoc(CONFIG).eval()
    model.layers[0] = Particular(4, 6, 0.0)
    assert row_multiple(model) == 16
    counts = (1, 17, 33, FEW_ROWS + 1, 300)
    assert [rows_for(model, count) for count in counts] == [16, 32, 48, 96, 320]


@pytest.mark.parametrize("path", CHECKPOINTS, ids=lambda path: path.stem)
def test_a_row_is_the_same_among_few_and_among_many(path: Path) -> None:
    model = load_checkpoint(path).model
    multiple = row_multiple(model)
    with torch.inference_mode():
        for step, state in stages(model, 160):
            many, after = step(slice(160), state)
            for rows in (multiple, 2 * multiple, 64, 96):
                few, few_after = step(slice(rows), tuple(part[:rows] for part in state))
                for part, whole in zip((few, *few_after), (many, *after), strict=True):
                    assert torch.equal(part, whole[:rows])


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_model_can_be_measured(setting: str) -> None:
    assert row_multiple(build(setting)) in (4, 8, 16, ROW_MULTIPLE)
