"""A training on a GPU that is interrupted ends as one that ran through."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reranker import Reranker
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.trees.linearize import TaggedTree
from tests.gpu.places import DEVICE, IS_CUDA, ON_A_GPU
from tests.models.settings import SETTINGS
from tests.reranker.plots import no_plots
from tests.reranker.plugins.training.killed import check_resumed
from tests.reranker.plugins.training.runs import train
from tests.reranker.toy_trees import DEV, TREES

pytestmark = ON_A_GPU

# A GPU adds up in another order each time, and batches make more of the difference. Other random
# numbers after the interruption move weights at least three times as far.
SAME, SAME_BFLOAT16 = (1e-3, 5e-3) if IS_CUDA else (0.0, 0.0)

ALIKE: dict[str, Any] = {
    "minimum_count": 1, "validate_every": 0, "stored_precision": "float32",
}  # fmt: skip
MODEL = {
    name: value
    for name, value in asdict(SETTINGS["awd-lstm-doc: DOC"]).items()
    if name != "vocabulary_size"
}
MODEL |= {"hidden_dropout": 0.2, "component_dropout": 0.2, "recurrent_weight_dropout": 0.2}
SPANS: dict[str, Any] = {
    "embedding_size": 8, "spelling_rows": 64, "spelling_size": 8, "hidden_sizes": [12],
    "span_size": 16, "input_dropout": 0.2, "hidden_dropout": 0.2,
}  # fmt: skip
FAST = TrainingConfig(
    **ALIKE, model=MODEL, epochs=2, learning_rate=0.01, batch_tokens=40, warmup_batches=2
)
PAPER = replace(FAST, recipe="paper", epochs=1, learning_rate=1.0, batch_size=2, sequence_length=12)
CONFIGS: dict[str, TrainingConfig | SpanTrainingConfig] = {
    "language model, fast": FAST,
    "language model, paper": PAPER,
    "language model, bfloat16": replace(FAST, precision="bfloat16"),
    "spans": SpanTrainingConfig(
        **ALIKE, model=SPANS, epochs=3, learning_rate=0.01, warmup_batches=2, batch_tokens=20
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_it_resumes(name: str, tmp_path: Path) -> None:
    trees, dev = ([*map(TaggedTree, some)] if name == "spans" else some for some in (TREES, DEV))
    config = CONFIGS[name]
    same = SAME_BFLOAT16 if config.precision == "bfloat16" else SAME
    with no_plots():
        path = check_resumed(partial(train, config, trees, dev, device=DEVICE), tmp_path, same)
    with Reranker.load(path, device=DEVICE) as reranker:
        (score,) = reranker.score(["(S1 (S (NP (X It)) (VP (X runs)) (. .)))"])
    assert score is not None and score < 0
