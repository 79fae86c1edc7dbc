"""Stages of `rerank parse`, in CPU milliseconds a sentence.

    python -m benchmarks.stages gum/dev.mrg.gz --every 8

The words of a treebank are parsed and reranked by the default models with one thread, once to warm
up. Then each stage's functions are timed, without the time of other stages that they call; what no
stage has is the last row. One thread, so that its processor time is the run's.
"""

from __future__ import annotations

import argparse
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from benchmarks.costs import timed
from reranker.chart.best import Chart
from reranker.checkpoints.ensemble_file import named_models
from reranker.checkpoints.span_vocabulary import SpanVocabulary
from reranker.files.table import aligned
from reranker.files.text import read_lines
from reranker.models import layer, mixture, piece_encoder, span_model
from reranker.nbest import NBest
from reranker.nbest.data import Sentence
from reranker.parsers import chart as chart_parser
from reranker.parsers.choice import ParserChoice
from reranker.parsers.parser import ParserSettings
from reranker.pipeline import Reranker
from reranker.process.flags import positive
from reranker.scoring import distinct, ensemble, span_table, walk, windows, winner
from reranker.trees.tree import Tree

# The functions of each stage, by the module or class in which their callers look them up.
STAGES: dict[str, list[tuple[ModuleType | type, str]]] = {
    "encoder: products": [(piece_encoder, "_product")],
    "encoder: attention, norms, rest": [(piece_encoder.PieceEncoder, "each")],
    "words and pieces to ids": [(SpanVocabulary, "encode")],
    "BiLSTM": [
        (span_model.SpanModel, name) for name in ("read_one", "read_several", "read_together")
    ],
    "span table": [(span_table, "table_of")],
    "chart, best tree": [(chart_parser, "charts"), (Chart, "best")],
    "k best trees": [(chart_parser, "k_best")],
    "marginals": [(chart_parser, "certainties_of")],
    "tags": [(chart_parser, "best_tags")],
    "strings of trees": [(chart_parser, "bracketed")],
    "shortlist by span scores": [(winner, "_kept")],
    "candidates to ids and windows": [
        (distinct.DistinctCandidates, "__init__"),
        (ensemble.Ensemble, "layouts"),
        (walk, "windows"),
    ],
    "language model: output": [(mixture, "_log_sums")],
    "language model: recurrent steps": [(layer.LstmLayer, "step")],
    "language model: rest": [(walk, "walked"), (walk, "decoded"), (windows.StageWalk, "through")],
    "winner search: stand-ins": [(winner, "coarse_output")],
}
REST = "Python, everything else"


class Clock(threading.local):
    """A thread's processor seconds of each stage, without those of stages within it."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds  # of all threads
        self._running: list[str] = []
        self._since = 0.0

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, which counts as this stage. The steps of a generator count, too."""

        @functools.wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            with self._stage(stage):
                result = function(*arguments, **named)
            return self._steps(stage, result) if isinstance(result, Iterator) else result

        return counted

    def _steps(self, stage: str, steps: Iterator[Any]) -> Iterator[Any]:
        end = object()
        while True:
            with self._stage(stage):
                step = next(steps, end)
            if step is end:
                return
            yield step

    @contextmanager
    def _stage(self, stage: str) -> Iterator[None]:
        self._count()
        self._running.append(stage)
        try:
            yield
        finally:
            self._count()
            self._running.pop()

    def _count(self) -> None:
        now = time.thread_time()
        if self._running:
            self._seconds[self._running[-1]] += now - self._since
        self._since = now


def stages(work: Callable[[], object]) -> dict[str, float]:
    """Return the processor seconds of each stage while the work is done."""
    seconds = dict.fromkeys(STAGES, 0.0)
    clock = Clock(seconds)
    with ExitStack() as undo:
        for stage, functions in STAGES.items():
            for owner, name in functions:
                plain = getattr(owner, name)
                undo.callback(setattr, owner, name, plain)
                setattr(owner, name, clock.timed(stage, plain))
        _, cost = timed(work)
    return {**seconds, REST: cost.processor - sum(seconds.values())}


def parsed(
    sentences: Sequence[Sentence], reranker: Reranker, candidates: int
) -> Callable[[], list[NBest]]:
    """Return the work: parse the sentences and, if there are several candidates, choose."""
    parser = ParserChoice(settings=ParserSettings(candidates=candidates)).create()

    def work() -> list[NBest]:
        lists = [each for each in parser.parse(sentences) if isinstance(each, NBest)]
        if candidates > 1:
            list(reranker.rerank_lists(lists, top=1))
        return lists

    return work


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    parser.add_argument("treebank", help="a treebank, a tree on each line")
    parser.add_argument("--every", type=positive, default=8, help="take every so many sentences")
    parser.add_argument("--models", nargs="*", help="as of rerank parse (default: its default)")
    arguments = parser.parse_args()
    trees = [Tree.from_string(line) for line in read_lines(arguments.treebank)]
    sentences = [Sentence.of(tree.words()) for tree in trees[:: arguments.every]]
    models = named_models(arguments.models, "sum", ())
    columns: list[dict[str, float]] = []
    with Reranker.from_models(models, "sum", "cpu", 1) as reranker:
        for candidates in (1, 20):
            work = parsed(sentences, reranker, candidates)
            work()
            columns.append(stages(work))
    columns = [{**column, "all": sum(column.values())} for column in columns]
    rows = [
        (stage, *(f"{1000 * column[stage] / len(sentences):.2f}" for column in columns))
        for stage in columns[0]
    ]
    print(aligned([(f"ms a sentence ({len(sentences)})", "first tree", "best of 20"), *rows]))


if __name__ == "__main__":
    main()
