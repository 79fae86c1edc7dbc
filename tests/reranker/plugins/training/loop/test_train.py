import json
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

import reranker.plugins.training.loop.train as training
from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.errors import CheckpointError, ConfigError
from reranker.models import AwdLstmDoc, Config
from reranker.models.batch import Batch
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.loss import (
    authors_beta,
    dev_perplexity,
    printed_beta,
)
from reranker.plugins.training.language_models.run import LanguageModelRun
from reranker.plugins.training.loop.log import TrainingLog
from reranker.plugins.training.loop.run import Progress
from tests.reranker.plugins.training import runs
from tests.reranker.plugins.training.killed import check_resumed
from tests.reranker.plugins.training.runs import train
from tests.reranker.toy_trees import DEV, TREES, tree

MODEL: dict[str, Any] = {
    "embedding_size": 8,
    "hidden_sizes": [10, 9],
    "components": [0, 1, 2],
    "embedding_range": 0.3,
}
FAST = TrainingConfig(
    recipe="fast",
    minimum_count=1,
    epochs=4,
    learning_rate=0.02,
    batch_tokens=60,
    warmup_batches=3,
    validate_every=5,
    stored_precision="float32",
    model=MODEL,  # with the paper's dropout: random numbers matter
)
PAPER = replace(
    FAST,
    recipe="paper",
    epochs=1,
    learning_rate=4.0,
    clip=0.25,
    batch_size=5,
    sequence_length=9,
    activation_regularization=2.0,
    temporal_regularization=1.0,
    validate_every=0,
)
ATTENTIVE: dict[str, Any] = {
    "architecture": "key-value-predict",
    "embedding_size": 8,
    "hidden_sizes": [12],
    "window": 4,
    "embedding_range": 0.3,
    "output_dropout": 0.1,
}

Report = Callable[[Progress, float, float], None]


@pytest.fixture(autouse=True)
def _every_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "_LOG_INTERVAL", 2)


def run(config: TrainingConfig, folder: Path, **options: Any) -> dict[str, Tensor]:
    """Train in ``folder``; returns the weights of the checkpoint."""
    perplexity = train(config, TREES, DEV, folder / "model.pt", folder / "log", **options)
    checkpoint = load_checkpoint(folder / "model.pt")
    assert checkpoint.information["dev_perplexity"] == perplexity
    return dict(checkpoint.model.state_dict())


def log(folder: Path) -> list[dict[str, float]]:
    return runs.log(folder / "log")


def same(some: dict[str, Tensor], others: dict[str, Tensor]) -> bool:
    return some.keys() == others.keys() and all(
        torch.equal(some[name], others[name]) for name in some
    )


def test_training_learns(tmp_path: Path) -> None:
    quiet = {name: 0.0 for name in Config.__slots__ if name.endswith("dropout")}
    run(replace(FAST, epochs=25, model={**MODEL, **quiet}), tmp_path)
    checkpoint = load_checkpoint(tmp_path / "model.pt")
    symbols = len(checkpoint.vocabulary)
    assert symbols == 14 + 6 + 4, "words, brackets, <eos> and the unknown: a uniform guess's 24"
    dev = [checkpoint.vocabulary.encode(tokens) for tokens in DEV]
    perplexity = dev_perplexity(checkpoint.model, dev, checkpoint.vocabulary.eos)
    assert perplexity == pytest.approx(checkpoint.information["dev_perplexity"], rel=1e-5)
    assert perplexity < 5
    assert checkpoint.information["epochs"] == 25
    assert checkpoint.information["tokens"] == 25 * sum(len(tokens) + 1 for tokens in TREES)
    assert checkpoint.information["train_trees"] == 20


def test_the_same_seed_gives_the_same_weights_and_another_does_not(tmp_path: Path) -> None:
    config = replace(FAST, epochs=1)
    first = run(config, tmp_path / "first")
    assert same(first, run(config, tmp_path / "second"))
    assert not same(first, run(replace(config, seed=2), tmp_path / "third"))


