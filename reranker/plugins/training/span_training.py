"""Span models for `rerank train` (reranker.registry, ``trainings``)."""

from __future__ import annotations

import argparse
from typing import Any

from reranker.plugins.training.pretrained import PretrainedEncoder
from reranker.plugins.training.processes import Processes
from reranker.plugins.training.run import NewRun
from reranker.plugins.training.span_config import SpanTrainingConfig
from reranker.plugins.training.span_run import SpanRun
from reranker.plugins.training.word_vectors import WordVectors
from reranker.trees.linearize import linearize_tagged
from reranker.trees.treebank import read_treebank

CONFIG = SpanTrainingConfig
TAKES = {"start_from", "vectors", "encoder", "teacher"}


def new_run(
    arguments: argparse.Namespace, config: SpanTrainingConfig, processes: Processes
) -> NewRun:
    """Read the trees, with their tags. Raises InputError for files that cannot be read."""
    train, dev = (
        [*map(linearize_tagged, read_treebank(paths))] for paths in (arguments.train, arguments.dev)
    )

    def created(**where: Any) -> SpanRun:
        return SpanRun(
            config,
            train,
            dev,
            start_from=arguments.start_from,
            vectors=WordVectors.of(arguments),
            encoder=PretrainedEncoder.read(arguments.encoder) if arguments.encoder else None,
            teacher=arguments.teacher,
            **where,
        )

    return NewRun(created, len(train), len(dev), "trees")
