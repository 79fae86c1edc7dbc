"""A training run of a language model on linearised trees or on running text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reranker.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from reranker.checkpoints.vocabulary import Vocabulary, rare_words
from reranker.errors import ConfigError, InputError
from reranker.files.visible import counted
from reranker.languages import ENGLISH
from reranker.models import LanguageModel
from reranker.models.batch import PADDING, Batch
from reranker.plugins.training.corpus.batches import StreamBatches, TreeBatches
from reranker.plugins.training.corpus.tree_files import StreamedTrees, TokenFile, read_tokens
from reranker.plugins.training.corpus.word_vectors import WordVectors, start_embedding
from reranker.plugins.training.language_models.config import TrainingConfig
from reranker.plugins.training.language_models.loss import backward, dev_perplexity, text_perplexity
from reranker.plugins.training.language_models.recipes import PaperRecipe, ThesisRecipe
from reranker.plugins.training.language_models.start import start
from reranker.plugins.training.loop.recipes import FastRecipe, Recipe
from reranker.plugins.training.loop.run import NewRun, Run
from reranker.plugins.training.loop.settings import TrainSettings
from reranker.plugins.training.processes import Processes
from reranker.text.running import encoded as encoded_text
from reranker.text.running import opening_id, read_running_text

CONFIG = TrainingConfig
TAKES = {"stream", "start_from", "vectors"}


class LanguageModelRun(Run):
    """Training on whole trees, on one stream of them, or on running text."""

    config: TrainingConfig
    model: LanguageModel

    def __init__(
        self,
        config: TrainingConfig,
        train_trees: Sequence[Sequence[str]] | StreamedTrees,
        dev_trees: Sequence[Sequence[str]],
        *,
        device: str = "cpu",
        processes: Processes = Processes(),
        start_from: Path | None = None,
        vectors: WordVectors | None = None,
    ) -> None:
        """Take trees, which are linearised, or, with ``config.text``, lines of running text (see
        ``reranker.text.running``), through which the state is carried. Training trees that do not
        fit into memory are given as ``StreamedTrees``.

        ``start_from`` is a checkpoint whose vocabulary and weights are taken; otherwise embeddings
        start with ``vectors``, which also assign rare words to classes. Raises ConfigError if the
        configuration does not fit ``start_from`` or the trees.
        """
        super().__init__(config, device, processes)
        self.start_from = start_from
        self.dtype = torch.bfloat16 if config.precision == "bfloat16" else torch.float32
        if start_from is None:
            self.vocabulary, self.model = _new_model(config, train_trees, vectors)
        else:
            self.vocabulary, self.model = _pretrained_model(config, start_from)
        encoded: Sequence[Sequence[int]]
        if isinstance(train_trees, StreamedTrees):
            encoded = train_trees.encoded(self.vocabulary)
        else:
            encoded = self._encoded(train_trees)
        if start_from is None:
            start(self.model, config.start, _counts(encoded, len(self.vocabulary)))
            if vectors is not None:
                start_embedding(self.model, self.vocabulary, vectors)
        self.model.to(device)
        every = max(1, len(dev_trees) // config.validation_trees) if config.validation_trees else 1
        self.dev = self._encoded(dev_trees[::every])
        self.opening = opening_id(self.vocabulary) if config.text else PADDING
        self.recipe = _new_recipe(self.model, config, encoded, self.vocabulary.eos, self.opening)
        self.train_trees = len(encoded)
        self.word_vectors = len(vectors.words) if vectors else 0

    def backward(self, batch: Batch) -> tuple[float, int]:
        state = self.carried if batch.continues else None
        loss, tokens, self.carried = backward(
            self.model, batch, state, self.config, self.dtype, self.device
        )
        return loss, tokens

    @property
    def dev_tokens(self) -> int:
        return sum(map(len, self.dev))

    def dev_perplexity(self) -> float:
        """Return perplexity per token: of trees from the start state, or through the text."""
        eos = self.vocabulary.eos
        if self.config.text:  # one long column, which cannot be shared out
            result = 0.0
            if self.processes.is_first:
                result = text_perplexity(self.model, self.dev, eos, self.opening, self.dtype)
            return self.processes.first(result)
        return dev_perplexity(
            self.model, self.dev, eos, self.dtype, self.device, processes=self.processes
        )

    def write_checkpoint(self, path: Path) -> None:
        information = {
            **self.trained(),
            "dev_trees": len(self.dev),
            "train_trees": self.train_trees,
            "start_from": self.start_from.name if self.start_from else "",
            "word_vectors": self.word_vectors,
        }
        save_checkpoint(path, self.model, self.vocabulary, information, self.stored)

    def identity(self) -> dict[str, Any]:
        return {
            "config": self.settings(),
            "vocabulary": self.vocabulary.digest,
            "trees": self.train_trees,
            "word_vectors": self.word_vectors,
        }

    def _encoded(self, trees: Sequence[Sequence[str]]) -> list[list[int]]:
        """Return the ids of trees, or of lines of text."""
        if self.config.text:
            return list(encoded_text(self.vocabulary, trees))
        return [self.vocabulary.encode(tokens) for tokens in trees]


def new_run(settings: TrainSettings, config: TrainingConfig, processes: Processes) -> NewRun:
    """Read the trees, or the lines of text. Raises InputError for files that cannot be read."""
    if settings.vectors and config.reads == "tags":
        raise InputError("--vectors are of words, but the model reads tags")
    read, noun = (read_running_text, "lines") if config.text else (_trees(config), "trees")
    if settings.stream:
        if config.text:
            raise InputError("--stream is for language models that are trained on trees")
        folder = settings.folder
        streamed = StreamedTrees(settings.train, folder, processes, config.reads)
        dev, size = read(settings.dev), f"{counted(len(streamed.paths), 'file')} of"
        return NewRun(partial(_created, settings, config, streamed, dev), size, len(dev), "trees")
    train, dev = read(settings.train), read(settings.dev)
    return NewRun(partial(_created, settings, config, train, dev), len(train), len(dev), noun)


def _trees(config: TrainingConfig) -> Callable[[Sequence[Path]], list[Any]]:
    return lambda paths: list(read_tokens(paths, config.reads))


def _created(settings: TrainSettings, *given: Any, **where: Any) -> LanguageModelRun:
    vectors = WordVectors.of(settings)
    return LanguageModelRun(*given, start_from=settings.start_from, vectors=vectors, **where)


def _counts(encoded: Sequence[Sequence[int]], size: int) -> Tensor:
    """Return the frequency of each symbol, [size]."""
    if isinstance(encoded, TokenFile):
        return encoded.counts(size)
    seen = torch.tensor([number for ids in encoded for number in ids])
    return torch.bincount(seen, minlength=size)


def _new_recipe(
    model: LanguageModel,
    config: TrainingConfig,
    trees: Sequence[Sequence[int]],
    eos: int,
    opening: int,
) -> Recipe:
    if config.recipe == "fast":
        return FastRecipe(model, config, TreeBatches(trees, eos, config.batch_tokens, config.seed))
    is_paper = config.recipe == "paper"
    stream = StreamBatches(
        trees,
        eos,
        config.batch_size,
        config.sequence_length,
        config.seed,
        varied=is_paper,
        opening=opening,
    )
    return (PaperRecipe if is_paper else ThesisRecipe)(model, config, stream)


def _new_model(
    config: TrainingConfig, trees: Iterable[Sequence[str]], vectors: WordVectors | None
) -> tuple[Vocabulary, LanguageModel]:
    classes = None
    if vectors is not None:
        rare = rare_words(trees, config.minimum_count)
        classes = vectors.classes(rare, config.word_classes)
    is_backward = config.direction == "backward"
    vocabulary = Vocabulary.build(
        trees,
        config.minimum_count,
        classes,
        is_backward,
        is_english=config.language == ENGLISH,
        reads_tags=config.reads == "tags",
    )
    return vocabulary, config.new_model(len(vocabulary))


def _pretrained_model(config: TrainingConfig, path: Path) -> tuple[Vocabulary, LanguageModel]:
    checkpoint = load_checkpoint(path)
    direction = "backward" if checkpoint.vocabulary.backward else "forward"
    if direction != config.direction:
        raise ConfigError(f"{path}: a {direction} model, but direction is {config.direction}")
    reads = "tags" if checkpoint.vocabulary.reads_tags else "words"
    if reads != config.reads:
        raise ConfigError(f"{path}: a model that reads {reads}, but reads is {config.reads}")
    model = config.new_model(len(checkpoint.vocabulary))
    try:
        model.load_state_dict(checkpoint.model.state_dict())
    except RuntimeError as error:
        raise ConfigError(f"{path}: its weights do not fit [model]") from error
    return checkpoint.vocabulary, model
