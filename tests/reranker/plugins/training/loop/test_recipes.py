import copy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from reranker.models import AwdLstmDoc, Config
from reranker.models.batch import Batch
from reranker.plugins.training.corpus.batches import StreamBatches, TreeBatches
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.recipes import PaperRecipe
from reranker.plugins.training.loop.recipes import FastRecipe

CONFIGS = sorted((Path(__file__).parents[5] / "models" / "configs").glob("*.toml"))
SIZES: dict[str, Any] = {"embedding_size": 4, "hidden_sizes": (4,), "components": ()}
PAPER = TrainingConfig(
    recipe="paper",
    learning_rate=2.0,
    weight_decay=0.0,
    batch_size=2,
    sequence_length=10,
    non_monotone_interval=2,
    model=SIZES,
)
TREES = [[1, 2, 3, 4, 0]] * 12


def paper_recipe(config: TrainingConfig = PAPER) -> PaperRecipe:
    model = AwdLstmDoc(Config(vocabulary_size=5, **SIZES))
    stream = StreamBatches(TREES, 0, config.batch_size, config.sequence_length, config.seed)
    return PaperRecipe(model, config, stream)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def fill(model: nn.Module, value: float) -> None:
    for parameter in model.parameters():
        parameter.data.fill_(value)


def step(recipe: PaperRecipe, gradient: float, length: int = 10) -> float:
    """Return the size of one step in which every gradient is the same number."""
    for parameter in recipe.model.parameters():
        parameter.grad = torch.full_like(parameter, gradient)
    column = torch.zeros(length, 2, dtype=torch.long)
    return recipe.step(Batch(column, column, continues=False), done=0.0)


class Judge:
    """A caller that tells a recipe of evaluations, as the training loop does."""

    def __init__(self, recipe: PaperRecipe) -> None:
        self.recipe, self.best = recipe, float("inf")
        self.best_weights: dict[str, Tensor] = {}

    def __call__(self, *perplexities: float) -> list[int]:
        """Return the phase after each evaluation; -1 when training is over."""
        phases = []
        for perplexity in perplexities:
            improved = perplexity < self.best
            if improved:
                self.best, self.best_weights = perplexity, weights(self.recipe.model)
            self.recipe.evaluated(perplexity, self.best_weights, improved)
            phases.append(-1 if self.recipe.finished else self.recipe.phase)
        return phases


@pytest.mark.parametrize(
    "path",
    [path for path in CONFIGS if not path.stem.startswith(("spans", "parser"))],
    ids=lambda path: path.name,
)
def test_every_shipped_configuration_loads(path: Path) -> None:
    config = TrainingConfig.from_file(path, budget_minutes=1)
    assert config.model_config(vocabulary_size=10_000).vocabulary_size == 10_000


def test_the_paper_s_configuration_is_table_2() -> None:
    path = next(path for path in CONFIGS if path.name == "ptb.toml")
    config = TrainingConfig.from_file(path)
    assert config.recipe == "paper"
    assert config.model_config(10_000) == Config(
        vocabulary_size=10_000,
        embedding_size=280,
        hidden_sizes=(960, 960, 620),
        components=(0, 0, 5, 15),
        word_dropout=0.1,
        embedding_dropout=0.4,
        hidden_dropout=0.225,
        output_dropout=0.4,
        component_dropout=0.6,
        recurrent_weight_dropout=0.5,
    )
    assert config == replace(
        config,
        learning_rate=20,
        batch_size=12,
        clip=0.25,
        weight_decay=1.2e-6,
        sequence_length=70,
        non_monotone_interval=60,
        activation_regularization=2,
        temporal_regularization=1,
        mixture_balance=0.001,
        mixture_balance_form="authors",
        validate_every=0,
        epochs=0,
        budget_minutes=0,
    )


def test_a_phase_ends_when_an_evaluation_is_worse_than_one_before_the_interval() -> None:
    judge = Judge(paper_recipe())
    # The interval is 2: 8 is worse than the second best, not than the value three steps earlier.
    assert judge(10, 9, 7, 8) == [0, 0, 0, 0]
    # 8.5 follows 10, 9, 7 | 8, ...: 7 is now outside the interval, and better.
    assert judge(8.5) == [0]
    assert judge(8.0) == [1]


def test_gains_keep_a_phase_going() -> None:
    assert Judge(paper_recipe())(9, 8, 7, 6, 5, 4, 3) == [0] * 7