def test_a_backward_model_learns_trees_from_their_ends(tmp_path: Path) -> None:
    config = replace(FAST, epochs=1)
    backward = run(replace(config, direction="backward"), tmp_path)
    assert load_checkpoint(tmp_path / "model.pt").vocabulary.backward
    turned, dev = ([tokens[::-1] for tokens in trees] for trees in (TREES, DEV))
    out = tmp_path / "turned.pt"
    train(config, turned, dev, out, tmp_path / "turned")
    assert same(backward, dict(load_checkpoint(out).model.state_dict()))
    assert not same(backward, run(config, tmp_path / "forward"))


def test_dev_perplexity_is_per_token_from_the_start_state() -> None:
    model = AwdLstmDoc(Config(7, 4, (5, 6), (0, 1, 2))).train()
    trees = [[1, 2, 3, 0], [4, 5, 0], [6, 0], [2, 2, 2, 2, 0]]
    losses = []
    model.eval()
    for ids in trees:
        state, before = model.initial_state(1), 0
        for target in ids:
            features, state = model.step(torch.tensor([before]), state)
            losses.append(-model.log_probabilities(features)[0, target].item())
            before = target
    model.train()
    expected = math.exp(sum(losses) / 14)
    for batch_tokens in (1, 8, 8_192):
        result = dev_perplexity(model, trees, 0, batch_tokens=batch_tokens)
        assert result == pytest.approx(expected, rel=1e-5)
    assert model.training, "the mode is left as it was"


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary() -> None:
    model = AwdLstmDoc(Config(7, 4, (5, 6), (0, 1, 2)))
    for parameter in model.parameters():
        parameter.data.zero_()
    assert dev_perplexity(model, [[1, 2, 0], [3, 0]], 0) == pytest.approx(7, rel=1e-5)
    model.decoder_bias.data[0] = 2_000  # everything else has probability exp(-2000)
    assert dev_perplexity(model, [[1, 2, 0], [3, 0]], 0) == math.inf


def test_both_forms_of_beta_by_hand() -> None:
    weights = torch.tensor([[[0.5, 0.5]], [[0.7, 0.3]]])  # [T, B, J]
    # Equation 12: B = (1.2, 0.8). Its mean is 1, its (sample) variance 0.2^2 + 0.2^2 = 0.08.
    assert printed_beta(weights.log()).item() == pytest.approx(0.08, rel=1e-5)
    assert authors_beta(weights.log()).item() == pytest.approx(0.08, rel=1e-5)  # J - 1 is 1
    even = torch.tensor([[[0.1, 0.9]], [[0.9, 0.1]]])
    assert printed_beta(even.log()).item() == pytest.approx(0, abs=1e-6)
    assert authors_beta(even.log()).item() == pytest.approx(0, abs=1e-6)
    # Two columns that lean to opposite sides: the authors' form minds each.
    opposite = torch.tensor(
        [[[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]]]
    )
    assert printed_beta(opposite.log()).item() < 0.1
    sums = [0.2, 0.4, 1.4, 1.2, 0.6, 0.2]
    variance = sum((one - 2 / 3) ** 2 for one in sums) / 5
    assert authors_beta(opposite.log()).item() == pytest.approx(2 * variance / (2 / 3) ** 2)


