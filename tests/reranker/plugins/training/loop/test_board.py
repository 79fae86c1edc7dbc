from __future__ import annotations

from pathlib import Path

import pytest

from reranker.plugins.training.loop.log import Board


@pytest.fixture(scope="module", autouse=True)
def without_plots() -> None:
    """Override the fixture, since these tests draw plots."""


def test_tensorboard_reads_what_a_run_and_the_one_that_resumed_it_have_written(
    tmp_path: Path,
) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    first = Board(tmp_path, 0)
    for batches, loss in ((50, 3.0), (100, 2.5), (150, 2.25)):
        first.write(batches, loss=loss, learning_rate=0.5)
    first.close()
    resumed = Board(tmp_path, 101)
    resumed.write(150, loss=2.125)
    resumed.write(150, dev_perplexity=8.0)
    resumed.close()
    shown = EventAccumulator(str(tmp_path)).Reload()
    assert [(each.step, each.value) for each in shown.Scalars("loss")] == [
        (50, 3.0),
        (100, 2.5),
        (150, 2.125),
    ]
    assert [(each.step, each.value) for each in shown.Scalars("learning_rate")] == [
        (50, 0.5),
        (100, 0.5),
    ]
    assert [each.value for each in shown.Scalars("dev_perplexity")] == [8.0]