def test_averaging_follows_sgd_and_is_repeated_from_the_best_weights_until_no_gain() -> None:
    recipe = paper_recipe()
    judge = Judge(recipe)
    fill(recipe.model, 1.0)
    assert judge(10) == [0]
    fill(recipe.model, 2.0)
    assert judge(11, 12, 13) == [0, 0, 1]
    assert recipe.model.embedding[0, 0] == 2.0, "averaging starts from where SGD has come to"
    fill(recipe.model, 3.0)
    assert judge(9) == [1]
    fill(recipe.model, 4.0)
    assert judge(9.5, 9.5, 9.5) == [1, 1, 2]
    assert recipe.model.embedding[0, 0] == 3.0, "fine-tuning starts from the best weights"
    fill(recipe.model, 5.0)
    assert judge(8) == [2]
    fill(recipe.model, 6.0)
    assert judge(8.5, 8.5, 8.5) == [2, 2, 3]
    assert recipe.model.embedding[0, 0] == 5.0
    assert judge(8.1, 8.2, 8.3, 8.4) == [3, 3, 3, -1], "the third phase gained nothing"


def test_without_fine_tuning_the_end_is_that_of_averaging() -> None:
    judge = Judge(paper_recipe(replace(PAPER, fine_tuning=False)))
    assert judge(10, 11, 12, 13) == [0, 0, 0, 1]
    assert judge(9, 9.5, 9.5, 9.5) == [1, 1, 1, -1]


def test_epochs_limit_each_phase_however_often_is_evaluated() -> None:
    recipe = paper_recipe(replace(PAPER, epochs=2, validate_every=1))
    judge = Judge(recipe)
    seen: list[tuple[int, float]] = []
    perplexity = 100.0
    while not recipe.finished and len(seen) < 1000:
        recipe.batches.next()
        perplexity -= 1 if recipe.phase < 2 else 0
        judge(perplexity)
        seen.append((recipe.phase, recipe.batches.progress))
    ends = [after[1] for before, after in pairwise(seen) if before[0] != after[0]]
    assert ends == [2.0, 4.0]
    assert seen[-1] == (2, 6.0)


def test_the_rate_follows_the_length_of_the_segment_at_once_in_every_phase() -> None:
    recipe = paper_recipe()
    judge = Judge(recipe)
    for phase in (0, 1, 2):
        assert recipe.phase == phase
        fill(recipe.model, 1.0)
        for length in (10, 5, 20):  # the mean length is 10
            before = recipe.model.embedding[0, 0].item()
            assert step(recipe, 0.25, length) == pytest.approx(2.0 * length / 10)
            after = recipe.model.embedding[0, 0].item()
            assert before - after == pytest.approx(0.25 * 2.0 * length / 10)
        judge(10, 11, 12, 13)


def test_evaluation_sees_the_average_since_the_phase_began() -> None:
    recipe = paper_recipe()
    fill(recipe.model, 0.0)
    step(recipe, 1.0)  # to -2: no averaging in the first phase
    with recipe.evaluation_weights():
        assert recipe.model.embedding[0, 0] == -2.0
    Judge(recipe)(10, 11, 12, 13)
    fill(recipe.model, 0.0)
    for gradient in (-0.5, -1.0, -1.5):  # to 1, 3 and 6
        step(recipe, gradient)
    before = weights(recipe.model)
    with recipe.evaluation_weights():
        for parameter in recipe.model.parameters():
            assert torch.allclose(parameter, torch.full_like(parameter, 10 / 3))
    for name, weight in recipe.model.named_parameters():
        assert torch.equal(weight, before[name])
        assert (weight == 6.0).all()


def test_the_weights_come_back_even_if_the_evaluation_fails() -> None:
    recipe = paper_recipe()
    Judge(recipe)(10, 11, 12, 13)
    fill(recipe.model, 0.0)
    step(recipe, -0.5)
    step(recipe, -0.5)
    with pytest.raises(KeyboardInterrupt), recipe.evaluation_weights():
        raise KeyboardInterrupt
    assert (recipe.model.embedding == 2.0).all()


def test_the_state_holds_all_a_recipe_has_learned() -> None:
    recipe, other = paper_recipe(), paper_recipe()
    judge = Judge(recipe)
    judge(10, 11, 12, 13)
    step(recipe, -0.5)
    step(recipe, 0.1)
    judge(12, 9)
    other.load_state(copy.deepcopy(recipe.state()))
    other.model.load_state_dict(recipe.model.state_dict())
    for each in (recipe, other):
        step(each, 0.7)
    with recipe.evaluation_weights(), other.evaluation_weights():
        for name, weight in recipe.model.named_parameters():
            assert torch.equal(weight, other.model.get_parameter(name))
    later = Judge(other)
    later.best, later.best_weights = judge.best, judge.best_weights
    assert judge(9.5, 9.5, 9.5) == later(9.5, 9.5, 9.5) == [1, 1, 2]


