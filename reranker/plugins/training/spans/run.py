"""A training run of a span model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reranker.chart.bracketed import has_letters
from reranker.checkpoints.model_file import content_sha256
from reranker.checkpoints.span_file import save_span_model
from reranker.checkpoints.span_vocabulary import END, UNKNOWN
from reranker.commands.progress import message
from reranker.errors import ConfigError, InputError
from reranker.files.visible import counted
from reranker.languages import ENGLISH
from reranker.models.batch import Batch
from reranker.models.span_model import SpanModel
from reranker.plugins.training.corpus.word_vectors import WordVectors
from reranker.plugins.training.loop.perplexity import grouped_perplexity
from reranker.plugins.training.loop.recipes import FastRecipe
from reranker.plugins.training.loop.run import NewRun, Run
from reranker.plugins.training.loop.settings import TrainSettings
from reranker.plugins.training.processes import Processes
from reranker.plugins.training.spans.config import SpanTrainingConfig
from reranker.plugins.training.spans.frozen_encoder import FrozenEncoder
from reranker.plugins.training.spans.pretrained import PretrainedEncoder
from reranker.plugins.training.spans.sentences import (
    LabelledSentence,
    Lexicon,
    SpanBatches,
    WordTable,
    labelled,
    same_length,
    span_batch,
    unlabelled,
)
from reranker.plugins.training.spans.start import extended_model, new_model
from reranker.plugins.training.spans.teacher import Teacher
from reranker.plugins.training.spans.temperature import fitted_temperature
from reranker.text.reading import Text
from reranker.trees.linearize import TaggedTree, linearize_tagged
from reranker.trees.tree import MAX_WORDS
from reranker.trees.treebank import read_treebank

CONFIG = SpanTrainingConfig
TAKES = {"start_from", "vectors", "encoder", "teacher", "taught_text"}
_LISTS = "words", "vector_words", "labels", "tags"


class SpanRun(Run):
    """Training on the spans of trees."""

    config: SpanTrainingConfig
    model: SpanModel
    unit = "word"

    def __init__(
        self,
        config: SpanTrainingConfig,
        train_trees: Sequence[TaggedTree],
        dev_trees: Sequence[TaggedTree],
        *,
        device: str = "cpu",
        processes: Processes = Processes(),
        start_from: Path | None = None,
        vectors: WordVectors | None = None,
        encoder: PretrainedEncoder | None = None,
        teacher: Path | None = None,
        taught_text: Sequence[Sequence[str]] = (),
        kept: Mapping[str, Any] | None = None,
    ) -> None:
        """Take ``start_from``, a span model whose training continues, and ``encoder``, from
        which that model's own encoder started and which gives it missing pieces. Without
        ``start_from``, ``encoder`` initialises the new model's encoder; without both, there is
        none. ``teacher`` is a span model whose probabilities are learned, too, and
        ``taught_text`` has sentences for which there is nothing else to learn. ``kept`` has a
        temperature and tags of punctuation that take the place of those observed in the trees.
        Raises ConfigError if there is nothing to learn from, or if the configuration,
        ``encoder`` or ``teacher`` does not fit."""
        super().__init__(config, device, processes)
        self.start_from, self.kept = start_from, dict(kept or {})
        self.dtype = torch.bfloat16 if config.precision == "bfloat16" else torch.float32
        if start_from is None:
            self.vocabulary, self.model = new_model(config, train_trees, vectors, encoder)
        else:
            self.vocabulary, self.model = extended_model(config, train_trees, start_from, encoder)
        self.lexicon = Lexicon()
        train, self.dev = (self._labelled(trees) for trees in (train_trees, dev_trees))
        for name, sentences in (("training", train), ("dev", self.dev)):
            if not sentences:
                raise ConfigError(f"the {name} trees have no words")
        self.train_trees = len(train)
        self.taught_sentences = len(taught_text)
        train += [unlabelled(self.vocabulary, self.lexicon, words) for words in taught_text]
        self.table, self.teacher = self.lexicon.table(self.vocabulary), None
        if teacher:
            self.teacher = Teacher(
                teacher, self.vocabulary, self.lexicon, config.language, self.dtype, device
            )
        self.places = [sentence.words for sentence in train] if teacher else []
        self.unknown_rates = _unknown_rates(
            train, self.table, self.vocabulary.word_count, config.unknown_share
        )
        self.model.to(device)
        if config.language != ENGLISH:
            self.kept.setdefault("punctuation", punctuation_tags(train_trees))
        limits = config.batch_tokens, config.batch_spans
        slow = self.model.encoder.parameters() if self.model.encoder else ()
        if self.model.encoder and not config.encoder_rate:
            self.model.remembered = FrozenEncoder(self.model.encoder)
        batches = SpanBatches(train, self.table, *limits, config.seed)
        self.recipe = FastRecipe(self.model, config, batches, slow, config.encoder_rate)

    def backward(self, batch: Batch) -> tuple[float, int]:
        """Add the gradients of the objective, the mean over words; the loss is per word, of all
        spans."""
        self.model.train()
        is_unknown = torch.rand(batch.inputs.shape) < self.unknown_rates[batch.inputs]
        taught = self._taught(batch)
        loss, words = self._loss(batch, batch.inputs.masked_fill(is_unknown, UNKNOWN), *taught)
        torch.autograd.backward(loss / words)
        return float(loss.detach()) / words, words

    def weight(self, batch: Batch) -> int:
        return (len(batch.inputs) - 2) * batch.inputs.shape[1]

    @property
    def dev_tokens(self) -> int:
        return sum(sentence.length for sentence in self.dev)

    def dev_perplexity(self) -> float:
        """Return perplexity per word, of all spans' labels and, if learned, of its tag."""
        limits = self.config.batch_tokens, self.config.batch_spans
        groups = same_length(range(len(self.dev)), self.dev, *limits)

        def loss_of(numbers: Sequence[int]) -> tuple[Tensor, int]:
            batch = span_batch([self.dev[number] for number in numbers], self.table)
            return self._loss(batch, batch.inputs)

        return grouped_perplexity(self.model, groups, loss_of, self.processes)

    def write_checkpoint(self, path: Path) -> None:
        self.model.eval()
        information = {
            **self.trained(),
            "dev_trees": len(self.dev),
            "train_trees": self.train_trees,
            "taught_sentences": self.taught_sentences,
            "start_from": self.start_from.name if self.start_from else "",
            "word_vectors": len(self.vocabulary.vector_words),
            "teacher": self.teacher.sha256 if self.teacher else "",
            **self.kept,
        }
        if "temperature" not in information:
            information["temperature"] = fitted_temperature(self.model, self.dev, self.table)
        save_span_model(path, self.model, self.vocabulary, information, self.stored)

    def identity(self) -> dict[str, Any]:
        vocabulary = self.vocabulary
        lists = {name: getattr(vocabulary, name) for name in _LISTS if getattr(vocabulary, name)}
        if vocabulary.pieces:
            lists["pieces"] = vocabulary.pieces.pieces
        return {
            **({"teacher": self.teacher.sha256} if self.teacher else {}),
            "config": self.settings(),
            "vocabulary": content_sha256({name: list(each) for name, each in lists.items()}),
            "trees": self.train_trees,
            **({"taught_sentences": self.taught_sentences} if self.taught_sentences else {}),
        }

    def _labelled(self, trees: Sequence[TaggedTree]) -> list[LabelledSentence]:
        """Return the trees that have words, labelled; a tree may hold nothing but traces."""
        sentences = (labelled(self.vocabulary, self.lexicon, tree) for tree in trees)
        return [sentence for sentence in sentences if sentence.length]

    def _taught(self, batch: Batch) -> tuple[Tensor | None, Tensor | None]:
        """Return the teacher's probabilities of labels and of tags. With a ``taught_share`` of 0,
        the teacher reads only the sentences without trees; the others' probabilities are 0."""
        is_read = [
            self.config.taught_share > 0 or number >= self.train_trees for number in batch.sentences
        ]
        if not self.teacher or not any(is_read):
            return None, None
        read = [place for place, each in enumerate(is_read) if each]
        places = [self.places[batch.sentences[place]] for place in read]
        found = self.teacher(places, batch.targets[:, read])

        def spread(part: Tensor) -> Tensor:
            whole = part.new_zeros(len(part), len(is_read), part.shape[2])
            return whole.index_copy(1, torch.tensor(read, device=part.device), part)

        labels, tags = found
        return spread(labels), None if tags is None else spread(tags)

    def _loss(
        self, batch: Batch, words: Tensor, labels: Tensor | None = None, tags: Tensor | None = None
    ) -> tuple[Tensor, int]:
        """Return the summed loss in nats, including the teacher's probabilities of ``labels`` and
        ``tags``, and the number of words."""
        assert batch.source is not None
        loss = self.model.loss(
            words.to(self.device),
            batch.source.to(self.device),
            batch.targets.to(self.device),
            self.dtype,
            (labels, tags),
            self.config.taught_share,
        )
        return loss, (len(words) - 2) * words.shape[1]


