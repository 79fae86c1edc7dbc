"""The kinds of analysis, each from its settings to its result."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from reranker.checkpoints.checkpoint import READS_TAGS, Checkpoint, load_checkpoint
from reranker.checkpoints.ensemble_file import named_models
from reranker.checkpoints.members import devices
from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.files.output import open_whole
from reranker.files.visible import visible
from reranker.plugins.analysis.attention import (
    attention_at,
    attention_by_position,
    checked_window,
    position_report,
    random_places,
    sample_report,
)
from reranker.plugins.analysis.classes import broad_class, class_report, totals_by_class
from reranker.plugins.analysis.curves import read_curves
from reranker.plugins.analysis.example import example_report, predict
from reranker.plugins.analysis.last_word import LastWord, last_word, last_word_report, read_set
from reranker.plugins.analysis.mixture import (
    MixtureWeights,
    layer_report,
    mixture_weights,
    variation_report,
)
from reranker.plugins.analysis.rank import matrix_rank, rank_report
from reranker.plugins.analysis.readings import LinearTree, Tick, ignore, read_trees, token_count
from reranker.plugins.analysis.report import Report, names
from reranker.plugins.analysis.running_text import (
    RunningText,
    TreesOrTexts,
    Values,
    averaged,
    perplexity_report,
    predicted_tokens,
    read_texts,
    text_log_probabilities,
    token_score_lines,
)
from reranker.plugins.analysis.windows import point, window_report

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnalysisSettings:
    """A kind of analysis, and its settings; each kind reads some of these."""

    kind: str
    models: Sequence[str] = ()
    trees: Sequence[Path] | None = None
    text: Sequence[Path] | None = None
    passages: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    by: str = ""
    """``class`` or ``tag`` for ``classes``; the x axis of the picture of ``curves``."""
    sample: int | None = None
    seed: int = 0
    tokens: int | None = None
    tree: int = 1
    token: int = 1
    device: str = "cpu"
    threads: int | None = None
    token_scores: Path | None = None


def analysed(settings: AnalysisSettings) -> Report:
    """Return the report of a kind. Raises RerankError for unusable models or trees."""
    if settings.kind == "curves":
        return read_curves(settings.runs, settings.by)
    return _ANALYSES[settings.kind](_Job(settings))


class _Job:
    """The models, the trees or texts, and a progress bar."""

    def __init__(self, settings: AnalysisSettings) -> None:
        self.settings = settings
        self._paths = named_models(settings.models).paths
        self._device = devices(settings.device)[0]
        if settings.threads:
            torch.set_num_threads(settings.threads)
        self.trees: list[LinearTree] = []
        if settings.trees:
            self.trees = read_trees(settings.trees, settings.sample, settings.seed)
        self.texts: list[RunningText] = []
        if settings.text:
            if settings.sample is not None:
                raise InputError("--sample draws trees: it cannot be used with --text")
            self.texts = read_texts(settings.text)
        self.total = token_count(self.trees) + predicted_tokens(self.texts)
        self.tick: Tick = ignore

    @property
    def data(self) -> TreesOrTexts:
        return self.texts or self.trees

    def models(
        self, compares_perplexity: bool = False, compares_tokens: bool = False
    ) -> Iterator[tuple[str, Checkpoint]]:
        """Yield names and checkpoints, one at a time; ``tick`` moves the bar of the current one.

        Warns if perplexities are compared and vocabularies differ; raises InputError if predictions
        of the same tokens are compared and models read them in different directions.
        """
        shown = names(self._paths)
        first = None
        for name, path in zip(shown, self._paths, strict=True):
            checkpoint = load_checkpoint(path, str(self._device))
            vocabulary = checkpoint.vocabulary
            if vocabulary.reads_tags:
                raise InputError(f"{path}: {READS_TAGS}, which cannot be analysed")
            first = first or vocabulary
            if compares_tokens and vocabulary.backward != first.backward:
                raise InputError(
                    f"{shown[0]} and {name} read in different directions, so they predict a token "
                    "from different contexts: analyse them one by one"
                )
            if compares_perplexity and not _same(vocabulary, first):
                logger.warning(
                    "%s and %s have different vocabularies: their perplexities are not comparable",
                    *(shown[0], name),
                )
            with tqdm(
                total=self.total,
                desc=visible(name),
                unit=" tokens",
                leave=False,
                disable=not sys.stderr.isatty(),
            ) as bar:
                self.tick = bar.update
                yield name, checkpoint


def _mixtures(job: _Job) -> list[MixtureWeights]:
    return [mixture_weights(model, job.data, name, job.tick) for name, model in job.models()]


def _rank(job: _Job) -> Report:
    tokens, seed = job.settings.tokens, job.settings.seed
    return rank_report(
        [matrix_rank(model, job.data, name, tokens, seed, job.tick) for name, model in job.models()]
    )


def _perplexity(job: _Job) -> Report:
    path = job.settings.token_scores
    values: dict[str, Values] = {}
    vocabularies: list[Vocabulary] = []
    for name, model in job.models(compares_perplexity=True):
        values[name] = [text_log_probabilities(model, text, job.tick) for text in job.texts]
        vocabularies.append(model.vocabulary)
    comparable = all(_same(each, vocabularies[0]) for each in vocabularies)
    average = averaged([*values.values()]) if len(values) > 1 and comparable else None
    if path is not None:
        scores = average if average is not None else next(iter(values.values()))
        if average is None and len(values) > 1:
            raise InputError("--token-scores needs one model, or several with the same vocabulary")
        with open_whole(path) as file:
            for line in token_score_lines(job.texts, scores):
                file.write(line)
    return perplexity_report(job.texts, values, average)


def _last_word(job: _Job) -> Report:
    paths = job.settings.passages
    sets = [read_set(path, name) for name, path in zip(names(paths), paths, strict=True)]
    for refused in (each for some in sets for each in some.refused):
        logger.warning("%s", refused)
    job.total = sum(token_count(each.passages) for each in sets)
    models: dict[str, dict[str, LastWord]] = {}
    for name, model in job.models(compares_perplexity=True):
        models[name] = {each.name: last_word(model, each.passages, name, job.tick) for each in sets}
    return last_word_report(models, {each.name: len(each.refused) for each in sets})


def _same(first: Vocabulary, other: Vocabulary) -> bool:
    """Return whether two models predict the same symbols."""
    return first.symbols == other.symbols and first.classes == other.classes


def _classes(job: _Job) -> Report:
    class_of = str if job.settings.by == "tag" else broad_class
    models = job.models(compares_perplexity=True)
    return class_report(
        {name: totals_by_class(model, job.trees, class_of, job.tick) for name, model in models}
    )


def _windows(job: _Job) -> Report:
    models = job.models(compares_perplexity=True)
    return window_report([point(model, job.trees, name, job.tick) for name, model in models])


def _attention(job: _Job) -> Report:
    models = job.models()
    return position_report(
        {name: attention_by_position(model, job.trees, name, job.tick) for name, model in models}
    )


def _attention_sample(job: _Job) -> Report:
    models = dict(job.models(compares_tokens=True))
    windows = {name: checked_window(model, name) for name, model in models.items()}
    assert job.settings.tokens is not None
    places = random_places(
        job.trees, list(windows.values()), job.settings.tokens, job.settings.seed
    )
    return sample_report(
        {
            name: (windows[name], attention_at(model, job.trees, places))
            for name, model in models.items()
        }
    )


def _attention_example(job: _Job) -> Report:
    number = job.settings.tree
    if number > len(job.trees):
        raise InputError(f"--tree {number}: there are {len(job.trees)} trees")
    tree, token = job.trees[number - 1], job.settings.token - 1
    predictions = []
    for name, model in job.models(compares_tokens=True):
        predictions.append(predict(model, tree, token, name))
        tokens = tree.as_read(model).tokens
    return example_report(tokens, token, predictions)


_ANALYSES: dict[str, Callable[[_Job], Report]] = {
    "variation": lambda job: variation_report(_mixtures(job)),
    "layers": lambda job: layer_report(_mixtures(job)),
    "rank": _rank,
    "perplexity": _perplexity,
    "last-word": _last_word,
    "classes": _classes,
    "windows": _windows,
    "attention": _attention,
    "attention-sample": _attention_sample,
    "attention-example": _attention_example,
}
