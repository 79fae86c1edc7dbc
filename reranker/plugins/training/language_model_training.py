"""Language models for `rerank train` (reranker.registry, ``trainings``)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reranker.commands.arguments import counted
from reranker.errors import InputError
from reranker.plugins.training.config import TrainingConfig
from reranker.plugins.training.language_model_run import LanguageModelRun
from reranker.plugins.training.log import log_folder
from reranker.plugins.training.processes import Processes
from reranker.plugins.training.run import NewRun
from reranker.plugins.training.tree_files import StreamedTrees
from reranker.plugins.training.word_vectors import WordVectors
from reranker.text.running import read_running_text
from reranker.trees.linearize import linearize
from reranker.trees.treebank import read_treebank

CONFIG = TrainingConfig
TAKES = {"stream", "start_from", "vectors"}


def new_run(arguments: argparse.Namespace, config: TrainingConfig, processes: Processes) -> NewRun:
    """Read the trees, or the lines of text. Raises InputError for files that cannot be read."""
    if arguments.stream:
        if config.text:
            raise InputError("--stream is for language models that are trained on trees")
        streamed = StreamedTrees(arguments.train, log_folder(arguments), processes)
        dev, size = _tokens(arguments.dev), f"{counted(len(streamed.paths), 'file')} of"
        return NewRun(partial(_created, arguments, config, streamed, dev), size, len(dev), "trees")
    read, noun = (read_running_text, "lines") if config.text else (_tokens, "trees")
    train, dev = read(arguments.train), read(arguments.dev)
    return NewRun(partial(_created, arguments, config, train, dev), len(train), len(dev), noun)


def _tokens(paths: Sequence[Path]) -> list[Any]:
    return [*map(linearize, read_treebank(paths))]


def _created(arguments: argparse.Namespace, *given: Any, **where: Any) -> LanguageModelRun:
    vectors = WordVectors.of(arguments)
    return LanguageModelRun(*given, start_from=arguments.start_from, vectors=vectors, **where)
