"""The word-synchronous beam of a forward language model as a parser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reranker.chart.bracketed import best_tags
from reranker.checkpoints.ensemble_file import hashes
from reranker.errors import InputError
from reranker.nbest import Candidate, NBest
from reranker.nbest.data import Sentence
from reranker.parsers.parser import CANDIDATES, ParserSettings
from reranker.plugins.surprisal.beam import MOST_WORDS, Width
from reranker.plugins.surprisal.forward import load_forward
from reranker.plugins.surprisal.sentence import read_sentence
from reranker.plugins.surprisal.spelling import Spelling
from reranker.process.cancellation import Cancellation
from reranker.ranking import SCORE_DECIMALS
from reranker.trees.linearize import delinearize

_LEAST_WORDS = 100  # hypotheses at each word
MOST_LENGTH = 300  # words of a sentence


class BeamParser:
    """The trees that are left in the beam at the end of a sentence, at most ``settings.candidates``
    of them, with the log-probability that the model gives them as a member of an ensemble.
    ``settings.model`` is a forward language model, by default the first of the installed ensemble.

    It has no part-of-speech tags: they are the sentence's, if it has any, else those of punctuation
    and XX.
    """

    root = "TOP"
    batch_sizes = (1, 4)

    def __init__(self, settings: ParserSettings) -> None:
        """Raise InputError without a forward language model, and for too many candidates."""
        self._candidates = settings.candidates or CANDIDATES
        if self._candidates > MOST_WORDS:
            raise InputError(
                f"the parser beam proposes at most {MOST_WORDS:,} trees, not {self._candidates}"
            )
        self._models = load_forward(settings.model or None)
        self._spelling = Spelling(self._models.vocabulary)
        self._width = Width(max(_LEAST_WORDS, self._candidates))
        self._cancellation = Cancellation()

    @staticmethod
    def model_identity(settings: ParserSettings) -> str:
        """Return the SHA-256 of the model that is named. Raises InputError if there is none."""
        return hashes(settings.model) if settings.model else ""

    def parse(self, sentences: Sequence[Sentence]) -> list[NBest | str]:
        """Return for each sentence its list or, for one that is too long, the reason why there is
        none. Raises Stopped after ``stop``."""
        return [self._parse(each) for each in self._cancellation.until_cancelled(sentences)]

    def unknown_words(self, words: Sequence[str]) -> int:
        """Return the number of words outside the vocabulary."""
        return sum(map(self._models.vocabulary.is_unknown, words))

    def stop(self) -> None:
        self._cancellation.cancel()

    def _parse(self, sentence: Sentence) -> NBest | str:
        words = sentence.words
        if len(words) > MOST_LENGTH:
            return f"{len(words)} words, more than the {MOST_LENGTH} that the parser beam takes"
        read = read_sentence(self._models, self._spelling, words, self._width, self._cancellation)
        tags = sentence.tags or best_tags(words, np.zeros((len(words), 0)), ())
        candidates = []
        for index, (tokens, score) in enumerate(read.trees[: self._candidates]):
            tree = delinearize(tokens, words, tags, self.root)
            score = round(score, SCORE_DECIMALS)
            candidates.append(Candidate(index, tree.to_string(), tokens, score, line=0))
        return NBest("", tuple(candidates), (), 0, sentence, root=self.root)
