"""The kinds of analysis, each from the flags of ``rerank analyse`` to its result."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

from tqdm import tqdm

from reranker.analysis.attention import (
    AttentionByPosition,
    AttentionSample,
    attention_at,
    attention_by_position,
    checked_window,
    random_places,
)
from reranker.analysis.classes import ClassPerplexities, broad_class, totals_by_class
from reranker.analysis.curves import read_curves
from reranker.analysis.example import Example, predict
from reranker.analysis.mixture import LayerWeights, Variation, mixture_weights
from reranker.analysis.rank import MatrixRank, Ranks, matrix_rank
from reranker.analysis.readings import LinearTree, Tick, ignore, read_trees, token_count
from reranker.analysis.report import Result, names
from reranker.analysis.windows import Windows, point
from reranker.checkpoints.checkpoint import Checkpoint, load_checkpoint
from reranker.checkpoints.ensemble_file import named_models
from reranker.errors import InputError

logger = logging.getLogger(__name__)

T = TypeVar("T")


def analysed(arguments: argparse.Namespace) -> Result:
    """The analysis of ``arguments.kind``; raises RerankError for unusable models or trees."""
    if arguments.kind == "curves":
        return read_curves(arguments.runs, arguments.by)
    return _ANALYSES[arguments.kind](_Job(arguments))


class _Job:
    """The models and trees of the command line, and a progress bar."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self._paths = named_models(arguments.models).paths
        sample, seed = getattr(arguments, "sample", None), getattr(arguments, "seed", 0)
        self.trees = read_trees(arguments.trees, sample, seed)
        self.tick: Tick = ignore

    def models(
        self, compares_perplexity: bool = False, compares_tokens: bool = False
    ) -> Iterator[tuple[str, Checkpoint]]:
        """Names and checkpoints, one at a time; ``tick`` moves the bar of the current one.

        Warns if perplexities are compared and vocabularies differ; raises InputError if predictions
        of the same tokens are compared and models read them in different directions.
        """
        shown = names(self._paths)
        first = None
        for name, path in zip(shown, self._paths, strict=True):
            checkpoint = load_checkpoint(path)
            vocabulary = checkpoint.vocabulary
            first = first or vocabulary
            if compares_tokens and vocabulary.backward != first.backward:
                raise InputError(
                    f"{shown[0]} and {name} read in different directions, so they predict a token "
                    "from different contexts: analyse them one by one"
                )
            same = vocabulary.symbols == first.symbols and vocabulary.classes == first.classes
            if compares_perplexity and not same:
                logger.warning(
                    "%s and %s have different vocabularies: their perplexities are not comparable",
                    *(shown[0], name),
                )
            total, hidden = token_count(self.trees), not sys.stderr.isatty()
            with tqdm(total=total, desc=name, unit=" tokens", leave=False, disable=hidden) as bar:
                self.tick = bar.update
                yield name, checkpoint

    def read(
        self,
        analysis: Callable[[Checkpoint, list[LinearTree], str, Tick], T],
        compares_perplexity: bool = False,
    ) -> dict[str, T]:
        """What ``analysis`` makes of each model, the trees, the model's name and ``tick``."""
        models = self.models(compares_perplexity=compares_perplexity)
        return {name: analysis(model, self.trees, name, self.tick) for name, model in models}


def _rank(job: _Job) -> Ranks:
    def analysis(model: Checkpoint, trees: list[LinearTree], name: str, tick: Tick) -> MatrixRank:
        return matrix_rank(model, trees, name, job.arguments.tokens, job.arguments.seed, tick)

    return Ranks(tuple(job.read(analysis).values()))


def _classes(job: _Job) -> ClassPerplexities:
    class_of = str if job.arguments.by == "tag" else broad_class
    models = job.models(compares_perplexity=True)
    return ClassPerplexities(
        {name: totals_by_class(model, job.trees, class_of, job.tick) for name, model in models}
    )


def _attention_sample(job: _Job) -> AttentionSample:
    models = dict(job.models(compares_tokens=True))
    windows = {name: checked_window(model, name) for name, model in models.items()}
    places = random_places(
        job.trees, list(windows.values()), job.arguments.tokens, job.arguments.seed
    )
    return AttentionSample(
        {
            name: (windows[name], attention_at(model, job.trees, places))
            for name, model in models.items()
        }
    )


def _attention_example(job: _Job) -> Example:
    number = job.arguments.tree
    if number > len(job.trees):
        raise InputError(f"--tree {number}: there are {len(job.trees)} trees")
    tree, token = job.trees[number - 1], job.arguments.token - 1
    predictions = []
    for name, model in job.models(compares_tokens=True):
        predictions.append(predict(model, tree, token, name))
        tokens = tree.as_read(model).tokens
    return Example(tokens, token, tuple(predictions))


_ANALYSES: dict[str, Callable[[_Job], Result]] = {
    "variation": lambda job: Variation(tuple(job.read(mixture_weights).values())),
    "layers": lambda job: LayerWeights(tuple(job.read(mixture_weights).values())),
    "rank": _rank,
    "classes": _classes,
    "windows": lambda job: Windows(tuple(job.read(point, compares_perplexity=True).values())),
    "attention": lambda job: AttentionByPosition(job.read(attention_by_position)),
    "attention-sample": _attention_sample,
    "attention-example": _attention_example,
}
