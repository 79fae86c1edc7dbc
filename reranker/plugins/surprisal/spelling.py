"""P(word | class) of a word outside a model's vocabulary, from its letters.

A model gives such a word the probability of its class (``checkpoints.vocabulary``), which is that
of all words of the class together. A letter model that learned from the words of the vocabulary
divides it among them: P(word | class) = P(letters) / P(a word of that class), where the latter is
the class's share of the words it learned from. Letters are interpolated n-grams (Witten & Bell
1991). Words are in lower case, as the model's known ones are.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from reranker.checkpoints.vocabulary import UNKNOWN_WORD, Vocabulary, class_number

_ORDER = 4
_END = "\n"
_CHARACTERS = 150_000  # that Unicode has, all equally likely where nothing is known
_LONGEST = 100  # letters; more are counted like these, so that time is bounded


class Spelling:
    """The letter model of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._symbols = frozenset(vocabulary.symbols)
        words = [s for s in vocabulary.symbols if s[0] not in "()" and not vocabulary.is_unknown(s)]
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for word in words:
            for context, letter in _grams(word):
                for start in range(len(context) + 1):
                    self._counts[context[start:]][letter] += 1
        self._totals = {context: seen.total() for context, seen in self._counts.items()}
        classes = Counter(map(self._class, words))
        self._shares = {
            name: (classes[name] + 1) / (len(words) + len(classes) + 1)
            for name in (*classes, UNKNOWN_WORD)
        }
        self._numbered = Counter(vocabulary.classes.values())

    def log_probability(self, word: str) -> float:
        """Return log P(word | its class), in nats; 0 for a word of the vocabulary."""
        if not self._vocabulary.is_unknown(word):
            return 0.0
        number = class_number(self._vocabulary.symbol(word))
        if number is not None:  # one of a list of similar words
            return -math.log(max(1, self._numbered[number]))
        letters = sum(math.log(self._letter(*gram)) for gram in _grams(word.lower()[:_LONGEST]))
        letters *= max(1.0, len(word) / _LONGEST)
        share = self._shares.get(self._class(word), self._shares[UNKNOWN_WORD])
        return min(0.0, letters - math.log(share))

    def _class(self, word: str) -> str:
        name = self._vocabulary.class_by_spelling(word.lower())
        return name if name in self._symbols else UNKNOWN_WORD

    def _letter(self, context: str, letter: str) -> float:
        """Return P(letter | the letters before it)."""
        shorter = self._letter(context[1:], letter) if context else 1 / _CHARACTERS
        seen = self._counts.get(context)
        if seen is None:
            return shorter
        kinds = len(seen)
        return (seen[letter] + kinds * shorter) / (self._totals[context] + kinds)


def _grams(word: str) -> list[tuple[str, str]]:
    """Return every letter of a word and its end, each with the letters before it."""
    text = _END + word + _END
    return [
        (text[max(0, place - _ORDER + 1) : place], text[place]) for place in range(1, len(text))
    ]
