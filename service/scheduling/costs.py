"""The time that work takes, learned from warm-ups and batches, and counted in tokens of lists."""

from __future__ import annotations

from collections.abc import Iterable

from reranker.service.scheduling.work import EVERY_CANDIDATE, Kind, Piece, Work

# Seconds that a batch takes if nothing else is scored, unless one list takes longer by itself.
_BATCH_SECONDS = 0.5

# A list that takes longer is cut. Candidates share their beginnings, which each part computes
# again, so smaller pieces cost more in all (docs/research/performance.md).
_PIECE_SECONDS = 2.0

# The head start of a client that has been idle: the seconds of scoring, while nothing else is
# scored, that the client may be served before others.
_HEAD_START_SECONDS = 1.0

# How many times as long a batch takes, at most, while everything else is busy, too.
_LOAD = 3.0


class Costs:
    """The costs of work: each is the number of list tokens that take as long."""

    def __init__(self, most_tokens: int) -> None:
        """Set the most tokens that are scored in one batch."""
        self.speed = 10_000.0
        """Tokens a second of one engine; measured by the warm-up and by every full batch."""
        self.least_tokens = 0
        """Smallest batch worth sending, in tokens; a smaller one takes as long. Measured by the
        warm-up."""
        self.step_tokens = 0.0
        """Cost of each token of a single tree, whose tokens are computed one after another."""
        self.of_kind: dict[Kind, float] = {}
        """Cost of each token of a kind of work; 1 for lists all of whose candidates are scored."""
        self._idle_speed = 0.0  # tokens a second while nothing else is scored
        self._most_tokens = most_tokens

    def learn_first(
        self, tokens: int, seconds: float, shortest: float = 0.0, step: float = 0.0
    ) -> None:
        """Learn from the seconds of a first list, of the shortest list, and of each token of one
        tree."""
        self.speed = self._idle_speed = _speed(tokens, seconds)
        self.least_tokens, self.step_tokens = int(self.speed * shortest), self.speed * step

    def learn_kind(self, kind: Kind, tokens: int, seconds: float) -> None:
        """Learn from the seconds of a first work of another kind."""
        self.of_kind[kind] = self.speed / _speed(tokens, seconds)

    def learn_speed(self, tokens: int, seconds: float, kind: Kind = EVERY_CANDIDATE) -> None:
        """Learn from the seconds of a batch. A small batch is slow, and counts only if it was
        faster than usual."""
        speed, usual = _speed(tokens, seconds), self.speed / self.of_kind.get(kind, 1.0)
        if self.list_tokens(kind, tokens) > self.batch_tokens / 2 or speed > usual:
            usual += 0.3 * (speed - usual)
            if kind == EVERY_CANDIDATE:
                self.speed = usual
            else:
                self.of_kind[kind] = self.speed / usual

    def learn_again(self, tokens: int, seconds: float) -> None:
        """Learn from the seconds of a first list with other models, perhaps beside other work."""
        speed = _speed(tokens, seconds)
        self._idle_speed = min(max(self._idle_speed, speed), _LOAD * speed)

    def list_tokens(self, kind: Kind, tokens: int) -> float:
        """Return the cost of tokens of a kind of work, whatever the length of their trees."""
        return self.of_kind.get(kind, 1.0) * tokens

    def waiting_tokens(self, works: Iterable[Work]) -> float:
        """Return the cost of the pieces of works that wait, whatever the length of their trees."""
        return sum(self.list_tokens(work.kind, work.waiting_tokens) for work in works)

    def cost(self, tokens: float, longest: int) -> int:
        """Return the cost of a batch of ``tokens`` list tokens whose longest tree has ``longest``
        tokens: the batch takes no less time than that tree."""
        return max(round(tokens), self.least_tokens, int(longest * self.step_tokens))

    def piece_cost(self, piece: Piece) -> int:
        """Return the cost of a piece that is scored by itself."""
        return self.cost(self.list_tokens(piece.work.kind, piece.tokens), piece.longest)

    def piece_seconds(self, piece: Piece) -> float:
        """Return the seconds of a piece that is scored by itself."""
        return self.piece_cost(piece) / self._batch_speed

    def tokens_in(self, seconds: float) -> int:
        """Return the list tokens that are scored in ``seconds`` while nothing else is scored, up to
        the most that a batch may have."""
        return max(1, min(self._most_tokens, int(seconds * self._batch_speed)))

    @property
    def batch_tokens(self) -> int:
        """Return the list tokens of a full batch: half a second's work."""
        return self.tokens_in(_BATCH_SECONDS)

    @property
    def piece_tokens(self) -> int:
        """Return the tokens of the largest piece; a list that has more is cut."""
        return self.tokens_in(_PIECE_SECONDS)

    @property
    def head_start(self) -> float:
        """Return the head start of clients that have been idle: a second's work."""
        return _HEAD_START_SECONDS * self._idle_speed

    @property
    def _batch_speed(self) -> float:
        # Other slots' work makes a batch take longer; smaller batches would cost more in all.
        return max(self.speed, self._idle_speed / 2)


def _speed(tokens: int, seconds: float) -> float:
    return tokens / max(seconds, 1e-4)