def test_the_authors_beta_is_some_twenty_times_the_printed_one() -> None:
    """For the paper's T 70, B 12 and J 20: (J - 1)^2 B / (B J - 1) = 18.1 times where all columns
    are alike, more where they are not."""
    generator = torch.Generator().manual_seed(1)
    bias = 0.5 * torch.randn(20, generator=generator)
    noise = torch.randn(70, 12, 20, generator=generator)
    for share, least, most in ((0.0, 18.12, 18.14), (1.0, 18.2, 31.0)):
        log_weights = torch.log_softmax(bias + share * noise, -1)
        ratio = (authors_beta(log_weights) / printed_beta(log_weights)).item()
        assert least < ratio < most


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("activation_regularization", 2.0),
        ("temporal_regularization", 1.0),
        ("mixture_balance", 1.0),
        ("clip", 1e-3),
    ],
)
def test_every_regularisation_has_its_effect(setting: str, value: float, tmp_path: Path) -> None:
    config = replace(PAPER, budget_minutes=1e-9, activation_regularization=0.0)
    config = replace(config, temporal_regularization=0.0, mixture_balance=0.0)
    # A budget this small is spent by the first batch.
    without = run(config, tmp_path / "without")
    change: dict[str, Any] = {setting: value}
    assert not same(without, run(replace(config, **change), tmp_path / "with"))


def test_the_form_of_beta_has_its_effect(tmp_path: Path) -> None:
    config = replace(PAPER, budget_minutes=1e-9, mixture_balance=1.0)
    printed = run(config, tmp_path / "printed")
    authors = replace(config, mixture_balance_form="authors")
    assert not same(printed, run(authors, tmp_path / "authors"))


forks = pytest.mark.skipif(
    torch.cuda.is_available(), reason="this machine has CUDA: autograd cannot go on in a fork"
)
fork_warning = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@pytest.mark.parametrize(
    ("config", "batches"),
    [(FAST, 20), (PAPER, 29)],
    ids=["fast", "paper"],
)
def test_a_killed_run_goes_on_to_the_same_weights_bit_by_bit(
    config: TrainingConfig, batches: int, tmp_path: Path
) -> None:
    """Killed near its beginning, and near its end."""
    check_resumed(partial(train, config, TREES, DEV), tmp_path, saved_after=(3, batches - 5))
    assert runs.log(tmp_path / "whole")[-1]["batches"] == batches


@forks
@fork_warning
def test_a_run_survives_kills_at_any_moment(tmp_path: Path) -> None:
    expected = run(FAST, tmp_path / "whole")
    generator = random.Random(1)
    folder = tmp_path / "killed"
    state = folder / "log" / "state.pt"
    for _ in range(3):
        written = state.stat().st_mtime_ns if state.exists() else 0
        child = os.fork()
        if child == 0:
            try:
                training.STATE_INTERVAL = -1  # after every batch: kills often hit the writing
                run(FAST, folder)
            finally:
                os._exit(0)
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if state.exists() and state.stat().st_mtime_ns > written:
                time.sleep(generator.uniform(0, 0.05))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
            time.sleep(0.001)
    assert same(run(FAST, folder), expected)
    assert log(folder) == log(tmp_path / "whole")
    names = {path.name for path in folder.rglob("*")}
    assert names == {"log", "log.jsonl", "state.pt", "model.pt"}


def test_what_a_kill_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """A kill between the two names of a new state leaves it under its first name."""
    folder = tmp_path / "log"
    folder.mkdir()
    names = ["state.pt.0123456789abcdef.tmp", "state.pt.mine.tmp"]
    for name in names:
        (folder / name).touch()
    run(replace(FAST, epochs=0.1), tmp_path)
    assert [(folder / name).exists() for name in names] == [False, True]


def test_a_finished_run_given_again_changes_nothing(tmp_path: Path) -> None:
    for config in (replace(FAST, epochs=1), replace(PAPER, learning_rate=1e-9)):
        folder = tmp_path / config.recipe
        expected, rows = run(config, folder), log(folder)
        assert same(run(config, folder), expected)
        assert log(folder) == rows
        batches = [row["batches"] for row in rows]
        assert batches == sorted(batches)
        assert len({(row["batches"], "loss" in row) for row in rows}) == len(rows)


