import os
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

import reranker.plugins.training.loop.train as training
from reranker.checkpoints.archive import read_archive
from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.checkpoints.span_file import load_span_model
from reranker.errors import ConfigError, RerankError
from reranker.models import Config
from reranker.models.batch import Batch
from reranker.plugins.generation.encoder_decoder_file import load_generator
from reranker.plugins.generation.pair_config import PairConfig
from reranker.plugins.generation.pair_vocabulary import Pair
from reranker.plugins.training import processes as processes_module
from reranker.plugins.training.corpus.word_vectors import WordVectors
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.loss import dev_perplexity
from reranker.plugins.training.language_models.run import LanguageModelRun
from reranker.plugins.training.loop import shards
from reranker.plugins.training.loop.run import Progress
from reranker.plugins.training.loop.shards import Node, PairwiseSum, own_shards
from reranker.plugins.training.processes import Processes
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.trees.linearize import TaggedTree
from tests.reranker.plugins.generation import test_pair_run
from tests.reranker.plugins.training.forked import in_processes
from tests.reranker.plugins.training.loop import test_train
from tests.reranker.plugins.training.loop.test_train import log, same
from tests.reranker.plugins.training.runs import train
from tests.reranker.toy_trees import DEV, TREES

pytestmark = [
    pytest.mark.skipif(
        torch.cuda.is_available(), reason="this machine has CUDA: autograd cannot go on in a fork"
    ),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

FAST = replace(test_train.FAST, epochs=3, batch_tokens=90, shards=4)
PAPER = replace(test_train.PAPER, batch_size=6, shards=4)
THESIS = replace(PAPER, recipe="thesis", learning_rate=0.01, epochs=2, temporal_regularization=0.0)
QUIET = {**test_train.MODEL, **{name: 0.0 for name in Config.__slots__ if name.endswith("dropout")}}
ALONE = Processes()


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Log every loss; use one thread in each process."""
    monkeypatch.setattr(training, "_LOG_INTERVAL", 1)
    monkeypatch.setattr(processes_module, "_SECONDS_TO_BE_ENDED", 0.0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def run(config: TrainingConfig, folder: Path, processes: Processes = ALONE, **options: Any) -> None:
    train(config, TREES, DEV, folder / "model.pt", folder / "log", processes=processes, **options)


def weights(folder: Path) -> dict[str, Tensor]:
    return dict(load_checkpoint(folder / "model.pt").model.state_dict())


@pytest.mark.parametrize("count", range(1, 14))
def test_the_order_of_a_sum_is_the_same_for_any_number_of_processes(count: int) -> None:
    """The processes' own sums add up to one and the same total."""
    generator = torch.Generator().manual_seed(count)
    terms = torch.randn(count, 50, generator=generator) * 1e3
    expected = _by_halves(terms)
    for size in range(1, count + 1):
        whole = PairwiseSum(count)
        for rank in random.Random(size).sample(range(size), size):  # in any order of arrival
            mine = PairwiseSum(count)
            for number in own_shards(Processes(rank, size), count):
                mine.add(Node(0, number), terms[number].clone())
            for node, vector in mine.parts.items():
                whole.add(node, vector)
        assert torch.equal(whole.total(ALONE), expected)


def _by_halves(terms: Tensor) -> Tensor:
    """Sum pairs, pairs of pairs and so on; leave a last one without a partner unchanged."""
    rows: list[Tensor] = list(terms)
    while len(rows) > 1:
        pairs = [rows[at : at + 2] for at in range(0, len(rows), 2)]
        rows = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return rows[0]


def test_every_shard_is_computed_once_and_no_process_is_idle() -> None:
    for count in range(1, 10):
        for size in range(1, count + 1):
            owned = [own_shards(Processes(rank, size), count) for rank in range(size)]
            assert [shard for some in owned for shard in some] == list(range(count))
            assert all(owned)


@pytest.mark.parametrize("size", [2, 3])
def test_processes_add_up_their_vectors(size: int, tmp_path: Path) -> None:
    terms = torch.randn(5, 7, generator=torch.Generator().manual_seed(1))

    def work(processes: Processes) -> None:
        sums = PairwiseSum(5)
        for number in own_shards(processes, 5):
            sums.add(Node(0, number), terms[number].clone())
        torch.save(sums.total(processes), tmp_path / f"{processes.rank}.pt")

    assert in_processes(size, tmp_path, work) == [0] * size
    for rank in range(size):
        assert torch.equal(torch.load(tmp_path / f"{rank}.pt"), _by_halves(terms))


@pytest.mark.parametrize("config", [FAST, PAPER], ids=["fast", "paper"])
def test_without_dropout_the_gradient_is_that_of_the_whole_batch(config: TrainingConfig) -> None:
    """The balance of the mixture alone is computed for each shard by itself."""
    config = replace(config, model=QUIET, mixture_balance=0.0, shards=0)
    torch.manual_seed(1)
    whole = LanguageModelRun(config, TREES, DEV)
    cut = LanguageModelRun(replace(config, shards=3), TREES, DEV)
    cut.model.load_state_dict(whole.model.state_dict())
    for _ in range(4):  # the state is carried from batch to batch
        batch = whole.recipe.batches.next()
        loss, tokens = whole.backward(batch)
        mean, count = shards.backward(cut, batch)
        assert mean == pytest.approx(loss, rel=1e-6) and count == tokens
        for parameter, other in zip(whole.model.parameters(), cut.model.parameters(), strict=True):
            assert parameter.grad is not None and other.grad is not None
            assert torch.allclose(parameter.grad, other.grad, rtol=1e-5, atol=1e-7)
        whole.model.zero_grad()
        cut.model.zero_grad()


def test_a_batch_of_few_columns_leaves_shards_empty() -> None:
    torch.manual_seed(1)
    one = LanguageModelRun(replace(FAST, model=QUIET), TREES, DEV)
    tokens = one.dev[0]
    batch = Batch(torch.tensor([[0], *([token] for token in tokens[:-1])]),
                  torch.tensor([[token] for token in tokens]), False)  # fmt: skip
    assert [one.shard(batch, number) is None for number in range(4)] == [False, True, True, True]
    loss, count = shards.backward(one, batch)
    assert count == len(tokens)
    gradients = [parameter.grad for parameter in one.model.parameters()]
    one.model.zero_grad()
    assert one.backward(batch)[0] == pytest.approx(loss, rel=1e-6)
    for gradient, parameter in zip(gradients, one.model.parameters(), strict=True):
        assert gradient is not None and parameter.grad is not None
        assert torch.allclose(gradient, parameter.grad, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("config", "sizes"),
    [(FAST, [2, 3]), (PAPER, [3]), (THESIS, [2])],
    ids=["fast", "paper", "thesis"],
)
def test_any_number_of_processes_gives_the_same_run_to_the_last_bit(
    config: TrainingConfig, sizes: list[int], tmp_path: Path
) -> None:
    """With dropout; the paper's recipe through averaged SGD and fine-tuning."""
    run(config, tmp_path / "1")
    expected, curve = weights(tmp_path / "1"), log(tmp_path / "1")
    if config.recipe == "paper":
        assert read_archive(tmp_path / "1/log/state.pt").content["recipe"]["phase"] >= 2
    assert len(curve) > 10
    for size in sizes:
        folder = tmp_path / str(size)
        assert in_processes(size, folder, partial(run, config, folder)) == [0] * size
        assert log(folder) == curve
        assert same(weights(folder), expected)
        assert {path.name for path in folder.rglob("*")} == {"log", "log.jsonl", "state.pt",
                                                             "model.pt"}  # fmt: skip


@pytest.mark.parametrize("recipe", ["fast", "sgd"])
def test_encoder_decoders_are_the_same_too(recipe: Literal["fast", "sgd"], tmp_path: Path) -> None:
    config = PairConfig(
        recipe=recipe, epochs=2, learning_rate=0.01, batch_tokens=40, merges=0, validate_every=0,
        stored_precision="float32", shards=3, model=test_pair_run.SIZES,
    )  # fmt: skip
    words = ["one", "two", "three"]
    pairs = [Pair((a, b), (b.upper(), a.upper())[: len(a) - 2]) for a in words for b in words]

    def work(folder: Path, processes: Processes = ALONE) -> None:
        files = folder / "model.pt", folder / "log"
        train(config, pairs, pairs[::2], *files, processes=processes)

    work(tmp_path / "1")
    expected = dict(load_generator(tmp_path / "1/model.pt").model.state_dict())
    assert in_processes(2, tmp_path / "2", partial(work, tmp_path / "2")) == [0, 0]
    assert log(tmp_path / "2") == log(tmp_path / "1")
    assert same(dict(load_generator(tmp_path / "2/model.pt").model.state_dict()), expected)


def test_span_models_are_the_same_too(tmp_path: Path) -> None:
    sizes = {"embedding_size": 8, "spelling_rows": 64, "spelling_size": 4, "hidden_sizes": [6],
             "span_size": 8}  # fmt: skip
    config = SpanTrainingConfig(
        epochs=3, learning_rate=0.01, batch_tokens=40, minimum_count=1, validate_every=0,
        stored_precision="float32", shards=3, model=sizes,
    )  # fmt: skip
    vectors = WordVectors(("dog", "cat"), torch.tensor([[1.0, 0, 2, 0, 1], [2.0, 1, 0, 0, 1]]))
    trees, dev = ([*map(TaggedTree, some)] for some in (TREES, DEV))

    def work(folder: Path, processes: Processes = ALONE) -> None:
        files = folder / "model.pt", folder / "log"
        train(config, trees, dev, *files, vectors=vectors, processes=processes)

    work(tmp_path / "1")
    expected = dict(load_span_model(tmp_path / "1/model.pt").model.state_dict())
    assert torch.allclose(expected["vectors"][1:], vectors.vectors / vectors.vectors.std())
    assert in_processes(2, tmp_path / "2", partial(work, tmp_path / "2")) == [0, 0]
    assert log(tmp_path / "2") == log(tmp_path / "1")
    assert same(dict(load_span_model(tmp_path / "2/model.pt").model.state_dict()), expected)


def test_shards_have_dropout_masks_of_their_own() -> None:
    """Two shards with the same columns, or one in two steps, would give the same gradient."""
    torch.manual_seed(1)
    one = LanguageModelRun(replace(FAST, shards=2), TREES, DEV)
    batch = one.recipe.batches.next()
    inputs, targets = (part[:, :1].repeat(1, 2) for part in batch[:2])
    double = Batch(inputs, targets, False)
    seen = []
    for step, shard in ((0, 0), (0, 1), (1, 0), (0, 0)):
        one.progress.batches = step
        seen.append(shards._weighted_gradient(one, double, shard))
        one.model.zero_grad()
    assert torch.equal(seen[0], seen[3])
    assert not any(torch.equal(seen[0], other) for other in seen[1:3])


def test_dev_perplexity_is_the_same_for_any_number_of_processes(tmp_path: Path) -> None:
    torch.manual_seed(1)
    one = LanguageModelRun(FAST, TREES, TREES[:11])
    expected = dev_perplexity(one.model, one.dev, 0, batch_tokens=30)

    def work(processes: Processes) -> None:
        result = dev_perplexity(one.model, one.dev, 0, batch_tokens=30, processes=processes)
        assert result == expected

    assert in_processes(3, tmp_path, work) == [0, 0, 0]


def test_a_run_resumes_when_a_process_was_killed_with_any_number_of_processes(
    tmp_path: Path,
) -> None:
    """Here of the paper's recipe; those of other recipes on one process: test_train.py."""
    config = PAPER
    run(config, tmp_path / "whole")

    def killed(processes: Processes) -> None:
        def report(progress: Progress, loss: float, done: float) -> None:
            training.STATE_INTERVAL = -1 if progress.batches == 4 else 1e9
            if progress.batches == 7 and processes.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        with pytest.raises(RerankError, match=r"lost contact.*the same command resumes"):
            run(config, tmp_path / "killed", processes, report=report)

    assert in_processes(2, tmp_path / "killed", killed) == [0, -signal.SIGKILL]

    def resumed(processes: Processes) -> None:
        seen: list[int] = []
        report = lambda progress, loss, done: seen.append(progress.batches)  # noqa: E731
        run(config, tmp_path / "killed", processes, report=report)
        assert seen[0] == 5, "it went on after the saved state"

    assert in_processes(3, tmp_path / "killed", resumed) == [0, 0, 0]
    assert log(tmp_path / "killed") == log(tmp_path / "whole")
    assert same(weights(tmp_path / "killed"), weights(tmp_path / "whole"))


def test_more_processes_than_shards_are_refused(tmp_path: Path) -> None:
    for shards_, size in ((0, 2), (2, 3)):
        with pytest.raises(ConfigError, match=f"{size} processes.*{shards_}"):
            run(replace(FAST, shards=shards_), tmp_path, Processes(0, size))


def test_another_number_of_shards_is_another_run(tmp_path: Path) -> None:
    run(replace(FAST, epochs=0.1, shards=2), tmp_path)
    with pytest.raises(ConfigError, match=r"shards .*2.*3"):
        run(replace(FAST, epochs=0.1, shards=3), tmp_path)
    with pytest.raises(ConfigError, match=r"\(shards is 2, not 0\)"):
        run(replace(FAST, epochs=0.1, shards=0), tmp_path)


def test_more_shards_than_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shards .*7.*batch_size = 6"):
        replace(PAPER, shards=7).check()
    replace(FAST, shards=700).check()


def test_an_error_of_one_process_is_raised_in_all(tmp_path: Path) -> None:
    def work(processes: Processes) -> None:
        pattern = "^one.pt: odd$" if processes.rank == 1 else "^process 1 of 2: one.pt: odd$"
        with pytest.raises(RerankError, match=pattern), processes.agreeing():
            if processes.rank == 1:
                raise RerankError("one.pt: odd")

    assert in_processes(2, tmp_path, work) == [0, 0]


def test_processes_with_other_trees_are_refused(tmp_path: Path) -> None:
    def work(processes: Processes) -> None:
        trees = TREES[: 20 - processes.rank]
        with pytest.raises(RerankError, match=r"process 1 .*process 0 .*training data"):
            train(FAST, trees, DEV, tmp_path / "m.pt", tmp_path / "log", processes=processes)

    assert in_processes(2, tmp_path, work) == [0, 0]