def test_the_fast_recipe_warms_up_and_decays_to_nothing() -> None:
    config = TrainingConfig(
        epochs=1, learning_rate=0.4, warmup_batches=4, weight_decay=0.0, model=SIZES
    )
    batches = TreeBatches(TREES, 0, config.batch_tokens, config.seed)
    model = AwdLstmDoc(Config(vocabulary_size=5, **SIZES))
    recipe = FastRecipe(model, config, batches)
    batch = recipe.batches.next()
    rates = []
    for done in (0.0, 0.0, 0.0, 0.0, 0.5, 1.0):
        before = model.embedding.detach().clone()
        for parameter in model.parameters():
            parameter.grad = torch.ones_like(parameter)
        rates.append(recipe.step(batch, done))
        # Adam moves every weight by the rate while its gradient stays the same.
        moved = (before - model.embedding).abs().max().item()
        assert moved == pytest.approx(rates[-1], rel=1e-3, abs=1e-6)
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.2, 0.0])
    assert not recipe.finished, "only the budget ends a fast run"


def test_the_fast_recipe_averages_the_weights_of_its_end() -> None:
    recipe = fast_recipe(averaged=0.5)
    rates, seen = [], []
    for done in (0.0, 0.25, 0.5, 0.6, 0.75, 0.9):
        rates.append(fast_step(recipe, done))
        seen.append(weights(recipe.model))
        if done == 0.75:  # the run is killed here and resumes
            other = fast_recipe(averaged=0.5)
            other.load_state(copy.deepcopy(recipe.state()))
            other.model.load_state_dict(recipe.model.state_dict())
            recipe = other
    assert rates == pytest.approx([0.1, 0.075, 0.05, 0.05, 0.05, 0.05])
    with recipe.evaluation_weights():
        for name, weight in recipe.model.named_parameters():
            mean = torch.stack([each[name] for each in seen[3:]]).mean(0)
            assert torch.allclose(weight, mean), name
    for name, weight in recipe.model.named_parameters():
        assert torch.equal(weight, seen[-1][name]), name


def fast_recipe(*, averaged: float = 0.0) -> FastRecipe:
    model = AwdLstmDoc(Config(vocabulary_size=5, **SIZES))
    config = TrainingConfig(learning_rate=0.1, warmup_batches=0, averaged=averaged, model=SIZES)
    return FastRecipe(model, config, TreeBatches(TREES, 0, 100, 1))


def fast_step(recipe: FastRecipe, done: float = 0.0) -> float:
    for parameter in recipe.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    column = torch.zeros(1, 2, dtype=torch.long)
    return recipe.step(Batch(column, column, continues=False), done=done)


def test_the_fast_recipe_resumes_from_a_state_that_knows_no_slow_parameters() -> None:
    """Older states, before there were encoders, have AdamW's own form, with one group."""
    old = fast_recipe()
    fast_step(old)
    state = copy.deepcopy(old.state())
    assert [[*group] for group in state["optimizer"]["param_groups"]] == [
        [*torch.optim.AdamW([torch.zeros(1)]).state_dict()["param_groups"][0]]
    ]
    new = fast_recipe()
    new.model.load_state_dict(old.model.state_dict())
    new.load_state(state)
    assert fast_step(new) == fast_step(old)
    for name, weight in new.model.named_parameters():
        assert torch.equal(weight, old.model.get_parameter(name)), name


def test_slow_parameters_learn_at_their_share_of_the_rate() -> None:
    model = AwdLstmDoc(Config(vocabulary_size=5, **SIZES))
    config = TrainingConfig(learning_rate=0.1, warmup_batches=0, weight_decay=0.0, model=SIZES)
    slow = [model.embedding]
    recipe = FastRecipe(model, config, TreeBatches(TREES, 0, 100, 1), slow, 0.25)
    before = weights(model)
    assert fast_step(recipe) == pytest.approx(0.1)
    for name, weight in model.named_parameters():
        rate = 0.025 if weight is model.embedding else 0.1
        # The first step of Adam is the rate, whatever the gradient.
        assert torch.allclose(before[name] - weight, torch.full_like(weight, rate)), name