def test_a_run_may_be_given_more_time(tmp_path: Path) -> None:
    run(replace(FAST, epochs=1), tmp_path)
    before = log(tmp_path)
    run(replace(FAST, epochs=2), tmp_path)
    after = log(tmp_path)
    assert after[: len(before)] == before
    assert after[-1]["epoch"] == 2
    run(replace(FAST, epochs=0, budget_minutes=1e-9), tmp_path)
    assert log(tmp_path) == after, "the budget counts the time before the resumption"


@pytest.mark.parametrize("every", [4, 1_000_000])
def test_the_minutes_include_the_last_evaluation(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that only training and evaluating move. Before the first evaluation its time is
    estimated from that of the batches."""
    clock = SimpleNamespace(now=100.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(training, "time", clock)
    backward, evaluate = LanguageModelRun.backward, LanguageModelRun.dev_perplexity

    def slow_backward(run: LanguageModelRun, batch: Batch) -> tuple[float, int]:
        loss, tokens = backward(run, batch)
        clock.now += 0.02 * tokens
        return loss, tokens

    def slow_evaluation(run: LanguageModelRun) -> float:
        clock.now += 0.01 * run.dev_tokens
        return evaluate(run)

    monkeypatch.setattr(LanguageModelRun, "backward", slow_backward)
    monkeypatch.setattr(LanguageModelRun, "dev_perplexity", slow_evaluation)
    config = replace(FAST, epochs=0, budget_minutes=0.5, validate_every=every)
    run(config, tmp_path)
    assert 100 + 30 * 0.75 < clock.now <= 100 + 30
    ended, rows = clock.now, log(tmp_path)
    run(config, tmp_path)  # the same command: there is no time left
    assert clock.now == ended and log(tmp_path) == rows


def test_dev_trees_that_would_take_most_of_the_minutes_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Training on as many tokens would take a second each, longer than the evaluation does."""
    clock, evaluated = SimpleNamespace(now=100.0), []
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(training, "time", clock)
    backward, evaluate = LanguageModelRun.backward, LanguageModelRun.dev_perplexity

    def slow_backward(run: LanguageModelRun, batch: Batch) -> tuple[float, int]:
        loss, tokens = backward(run, batch)
        clock.now += tokens
        return loss, tokens

    def slow_evaluation(run: LanguageModelRun) -> float:
        clock.now += 0.9 * run.dev_tokens
        evaluated.append(len(run.dev))
        return evaluate(run)

    monkeypatch.setattr(LanguageModelRun, "backward", slow_backward)
    monkeypatch.setattr(LanguageModelRun, "dev_perplexity", slow_evaluation)
    config = replace(FAST, epochs=0, budget_minutes=0.5, validate_every=0)
    run(config, tmp_path)
    assert evaluated and 1 <= evaluated[0] < len(DEV)
    assert f"only the first {evaluated[0]} of {len(DEV)} dev sequences" in caplog.text


@pytest.mark.parametrize("change", [{"seed": 2}, {"model": {**MODEL, "word_dropout": 0.2}}])
def test_the_state_of_another_run_is_not_taken_over(change: dict[str, Any], tmp_path: Path) -> None:
    config = replace(FAST, budget_minutes=1e-9)
    run(config, tmp_path)
    state = (tmp_path / "log" / "state.pt").read_bytes()
    with pytest.raises(ConfigError, match=r"state\.pt.*different settings"):
        run(replace(config, **change), tmp_path)
    with pytest.raises(ConfigError, match="different settings or trees"):
        train(config, TREES[:19], DEV, tmp_path / "model.pt", tmp_path / "log")
    assert (tmp_path / "log" / "state.pt").read_bytes() == state


def test_a_state_file_of_something_else_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "log" / "state.pt"
    state.parent.mkdir()
    torch.save([1, 2, 3], state)
    with pytest.raises(ConfigError, match=r"state\.pt"):
        run(FAST, tmp_path)
    state.write_bytes(b"not a state")
    with pytest.raises(CheckpointError, match=r"state\.pt"):
        run(FAST, tmp_path)


def test_start_from_takes_vocabulary_and_weights(tmp_path: Path) -> None:
    first = run(replace(FAST, epochs=1), tmp_path / "first")
    start = tmp_path / "first" / "model.pt"
    # More words, but the vocabulary is the first model's; at rate 0 so are the weights.
    still = replace(FAST, epochs=1, learning_rate=0.0, seed=2)
    out = tmp_path / "second.pt"
    more = [*TREES, tree("An owl", "hoots")]
    perplexity = train(still, more, DEV, out, tmp_path / "log", start_from=start)
    second = load_checkpoint(out)
    assert second.vocabulary == load_checkpoint(start).vocabulary
    assert same(dict(second.model.state_dict()), first)
    assert perplexity == load_checkpoint(start).information["dev_perplexity"]
    assert second.information["start_from"] == "model.pt"

    for model in ({**MODEL, "hidden_sizes": [11, 9]}, ATTENTIVE):
        other = replace(still, model=model)
        with pytest.raises(ConfigError, match=r"model\.pt"):
            train(other, TREES, DEV, out, tmp_path / "other", start_from=start)
    with pytest.raises(CheckpointError, match=r"none\.pt"):
        train(still, TREES, DEV, out, tmp_path / "other", start_from=tmp_path / "none.pt")


def test_a_run_that_diverges_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"diverged.*learning_rate"):
        run(replace(PAPER, learning_rate=1e30), tmp_path)
    assert not (tmp_path / "model.pt").exists()


