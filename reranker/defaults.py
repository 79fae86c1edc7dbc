"""``reranker.parse``: text in, trees out, with what is installed."""

from __future__ import annotations

import os

from reranker.checkpoints.ensemble_file import ModelNames
from reranker.checkpoints.installed import models_in_environment
from reranker.parsers.kept import kept_parser
from reranker.parsers.parser import Parser
from reranker.pipeline import Reranker
from reranker.process.cores import available_cores
from reranker.process.forks import Once
from reranker.ranking import Ranking
from reranker.text.splitting import Form
from reranker.text.words import Convention

_loaded = Once()


def parse(
    text: str,
    *,
    form: Form = "text",
    words: Convention = "gum",
    models: ModelNames | None = None,
    parser: Parser | str = "chart",
    parser_model: str = "",
    lm_weight: float | None = None,
    top: int | None = None,
) -> list[Ranking]:
    """A ranking for each sentence of a text: ``.tree`` is the best tree, ``.origin`` says where the
    sentence and its words are. Models and parsers are loaded once and kept for the next call, which
    may come from another thread.

    ``form`` is ``text``, ``sentences`` (one a line) or ``tokens`` (the same, with a space between
    words), ``words`` how words are split (``gum`` or ``wsj``); ``models`` are those of
    ``Reranker.load``, ``parser`` and ``parser_model`` what `rerank parse` calls ``--parser`` and
    ``--parser-model``, or a parser itself. For all other settings, and for a text too long for a
    list of rankings, use ``Reranker.parse``.

    >>> reranker.parse("She met the man.")[0].tree  # doctest: +SKIP
    '(TOP (S (NP (PRP She)) (VP (VBD met) (NP (DT the) (NN man))) (. .)))'

    Raises InputError, which says what to install, without language models, or if the parser or its
    model is missing.
    """
    chosen = kept_parser(parser, parser_model)
    if models is None:
        models = tuple(models_in_environment()) or None
    elif not isinstance(models, str | os.PathLike):
        models = tuple(models)
    loaded = _loaded.get(("models", models), lambda: Reranker.load(models))
    rankings = loaded.parse(
        text, chosen, form, words=words, lm_weight=lm_weight, top=top, jobs=available_cores()
    )
    return list(rankings)
