"""The symbols of an encoder-decoder: source words or pieces -> ids, ids -> output."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from reranker.checkpoints.pieces import Pieces, joined

Task = Literal["parsing", "text"]
"""``parsing``: words to a linearised tree; ``text``: words to words."""

EOS, UNKNOWN = "<eos>", "<unk>"


class Pair(NamedTuple):
    """A source and its target."""

    source: tuple[str, ...]  # words
    target: tuple[str, ...]  # tokens of a tree, or words


class PairVocabulary:
    """The symbols of one encoder-decoder; part of its checkpoint.

    For ``text``, both sides are pieces of words, learned on both together. For ``parsing``, a
    source position is a word and, added to it, its pieces (Suzuki et al. 2018); a word outside
    the vocabulary is ``<unk>`` and its pieces.
    """

    def __init__(
        self,
        task: Task,
        source_words: Sequence[str],
        source_pieces: Sequence[str],
        target: Sequence[str],
        merges: str,
    ) -> None:
        """Raise ValueError for symbols that are not distinct, or without ``<eos>`` and ``<unk>`` at
        the head of ``target``."""
        if task not in get_args(Task):
            raise ValueError(f"task must be {' or '.join(get_args(Task))}, got {task!r}")
        self.task, self.pieces = task, Pieces(merges)
        self.source_words, self.source_pieces = tuple(source_words), tuple(source_pieces)
        self.target = tuple(target)
        self._words = {word: 1 + place for place, word in enumerate(self.source_words)}
        first = 1 + len(self.source_words)
        self._pieces = {piece: first + place for place, piece in enumerate(self.source_pieces)}
        self._target = {symbol: place for place, symbol in enumerate(self.target)}
        if self.target[:2] != (EOS, UNKNOWN):
            raise ValueError(f"the target's symbols do not begin with {EOS} {UNKNOWN}")
        together = (self.source_words, self.source_pieces, self.target)
        if any(len(set(symbols)) < len(symbols) for symbols in together):
            raise ValueError("symbols occur twice in a vocabulary")
        self.eos, self.unknown = 0, 1

    @classmethod
    def build(
        cls, task: Task, pairs: Sequence[Pair], merges: int, minimum_count: int
    ) -> PairVocabulary:
        """Build the vocabulary of training pairs. ``minimum_count`` is of a parser's source words;
        all pieces and all tokens of trees that occur are symbols."""
        sources = Counter(word for pair in pairs for word in pair.source)
        targets = Counter(token for pair in pairs for token in pair.target)
        pieces = Pieces.learn(sources + targets if task == "text" else sources, merges)
        words = _frequent(sources, minimum_count) if task == "parsing" else []
        symbols = _of_pieces(pieces, targets) if task == "text" else targets
        target = [
            EOS,
            UNKNOWN,
            *(each for each in _frequent(symbols) if each not in (EOS, UNKNOWN)),
        ]
        return cls(task, words, _frequent(_of_pieces(pieces, sources)), target, pieces.merges)

    @property
    def source_size(self) -> int:
        """Return the number of ids of a source feature; 0 is the unknown one."""
        return 1 + len(self.source_words) + len(self.source_pieces)

    @property
    def digest(self) -> str:
        """Return a hash that equal vocabularies share in every process, and different ones do
        not."""
        parts = (self.source_words, self.source_pieces, self.target, (self.pieces.merges,))
        content = "\n\n".join([self.task, *("\n".join(part) for part in parts)])
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()

    def encode_source(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the features of each position."""
        if self.task == "text":
            return [(self._pieces.get(piece, 0),) for piece in self.pieces.split(words)]
        return [(self._words.get(word, 0), *self._known_pieces(word)) for word in words]

    def encode_target(self, tokens: Sequence[str]) -> list[int]:
        """Return ids, ``<eos>`` at the end."""
        symbols = self.pieces.split(tokens) if self.task == "text" else tokens
        # A word that is spelled like a symbol is none.
        known = [
            0 if symbol in (EOS, UNKNOWN) else self._target.get(symbol, 0) for symbol in symbols
        ]
        return [*(number or self.unknown for number in known), self.eos]

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the output's tokens: the tokens of a tree, or words."""
        symbols = [self.target[number] for number in ids]
        return joined(symbols) if self.task == "text" else symbols

    def _known_pieces(self, word: str) -> list[int]:
        numbers = (self._pieces.get(piece) for piece in self.pieces.split([word]))
        return [number for number in numbers if number is not None]


def _of_pieces(pieces: Pieces, words: Counter[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for piece in pieces.split([word]):
            counts[piece] += count
    return counts


def _frequent(counts: Counter[str], minimum: int = 1) -> list[str]:
    """Return the symbols seen at least this often, most frequent first."""
    kept: Iterable[str] = (symbol for symbol, count in counts.items() if count >= minimum)
    return sorted(kept, key=lambda symbol: (-counts[symbol], symbol))
