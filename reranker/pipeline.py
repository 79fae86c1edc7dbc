"""``Reranker``: the one path from candidates to rankings, which the command line and the service
share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from reranker import nbest
from reranker.checkpoints.ensemble_file import ModelNames, WeighedModels, named_models
from reranker.checkpoints.members import LoadedMember, Precision, devices, load_placed
from reranker.errors import InputError, positive
from reranker.nbest import NBest, ReadOptions
from reranker.process.cancellation import Cancellation
from reranker.process.machine import available_cores, return_freed_memory, share_freed_memory
from reranker.ranking import SCORE_DECIMALS, Ranking, Scored, Weighing
from reranker.ranking.confidence import Calibration
from reranker.ranking.ranker import Combination, Ranker
from reranker.scoring import pools
from reranker.scoring.ensemble import Ensemble
from reranker.scoring.lanes import Lanes
from reranker.scoring.scorer import Scorer
from reranker.scoring.winner import WinnerSearch
from reranker.trees.tree import Tree

if TYPE_CHECKING:
    import nltk

    from reranker.parsers.parser import Parser
    from reranker.ranking.rankings import Rankings
    from reranker.text.conventions import Convention
    from reranker.text.given import TextOrFile
    from reranker.text.splitting import TextForm

Candidates = Iterable["str | Tree | nltk.Tree"]


class Reranker(Ranker):
    """An ensemble of language models that orders the candidates of a sentence.

    In a ``with`` statement it is closed at the end.

    >>> reranker = Reranker.load("ckpt/")  # doctest: +SKIP
    >>> reranker.rerank(["(S (NP (PRP It)) (VP (VBZ runs)))", "(NP (PRP It) (VBZ runs))"]).tree
    ... # doctest: +SKIP
    '(S (NP (PRP It)) (VP (VBZ runs)))'
    """

    members: tuple[LoadedMember, ...]
    parser = ""
    """The installed ensemble it was loaded from by its name, if that has a parser."""
    _loaded_from: tuple[WeighedModels, Combination, str, int | None, Precision] | None = None
    """The arguments of ``from_models``."""
    _is_closed = False

    def __init__(
        self,
        members: Sequence[LoadedMember],
        combination: Combination = "sum",
        threads: int | None = None,
        weighing: Weighing = Weighing(),
        calibration: Calibration | None = None,
    ) -> None:
        """Take the members; ``sum`` adds their log-probabilities, each with its own vocabulary;
        ``average`` averages their probabilities token by token. ``threads`` are those to compute
        with, by default one for each core. ``weighing`` is used where a call gives none. With a
        ``calibration`` rankings under its weighing say how sure they are.

        Raises InputError for invalid arguments, RerankError if there are no members or they
        cannot be averaged.
        """
        self.weighing, self.calibration = _checked(weighing), calibration
        self._lanes = Lanes(available_cores() if threads is None else positive("threads", threads))
        share_freed_memory(self._lanes.count)
        self.ensemble = Ensemble(members, combination, self._lanes)
        self._winner_search = WinnerSearch(self.ensemble)
        self.members, self.combination = self.ensemble.members, combination
        weights = [member.model.embedding for member in self.members]
        self.device = ",".join(dict.fromkeys(str(weight.device) for weight in weights))
        is_rounded = any(getattr(member.model, "is_rounded", False) for member in self.members)
        self.precision: Precision = "fast" if is_rounded else "exact"
        self._wanted_precision: Precision = "fast"

    @classmethod
    def load(
        cls,
        models: ModelNames | None = None,
        combination: Combination = "sum",
        device: str = "auto",
        threads: int | None = None,
        precision: Precision = "fast",
        weighing: Weighing | None = None,
        sha256: Iterable[str] = (),
    ) -> Reranker:
        """Load an ensemble: a checkpoint, a folder of checkpoints, a pattern such as
        ``"ckpt/*.pt"``, an ``ensemble.toml``, or several of the first three; or an installed one by
        its name, by default the one that `rerank models` says (reranker.checkpoints.installed); or
        one of the Hugging Face hub, ``"hf://OWNER/NAME"`` (extra ``hub``).

        The members are put on ``device`` (``auto``, ``cpu``, ``cuda`` or ``cuda:0,cuda:1``) in
        turn. The weighing is by default the ensemble file's, and so is the calibration; checkpoints
        may have one beside them, in ``confidence.toml``. ``sha256``, if given, are the hashes of
        the checkpoints, in any order, whole or the first 8 digits; no others are loaded.

        Raises CheckpointError naming the file that is not a checkpoint, InputError for names that
        match nothing, other checkpoints than those of ``sha256``, an ensemble file that does not
        fit and a wrong device.
        """
        named = named_models(models, combination, sha256)
        if weighing is not None:
            named = replace(named, weighing=weighing)
        return cls.from_models(named, combination, device, threads, precision)

    @classmethod
    def from_models(
        cls,
        named: WeighedModels,
        combination: Combination = "sum",
        device: str = "auto",
        threads: int | None = None,
        precision: Precision = "fast",
    ) -> Reranker:
        """Return a reranker for models whose files and weighing are known. Raises what ``load``
        raises."""
        given = named, combination, device, threads, precision
        where = devices(device)
        expected = named.sha256 or [""] * len(named.paths)
        load = partial(load_placed, precision=precision)
        members = list(map(load, named.paths, expected, itertools.cycle(where)))
        if all(place.type != "cpu" for place in where):
            threads = len(where)
        return_freed_memory()  # files, weights as they are stored
        reranker = cls(members, combination, threads, named.weighing, named.calibration)
        reranker._loaded_from, reranker._wanted_precision = given, precision
        reranker.parser = named.parser
        return reranker

    def close(self) -> None:
        """End its threads and let go of the models, whose memory is then free. Whatever is still
        being ranked is lost."""
        if self._is_closed:
            return
        self._lanes.close()
        self.members, self._is_closed = (), True
        del self.ensemble, self._winner_search

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the names of the files, their hashes and the settings: the weights are loaded
        again where they are needed, which raises what ``load`` raises. Raises InputError for models
        that did not come from files."""
        if self._loaded_from is None:
            raise InputError(
                "a Reranker made of models in memory cannot be pickled, since there are no files "
                "to load them from again: save them, and make it by Reranker.load"
            )
        named, *settings = self._loaded_from
        paths = tuple(path.absolute() for path in named.paths)
        hashes = tuple(member.sha256 for member in self.members)
        weighed = WeighedModels(paths, self.weighing, self.calibration, hashes, self.parser)
        return type(self).from_models, (weighed, *settings)

    def rerank(
        self,
        candidates: Candidates | NBest,
        parser_scores: Sequence[float] | None = None,
        weighing: Weighing | None = None,
        *,
        lm_weight: float | None = None,
    ) -> Ranking:
        """Rank the candidates of one sentence: bracketed strings, ``Tree`` or ``nltk.Tree``.

        ``parser_scores`` are the parser's natural-log probabilities, one for each candidate: 0 or
        less. Candidates none of which is a tree at all are a mistake in the call, and so is an
        empty list (in a file or in ``rerank_lists`` it is an answer without a tree). ``weighing``,
        by default ``self.weighing``, says how they count; ``lm_weight`` alone replaces its weight.
        Candidates that are not trees, or that have other words than the first tree, are in the
        answer's ``rejected``; the rest are ranked. Trees of other words get a UserWarning, too:
        they may be those of another sentence.

        Raises InputError for a single candidate, for scores that are not one for each candidate,
        for a positive score, for the name of a file, and for a weight below 1 without scores.
        """
        from reranker.nbest.candidates import (
            from_candidates,
            log_probabilities,
            refuse,
            warn_about_words,
        )

        chosen = self._chosen(weighing, lm_weight)
        if not isinstance(candidates, NBest):
            if parser_scores is None and chosen.lm_weight < 1:
                raise InputError(f"lm_weight {chosen.lm_weight:g} needs parser_scores to mix with")
            kind = type(candidates).__name__
            if parser_scores is not None:
                parser_scores = log_probabilities(parser_scores)
            candidates = from_candidates(candidates, parser_scores)
            if not candidates.candidates:
                refuse(candidates.rejected, kind)
            warn_about_words(candidates)
        _, ranking = next(self._ranked([candidates], chosen, False, None))
        return ranking

    def rerank_file(
        self,
        path: str | os.PathLike[str],
        *more: str | os.PathLike[str],
        weighing: Weighing | None = None,
        lm_weight: float | None = None,
        options: ReadOptions = ReadOptions(),
        top: int | None = None,
    ) -> Iterator[Ranking]:
        """Yield a ranking for each sentence of an n-best file in any format we read, in order;
        several files are several parsers' lists for the same sentences.

        Raises InputError, naming file and line, for a file that is not an n-best file.
        """
        for name in (path, *more):
            if not isinstance(name, str | os.PathLike):
                raise InputError(
                    f"expected the name of a file as a string or a path, got {name!r:.60}"
                )
        from reranker.nbest import read_nbest

        chosen = self._chosen(weighing, lm_weight, top)
        lists = read_nbest(path, *more, options=options)
        return (ranking for _, ranking in self._ranked(lists, chosen, False, top))

    def parse(
        self,
        text: TextOrFile,
        parser: Parser | str = "chart",
        form: TextForm = "text",
        weighing: Weighing | None = None,
        *,
        lm_weight: float | None = None,
        top: int | None = None,
        words: Convention | None = None,
        speakers: bool | None = None,
        longest: int = 200,
        jobs: int = 1,
        candidates: int | None = None,
    ) -> Rankings:
        """Return a ranking for each sentence of a text, in order; its ``origin`` says where the
        sentence and its words are. For a text too long for a list of rankings, use ``stream``.

        ``text`` is running text, a Path of a file with running text, or a list of sentences, each a
        string or a list of words. A string or file may also have one sentence per line (``form``:
        ``sentences``), with a space between words (``tokens``). ``speakers`` says whether names
        before a colon are speakers, no words; None: found by the text, and logged.

        ``parser``, of reranker.parsers.registry.create_parser or by its name alone
        (reranker.parsers.choice), proposes the trees, ``jobs`` at once, for words split as is usual
        in its language, or as ``words`` says; one that is named proposes ``candidates``, by default
        20 of the chart and 50 of others. A sentence of more than ``longest`` words, and one that
        cannot be parsed, has a ranking without candidates: its ``tree`` is a flat one, and
        ``rejected`` says why. A text in another language than the parser's gets a UserWarning, and
        so does a list of words where sentences are expected.

        Raises InputError for a parser that does not work.
        """
        from reranker.ranking.rankings import Rankings

        return Rankings(
            self.stream(
                text,
                parser,
                form,
                weighing,
                lm_weight=lm_weight,
                top=top,
                words=words,
                speakers=speakers,
                longest=longest,
                jobs=jobs,
                candidates=candidates,
            )
        )

    def stream(
        self,
        text: TextOrFile,
        parser: Parser | str = "chart",
        form: TextForm = "text",
        weighing: Weighing | None = None,
        *,
        lm_weight: float | None = None,
        top: int | None = None,
        words: Convention | None = None,
        speakers: bool | None = None,
        longest: int = 200,
        jobs: int = 1,
        candidates: int | None = None,
    ) -> Iterator[Ranking]:
        """Yield the rankings of ``parse``, each while the next sentences are parsed."""
        from reranker.parsers.language import with_warnings
        from reranker.parsers.parser import language_of
        from reranker.parsers.running import ParsedLists
        from reranker.text.conventions import convention_of
        from reranker.text.given import checked_text, sentences, warn_about_text

        self._chosen(weighing, lm_weight, top)
        options = {} if candidates is None else {"candidates": candidates}
        chosen = self.kept_parser(parser, **options)
        words = words or convention_of(language_of(chosen))
        given = checked_text(text)
        warn_about_text(given)
        read = sentences(given, form, words, longest, speakers=speakers)
        lists = ParsedLists(chosen, with_warnings(read, chosen), jobs)
        return self.rerank_lists(lists, weighing, top=top, lm_weight=lm_weight)

    def kept_parser(self, parser: Parser | str, **options: Any) -> Parser:
        """Return the parser that ``parse`` uses for ``parser`` (reranker.parsers.choice)."""
        from reranker.parsers.choice import kept_parser

        return kept_parser(parser, self.parser, self._wanted_precision, **options)

    def score(self, trees: Candidates) -> list[float | None]:
        """Return the log-probability of each tree in nats, summed over the members; None for
        anything that is not a tree. The trees need not have the same words."""
        from reranker.nbest.candidates import from_candidates, listed

        lists = [from_candidates([tree]) for tree in listed(trees)]
        return [
            round(-scores[0].nll, SCORE_DECIMALS) if scores else None
            for _, scores in self.score_lists(lists)
        ]

    def rerank_lists(
        self,
        lists: Iterable[NBest | Candidates],
        weighing: Weighing | None = None,
        token_scores: bool = False,
        top: int | None = None,
        *,
        lm_weight: float | None = None,
    ) -> Iterator[Ranking]:
        """Yield a ranking for each list, in order, while the next ones are read and scored.

        Where only the ``top`` best are wanted, the rankings hold these alone, and most of the
        others are never scored exactly (reranker.scoring.winner). Raises InputError for invalid
        arguments.
        """
        pairs = self.ranked_lists(lists, weighing, token_scores, top, lm_weight=lm_weight)
        return (ranking for _, ranking in pairs)

    def ranked_lists(
        self,
        lists: Iterable[NBest | Candidates],
        weighing: Weighing | None = None,
        token_scores: bool = False,
        top: int | None = None,
        *,
        lm_weight: float | None = None,
    ) -> Iterator[tuple[NBest, Ranking]]:
        """Yield each list with its ranking, as ``rerank_lists`` does."""
        chosen = self._chosen(weighing, lm_weight, top)
        return self._ranked(_accepted(lists), chosen, token_scores, top)

    def _chosen(
        self, weighing: Weighing | None, lm_weight: float | None, top: int | None = None
    ) -> Weighing:
        if top is not None:
            positive("top", top)
        self._check_open()
        return _checked(weighing or self.weighing).replaced(lm_weight)

    def _check_open(self) -> None:
        if self._is_closed:
            raise InputError("this Reranker is closed: load it again")

    def _ranked(
        self, lists: Iterable[NBest], weighing: Weighing, token_scores: bool, top: int | None
    ) -> Iterator[tuple[NBest, Ranking]]:
        self._check_open()
        scorer, search = Scorer(self.ensemble, token_scores), self._winner_search
        score: Callable[[pools.Batch, Cancellation], list[Any]] = scorer.score
        most_tokens = pools.BATCH_TOKENS
        if top is not None and search.pays_off(weighing):
            score = partial(search.score, scorer=scorer, weighing=weighing, top=top)
            most_tokens = min(most_tokens, search.batch_tokens)
        try:
            for nbest, scores in pools.in_order(lists, score, self._lanes, most_tokens):
                yield nbest, self.rank(nbest, scores, weighing, top)
        except (RuntimeError, CancelledError):
            self._check_open()  # closing ends the lanes
            raise

    def score_lists(
        self,
        lists: Iterable[NBest | Candidates],
        token_scores: bool = False,
        cancellation: Cancellation | None = None,
    ) -> Iterator[tuple[NBest, list[Scored]]]:
        """Score the lists alone; then ``rank`` weighs them as often as wanted. Raises Stopped soon
        after another thread cancelled."""
        self._check_open()
        score, most = Scorer(self.ensemble, token_scores).score, pools.BATCH_TOKENS
        return pools.in_order(_accepted(lists), score, self._lanes, most, cancellation)


def _accepted(lists: Iterable[NBest | Candidates]) -> Iterator[NBest]:
    if not isinstance(lists, Iterable):
        raise InputError(f"expected a list of lists of candidates, got {lists!r:.60}")
    return (each if isinstance(each, NBest) else nbest.from_candidates(each) for each in lists)


def _checked(weighing: Weighing) -> Weighing:
    if not isinstance(weighing, Weighing):
        raise InputError(
            f"weighing must be a Weighing, got {weighing!r:.60}; for a weight alone, use lm_weight="
        )
    return weighing
