"""Token <-> id, and what an unknown word becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reranker.linearize import is_word

EOS = "<eos>"
UNKNOWN_WORD = "<unk>"
UNKNOWN_OPENING, UNKNOWN_CLOSING = "(<unk>", ")<unk>"
MINIMUM_COUNT = 10

_SUFFIXES = (
    ("ing", "ing"),
    ("ed", "ed"),
    ("ly", "ly"),
    ("s", "s"),
    ("est", "est"),
    ("er", "ER"),
    ("ion", "ion"),
    ("ory", "ory"),
)


def unknown_class(word: str) -> str:
    """The class of a word too rare for the vocabulary, from its original spelling.

    Choe & Charniak's classes: the first rule that applies decides.

    >>> [unknown_class(word) for word in ("Boxes", "1984", "unlit", "re-do")]
    ['<cunks>', '<unkn>', '<ununk>', '<unk->']
    """
    name = "cunk" if word[0].isupper() else "unk"
    if word[0].isdigit() and word[-1].isdigit():
        return f"<{name}n>"
    if len(word) <= 3:
        return f"<{name}>"
    for suffix, mark in _SUFFIXES:
        if word.endswith(suffix):
            return f"<{name}{mark}>"
    if word[:2].lower() == "un":
        return f"<un{name}>"
    if word.endswith("al"):
        return f"<{name}al>"
    inner = next((character for character in word[:-1] if character in "-."), "")
    return f"<{name}{inner}>"


def _is_special(symbol: str) -> bool:
    return len(symbol) > 2 and symbol[0] == "<" and symbol[-1] == ">"


class Vocabulary:
    """The symbols of one model, most frequent first; part of its checkpoint.

    Words in lower case, unknown-word classes in ``<...>`` and bracket tokens. A class or a label
    that training never saw maps to ``<unk>``, ``(<unk>`` or ``)<unk>``, which always exist. A word
    that is itself spelled like ``<eos>`` is an unknown word, never the symbol.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = tuple(symbols)
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        needed = (EOS, UNKNOWN_WORD, UNKNOWN_OPENING, UNKNOWN_CLOSING)
        is_distinct = len(self._ids) == len(self.symbols) and "" not in self._ids
        if not is_distinct or not all(symbol in self._ids for symbol in needed):
            raise ValueError(f"a vocabulary has distinct symbols, {' '.join(needed)} among them")
        self.eos = self._ids[EOS]
        self._words = {s: i for s, i in self._ids.items() if is_word(s) and not _is_special(s)}

    @classmethod
    def build(
        cls, sequences: Iterable[Sequence[str]], minimum_count: int = MINIMUM_COUNT
    ) -> Vocabulary:
        """From linearised training trees: every word and label seen ``minimum_count`` times or more
        (in lower case), and the classes of the others."""
        spelled: Counter[str] = Counter()
        trees = 0
        for tokens in sequences:
            spelled.update(tokens)
            trees += 1
        lowered: Counter[str] = Counter()
        for token, count in spelled.items():
            lowered[token.lower() if is_word(token) else token] += count
        counts = Counter({EOS: trees, UNKNOWN_WORD: 0, UNKNOWN_OPENING: 0, UNKNOWN_CLOSING: 0})
        for token, count in spelled.items():
            symbol = token.lower() if is_word(token) else token
            if lowered[symbol] >= minimum_count and not _is_special(symbol):
                counts[symbol] += count
            elif is_word(token):
                counts[unknown_class(token)] += count
            else:
                counts[UNKNOWN_OPENING if token[0] == "(" else UNKNOWN_CLOSING] += count
        return cls(sorted(counts, key=lambda symbol: (-counts[symbol], symbol)))

    def __len__(self) -> int:
        return len(self.symbols)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def symbol(self, token: str) -> str:
        """What the model reads for one token: the word in lower case, its class, or the label."""
        if not is_word(token):
            if token in self._ids:
                return token
            return UNKNOWN_OPENING if token[0] == "(" else UNKNOWN_CLOSING
        lowered = token.lower()
        if lowered in self._words:
            return lowered
        word_class = unknown_class(token)
        return word_class if word_class in self._ids else UNKNOWN_WORD

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Ids of a linearised tree, ``<eos>`` added at the end."""
        ids = self._ids
        return [*(ids[self.symbol(token)] for token in tokens), self.eos]

    def is_unknown(self, token: str) -> bool:
        """True for a word outside the vocabulary."""
        return is_word(token) and token.lower() not in self._words
