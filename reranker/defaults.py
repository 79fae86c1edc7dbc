"""``reranker.parse``: text in, trees out, with the installed models and parsers."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from typing import Any

from reranker.checkpoints.ensemble_file import ModelNames
from reranker.checkpoints.installed import models_in_environment, models_of
from reranker.errors import InputError
from reranker.parsers.choice import OPTIONS, ParserChoice, kept_parser
from reranker.parsers.parser import Parser, language_of
from reranker.pipeline import Reranker
from reranker.process.forks import ForkSafeCache
from reranker.process.machine import available_cores
from reranker.ranking.rankings import Rankings
from reranker.text.conventions import Convention, convention_of
from reranker.text.given import TextOrFile
from reranker.text.splitting import TextForm

_loaded = ForkSafeCache()


def parse(
    text: TextOrFile,
    *,
    form: TextForm = "text",
    words: Convention | None = None,
    speakers: bool | None = None,
    models: ModelNames | None = None,
    parser: Parser | str = "chart",
    lm_weight: float | None = None,
    top: int | None = None,
    jobs: int | None = None,
    **options: Any,
) -> Rankings:
    """Return a ranking for each sentence of a text: ``.tree`` is the best tree, ``.origin`` the
    place of the sentence and its words. Models and parsers are loaded once and kept for the next
    call, which may come from another thread.

    ``text`` is running text, a Path of a file with running text, or a list of sentences, each a
    string or a list of words. The ``form`` of a string or file is ``text``, ``sentences`` (one per
    line) or ``tokens`` (the same, with a space between words). ``words`` is the convention for
    splitting words, by default the language's usual one; ``speakers`` says whether names before a
    colon are speakers, no words, by default found by the text and logged; ``models`` is as in
    ``Reranker.load``; ``parser`` is a parser or its name, and ``options`` are the flags of
    `rerank parse` for it: ``candidates``, ``language``, ``parser_command``, ``parser_model``,
    ``overparsing`` and ``parser_seconds``. With a ``language``, such as ``"id"``, its models are
    the default. ``jobs`` sentences are parsed at once, by default one for each core. For a text too
    long for a list of rankings, use ``Reranker.stream``.

    >>> reranker.parse("She met the man.")[0].tree  # doctest: +SKIP
    '(TOP (S (NP (PRP She)) (VP (VBD met) (NP (DT the) (NN man))) (. .)))'

    Raises InputError, with the advice on installing them, without language models, or if the parser
    or its model is missing.
    """
    for name in options.keys() - OPTIONS.keys():
        known = [*inspect.signature(parse).parameters, *OPTIONS]
        near = difflib.get_close_matches(name, known, 1)
        text = f"is {near[0]!r} meant?" if near else f"there are {', '.join(known)}"
        raise InputError(f"parse has no argument {name!r}: {text}")
    loaded, chosen, language = kept(models, parser, is_own=lm_weight is None, **options)
    return loaded.parse(
        text,
        chosen,
        form,
        words=words or convention_of(language),
        speakers=speakers,
        lm_weight=lm_weight,
        top=top,
        jobs=available_cores() if jobs is None else jobs,
    )


def kept(
    models: ModelNames | None, parser: Parser | str, *, is_own: bool = True, **options: Any
) -> tuple[Reranker, Parser, str]:
    """Return the models and the parser for these arguments of ``parse``, loaded once, and the
    language of the text. ``is_own``: for the built-in parser's trees, the default is its own model.
    Raises the errors of ``parse``."""
    if isinstance(models, Iterable) and not isinstance(models, str):
        models = tuple(models)
    chosen = kept_parser(parser, models, **options)
    language = options.get("language") or language_of(chosen)
    if models is None:
        named = models_of(options.get("language")) or tuple(models_in_environment())
        models = named or models_of(language)
        if models is None and is_own and isinstance(parser, str):
            models = ParserChoice.from_options({**options, "parser": parser}).own_models
    return _loaded.get(("models", models), lambda: Reranker.load(models)), chosen, language
