"""Training on running text: streams, articles, and a dev perplexity that carries the state."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from reranker.checkpoints.checkpoint import load_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.commands.main import main
from reranker.models import AwdLstmDoc, Config
from reranker.models.batch import PADDING, Batch
from reranker.plugins.training.corpus.batches import StreamBatches
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.loss import backward, text_perplexity
from reranker.plugins.training.language_models.recipes import ThesisRecipe
from reranker.plugins.training.language_models.run import LanguageModelRun
from reranker.text.running import CLOSING, OPENING, Line
from tests.models.settings import ONE_OF_EACH, SETTINGS, build
from tests.reranker.plugins.training.runs import train
from tests.reranker.small_files import write

THESIS = TrainingConfig(
    recipe="thesis",
    text=True,
    minimum_count=1,
    epochs=2,
    learning_rate=0.01,
    weight_decay=0.0,
    clip=5.0,
    batch_size=2,
    sequence_length=4,
    validate_every=0,
    stored_precision="float32",
    model={"architecture": "attention", "embedding_size": 6, "hidden_sizes": [6], "window": 2},
)
ARTICLE: list[Line] = [(OPENING,), ("^the", "cat", "sleeps"), ("it", "runs"), (CLOSING,)]
LINES = 6 * [*ARTICLE, (OPENING,), ("a", "dog", "runs"), (CLOSING,)]


@pytest.mark.parametrize("setting", ONE_OF_EACH)
def test_gradients_are_those_of_articles_alone(setting: str) -> None:
    """A batch with the end of one article and the beginning of another, against both apart."""
    model = build(setting)
    opening, config = 1, replace(THESIS, clip=1e9)
    column = [2, 3, 4, opening, 5, 6]
    targets = [*column[1:3], PADDING, *column[4:], 2]

    def gradients(*parts: tuple[list[int], list[int]]) -> dict[str, torch.Tensor]:
        model.zero_grad()
        count = sum(len(goal) - goal.count(PADDING) for _, goal in parts)
        total = {name: torch.zeros_like(weight) for name, weight in model.named_parameters()}
        for inputs, goal in parts:
            model.zero_grad()
            batch = Batch(
                torch.tensor(inputs).unsqueeze(1), torch.tensor(goal).unsqueeze(1), False, opening
            )
            _, tokens, _ = backward(model, batch, None, config, torch.float32, "cpu")
            for name, weight in model.named_parameters():
                if weight.grad is not None:
                    total[name] += weight.grad * tokens / count
        return total

    together = gradients((column, targets))
    apart = gradients((column[:3], targets[:3]), (column[3:], targets[3:]))
    for name, gradient in together.items():
        assert torch.allclose(gradient, apart[name], atol=1e-6), name
    assert any(gradient.abs().max() > 1e-3 for gradient in together.values())


def test_dev_perplexity_is_that_of_the_whole_text_at_once() -> None:
    torch.manual_seed(3)
    setting = "awd-lstm-doc: DOC"
    model = build(setting)
    lines = [[2, 3, 0], [4, 0], [5, 6, 5, 0]]
    ids = [number for line in lines for number in line]
    inputs = torch.tensor([[0], *([number] for number in ids[:-1])])
    features, _ = model(inputs, model.initial_state(1))
    table = model.log_probabilities(features)[:, 0]
    expected = math.exp(-table[range(len(ids)), ids].mean().item())
    assert text_perplexity(model, lines, 0, PADDING) == pytest.approx(expected, rel=1e-5)
    assert not model.training
    assert SETTINGS[setting].components  # a mixture


def test_adam_as_the_thesis_prints_it() -> None:
    """The first step of Adam is the learning rate, against the gradient's sign, however late."""
    model = AwdLstmDoc(Config(5, 4, (4,), components=()))
    stream = StreamBatches(
        [[1, 2, 3, 4, 0]] * 12,
        0,
        THESIS.batch_size,
        THESIS.sequence_length,
        THESIS.seed,
        varied=False,
    )
    recipe = ThesisRecipe(model, THESIS, stream)
    group = recipe.optimizer.param_groups[0]
    assert (group["lr"], group["betas"], group["weight_decay"]) == (0.01, (0.9, 0.999), 0.0)
    batch = recipe.batches.next()
    assert batch.inputs.shape == (4, 2)
    before = copy.deepcopy(dict(model.named_parameters()))
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.3)
    assert recipe.step(batch, done=0.9) == 0.01
    for name, parameter in model.named_parameters():
        assert torch.allclose(before[name] - parameter, torch.tensor(0.01), atol=1e-6), name


def test_a_text_is_learned(tmp_path: Path) -> None:
    config = replace(THESIS, epochs=10)
    perplexity = train(config, LINES, LINES[:7], tmp_path / "m.pt", tmp_path / "log")
    checkpoint = load_checkpoint(tmp_path / "m.pt")
    assert perplexity < 3, "9 symbols"
    run = LanguageModelRun(config, LINES, LINES[:7], start_from=tmp_path / "m.pt")
    again = text_perplexity(checkpoint.model, run.dev, checkpoint.vocabulary.eos, run.opening)
    assert again == pytest.approx(perplexity, rel=1e-5)
    # Articles of 9 and 6 tokens, six of each, which are two columns; their openings are given.
    assert checkpoint.information["tokens"] == 10 * (6 * (9 + 6) - 12)


def test_the_command_takes_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "The cat sleeps\n\nIt runs ( fast )\n"
    write(tmp_path / "t.txt", 5 * text)
    write(
        tmp_path / "c.toml",
        '[training]\nrecipe = "paper"\nepochs = 1\nminimum_count = 1\nbatch_size = 2\n'
        "learning_rate = 1.0\nfine_tuning = false\n[model]\nembedding_size = 4\n"
        "hidden_sizes = [4]\ncomponents = []\n",
    )
    command = ["train", "--config", "c.toml", "--train", "t.txt", "--dev", "t.txt", "--out", "m.pt"]
    assert main([*command, "--text", "--threads", "1"]) == 0
    vocabulary = load_checkpoint(Path("m.pt")).vocabulary
    assert isinstance(vocabulary, Vocabulary)
    words = {"^the", "cat", "sleeps", "^it", "runs", "-lrb-", "fast", "-rrb-"}
    assert set(vocabulary.symbols) == words | {"<eos>", "<unk>", "(<unk>", ")<unk>"}
    assert load_checkpoint(Path("m.pt")).information["training"]["text"] is True
    write(tmp_path / "t.txt", b"\xff\n")
    assert main([*command, "--text"]) == 2