def new_run(settings: TrainSettings, config: SpanTrainingConfig, processes: Processes) -> NewRun:
    """Read the trees, with their tags. Raises InputError for files that cannot be read."""
    if settings.taught_text and not settings.teacher:
        raise InputError("--taught-text needs a --teacher: its sentences have no trees")
    train, dev = (
        [*map(linearize_tagged, read_treebank(paths))] for paths in (settings.train, settings.dev)
    )
    text = _usable(Text(settings.taught_text or (), "tokens", longest=MAX_WORDS))

    def created(**where: Any) -> SpanRun:
        return SpanRun(
            config,
            train,
            dev,
            start_from=settings.start_from,
            vectors=WordVectors.of(settings),
            encoder=PretrainedEncoder.read(settings.encoder) if settings.encoder else None,
            teacher=settings.teacher,
            taught_text=text,
            **where,
        )

    return NewRun(created, len(train), len(dev), "trees")


def _usable(text: Text) -> list[tuple[str, ...]]:
    """Return the words of each sentence; say how many are left out, and why the first is."""
    found, problems = [], []
    for each in text:
        if each.problem:
            problems.append(f"{each.place}: {each.problem}")
        else:
            found.append(each.sentence.words)
    if problems:
        message(
            f"{counted(len(problems), 'sentence')} of --taught-text left out, such as {problems[0]}"
        )
    return found


def punctuation_tags(trees: Iterable[TaggedTree]) -> list[str]:
    """Return the tags of marks: those most of whose words have neither letters nor digits."""
    words, marks = Counter[str](), Counter[str]()
    for tree in trees:
        for word, tag in zip(tree.words, tree.tags, strict=False):
            words[tag] += 1
            marks[tag] += not has_letters(word)
    return sorted(tag for tag, count in words.items() if marks[tag] > count / 2)


def _unknown_rates(
    sentences: Sequence[LabelledSentence], table: WordTable, words: int, share: float
) -> Tensor:
    """Return the rate at which each of ``words`` is replaced by the unknown word in training, so
    that the model learns to handle unknown words; the rate is high for rare words (Stern et al.
    2017, section 5)."""
    places = torch.from_numpy(np.concatenate([sentence.words for sentence in sentences])).long()
    counts = torch.bincount(table.rows[places], minlength=words)
    rates = (share / (share + counts.double())).float() if share else torch.zeros(words)
    rates[: END + 1] = 0.0
    return rates