def test_too_few_trees_for_the_stream_are_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="batch_size is 5000"):
        run(replace(PAPER, batch_size=5_000), tmp_path)


@pytest.mark.parametrize("keep", ["best", "last"])
def test_the_best_evaluation_is_kept_unless_the_last_is_wanted(
    tmp_path: Path, keep: Literal["best", "last"]
) -> None:
    # The dev trees are nothing like the training trees: learning these soon does harm.
    strange = [tree("runs . runs", "it it it it"), tree(". . .", "dog dog dog")]
    quiet = {name: 0.0 for name in Config.__slots__ if name.endswith("dropout")}
    model = {**MODEL, **quiet}
    config = replace(FAST, epochs=8, learning_rate=0.05, keep=keep, model=model)
    out = tmp_path / "model.pt"
    kept = train(config, TREES, strange, out, tmp_path / "log")
    seen = [row["dev_perplexity"] for row in log(tmp_path) if "dev_perplexity" in row]
    assert min(seen) < seen[-1]
    assert kept == (min(seen) if keep == "best" else seen[-1])
    checkpoint = load_checkpoint(out)
    dev = [checkpoint.vocabulary.encode(tokens) for tokens in strange]
    result = dev_perplexity(checkpoint.model, dev, checkpoint.vocabulary.eos)
    assert result == pytest.approx(kept, rel=1e-6)


def test_a_log_line_cut_short_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(
        '{"batches": 1, "loss": 3.0}\n{"batches": 2, "loss": 2.0}\n{"batches": 3, "lo'
    )
    with TrainingLog(tmp_path, resume_at=3) as kept:
        kept.write(3, loss=1.5)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert rows == [{"batches": batches, "loss": loss} for batches, loss in
                    ((1, 3.0), (2, 2.0), (3, 1.5))]  # fmt: skip


@pytest.mark.slow
def test_the_learning_curve_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "matplotlib.figure")
    pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr("reranker.plugins.training.loop.log._PLOT_INTERVAL", 1e9)
    path = tmp_path / "curve.png"
    with TrainingLog(tmp_path, resume_at=0) as curve:
        curve.write(1, tokens=10, loss=3.0)
        curve.write(1, tokens=10, dev_perplexity=20.0)
        curve.plot()
        first = path.read_bytes()
        assert first[:4] == b"\x89PNG"
        curve.write(2, tokens=20, dev_perplexity=10.0)
        curve.plot()
        assert path.read_bytes() == first, "it was drawn a moment ago"
    assert path.read_bytes() != first
