"""The kinds of models that ``rerank train`` trains, and the flags that each takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reranker import registry
from reranker.errors import InputError
from reranker.plugins.training import worker
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.loop.config import RunConfig
from reranker.plugins.training.loop.settings import TrainSettings
from reranker.plugins.training.processes import Processes
from reranker.plugins.training.spans.config import SpanTrainingConfig

NAMES = {name for names in worker._FLAGS for name in names}


@pytest.mark.parametrize("name", registry.built_in("trainings"))
def test_every_kind_says_what_it_takes(name: str) -> None:
    kind = registry.load("trainings", name)
    assert issubclass(kind.CONFIG, RunConfig) and {*kind.TAKES} <= NAMES
    assert callable(kind.new_run)


@pytest.mark.parametrize(
    "architecture, config",
    [("spans", SpanTrainingConfig), ("lstmn", TrainingConfig), (None, TrainingConfig)],
)
def test_an_architecture_without_an_entry_is_a_language_model(
    architecture: object, config: type[RunConfig]
) -> None:
    assert worker._kind(architecture).CONFIG is config


@pytest.mark.parametrize(
    "config, name, message",
    [
        (SpanTrainingConfig(), "stream", "--stream is for language models that"),
        (TrainingConfig(), "encoder", "--encoder and --teacher are for span models"),
        (TrainingConfig(), "teacher", "--encoder and --teacher are for span models"),
        (
            TrainingConfig(text=True),
            "stream",
            "--stream is for language models that",
        ),
        (
            TrainingConfig(),
            "dev_target",
            "--train-target and --dev-target are for",
        ),
        (SpanTrainingConfig(), "train_target", "--train-target and --dev-target are for"),
    ],
)
def test_a_flag_of_another_kind_is_refused(config: RunConfig, name: str, message: str) -> None:
    path = Path("given")
    given: dict[str, Any] = {name: path}
    settings = TrainSettings(config=path, train=[], dev=[], out=path, begun=0.0, **given)
    with pytest.raises(InputError, match=message):
        worker._new_run(settings, config, Processes())
