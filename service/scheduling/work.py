"""The lists or sentences of one request on their way through the queue: cut into pieces, whose
scores are put together again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from reranker.nbest import NBest
from reranker.nbest.data import Candidate
from reranker.parsers.parser import CHART_CANDIDATES
from reranker.ranking import Scored, repeating
from reranker.scoring.distinct import DistinctCandidates
from reranker.service.errors import RequestError
from reranker.text.reading import TextSentence

if TYPE_CHECKING:
    from reranker.service.children.scoring import Best, Models


AHEAD = 32
"""The number of sentences of a text that are parsed and scored before the answer takes them."""

# Language model tokens of a tree, for each word of the sentence.
_TOKENS_PER_WORD = 3


class Kind(NamedTuple):
    """A kind of work, whose tokens take about as long."""

    is_text: bool
    is_best: bool  # the best candidates alone are wanted: a shortlist is scored


EVERY_CANDIDATE = Kind(False, False)
"""Lists all of whose candidates are scored."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A unit of scoring: a list, a part of a long one, or a sentence that is parsed first."""

    work: Work
    place: int  # of the list in the request
    part: int  # of the list
    what: NBest | TextSentence
    tokens: int
    longest: int
    """Tokens of the longest tree, which are computed one after another."""


@dataclass(slots=True, eq=False)
class Work:
    """The lists of one request, and the scores that have come back so far."""

    models: Models
    lists: Sequence[NBest]
    deadline: float  # by time.monotonic()
    client: str = ""
    token_scores: bool = False
    most_tokens: int = 10**9
    """The largest piece, in tokens; longer lists are cut."""
    sentences: Sequence[TextSentence] = ()
    """Sentences instead of lists; the sentences are parsed first."""
    candidates: int = CHART_CANDIDATES
    """Trees that the parser proposes for a sentence, at most."""
    best: Best | None = None
    """The best candidates, if only these are wanted of each list; None if a list is cut."""
    is_certainty_wanted: bool = True
    """Whether the parser's probabilities of brackets are wanted."""
    changed: Callable[[], object] = lambda: None
    """Called, in a thread, when there are new scores or an error."""
    pieces: list[Piece] = field(init=False)
    tokens: int = field(init=False)
    """Tokens that are scored; duplicates count once. For sentences, an estimate."""
    waiting_tokens: int = field(init=False)
    error: RequestError | None = None
    is_cancelled: bool = False
    is_small: bool = False  # for the queue
    taken: int = 0  # how many pieces have been put into a batch
    delivered: int = 0
    """The number of lists that the answer has taken."""
    since: float = field(default_factory=time.monotonic)
    _cut: dict[int, DistinctCandidates] = field(default_factory=dict)  # lists of several pieces
    _parsed: dict[int, NBest] = field(default_factory=dict)  # of sentences, until they are taken
    _scores: list[list[Sequence[Scored | None] | None]] = field(init=False)  # of each list's parts

    def __post_init__(self) -> None:
        self.pieces, self._scores = [], []
        for place, sentence in enumerate(self.sentences):
            size = self._expected_tokens(sentence)
            self.pieces.append(Piece(self, place, 0, sentence, *size))
            self._scores.append([None])
        for place, nbest in enumerate(self.lists):
            distinct = DistinctCandidates(nbest)
            parts = [(nbest, distinct.size)]
            if distinct.size > self.most_tokens:
                self._cut[place] = distinct
                parts = _parts(distinct, self.most_tokens)
            self.pieces += [
                Piece(self, place, n, *part, distinct.longest) for n, part in enumerate(parts)
            ]
            self._scores.append([None] * len(parts))
        if self._cut:
            self.best = None
        self.tokens = self.waiting_tokens = sum(piece.tokens for piece in self.pieces)

    def _expected_tokens(self, sentence: TextSentence) -> tuple[int, int]:
        """Estimate the tokens of all trees of a sentence, and of the longest tree."""
        if sentence.problem is not None:
            return 1, 1
        longest = _TOKENS_PER_WORD * len(sentence.sentence.words)
        return self.candidates * longest, longest

    @property
    def is_over(self) -> bool:
        """Return whether the request failed, was cancelled, or is past its deadline."""
        is_done = self.is_cancelled or self.error is not None
        return is_done or time.monotonic() > self.deadline

    @property
    def kind(self) -> Kind:
        return Kind(self.is_text, self.best is not None)

    @property
    def is_text(self) -> bool:
        return bool(self.sentences)

    @property
    def count(self) -> int:
        """Return the number of lists or sentences."""
        return len(self._scores)

    @property
    def waits(self) -> bool:
        """Return whether the next piece may be scored. A sentence of a text is not scored long
        before the answer needs it."""
        return not self.is_text or self.taken - self.delivered < AHEAD

    def next_piece(self) -> Piece:
        """Take the next piece that waits."""
        piece = self.pieces[self.taken]
        self.taken += 1
        self.waiting_tokens -= piece.tokens
        return piece

    def take_scored(self, place: int) -> list[tuple[NBest, Sequence[Scored | None]]]:
        """Return the scored lists from ``place`` on, and forget them. Raises RequestError."""
        if self.error is not None:
            raise self.error
        group = []
        while place < self.count and None not in self._scores[place]:
            nbest = self._parsed.pop(place) if self.is_text else self.lists[place]
            group.append((nbest, self._take_scores(place)))
            place += 1
        return group

    def _take_scores(self, place: int) -> Sequence[Scored | None]:
        together = [scored for part in self._scores[place] for scored in part or ()]
        self._scores[place] = []
        if distinct := self._cut.pop(place, None):
            every = [scored for scored in together if scored]
            return [repeating(every[n], original) for n, original in distinct.candidates]
        return together

    def add(self, piece: Piece, nbest: NBest, scores: Sequence[Scored | None]) -> None:
        """Store the scores of a piece, which belong to ``nbest``."""
        if self.is_text:
            self._parsed[piece.place] = replace(nbest, id=str(piece.place))
        if not self.token_scores:
            scores = [scored and replace(scored, token_scores=None) for scored in scores]
        self._scores[piece.place][piece.part] = scores
        if None not in self._scores[piece.place]:
            self._tell()

    def fail(self, error: RequestError) -> None:
        self.error = self.error or error
        self._tell()

    def _tell(self) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has been closed
            self.changed()


def _parts(distinct: DistinctCandidates, most_tokens: int) -> list[tuple[NBest, int]]:
    """Divide the different candidates into parts of at most ``most_tokens``, or of one candidate.
    Neighbours in the parser's list stay together, since they are alike."""
    parts: list[tuple[NBest, int]] = []
    nbest, size = distinct.nbest, 0
    held: list[Candidate] = []
    different = (
        candidate
        for candidate, (_, original) in zip(nbest.candidates, distinct.candidates, strict=True)
        if original is None
    )
    for candidate, sequence in zip(different, distinct.sequences, strict=True):
        tokens = len(sequence) + 1
        if held and size + tokens > most_tokens:
            parts.append((replace(nbest, candidates=tuple(held)), size))
            held, size = [], 0
        held.append(candidate)
        size += tokens
    parts.append((replace(nbest, candidates=tuple(held)), size))
    return parts
