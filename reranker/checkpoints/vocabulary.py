"""Tokens <-> ids, and the classes of unknown words."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from reranker.languages import composed
from reranker.trees.linearize import is_word

if TYPE_CHECKING:
    from reranker.checkpoints.neutral_classes import NeutralClasses

EOS = "<eos>"
UNKNOWN_WORD = "<unk>"
UNKNOWN_OPENING, UNKNOWN_CLOSING = "(<unk>", ")<unk>"
MINIMUM_COUNT = 10
MOST_CLASSED = 5_000_000  # words in classes: bounds the time to read a checkpoint

_SUFFIXES = {name.lower(): name for name in ("ing", "ed", "ly", "s", "est", "ER", "ion", "ory")}
_NUMBERED = re.compile(r"<[^/]+/([0-9]+)>")


def unknown_class(word: str) -> str:
    """Return the class of a word too rare for the vocabulary, from its original spelling.

    The rules are Choe & Charniak's (2016): the first rule that applies decides.

    >>> [unknown_class(word) for word in ("Boxes", "1984", "unlit", "re-do")]
    ['<cunks>', '<unkn>', '<ununk>', '<unk->']
    """
    name = "cunk" if word[0].isupper() else "unk"
    if word[0].isdigit() and word[-1].isdigit():
        return f"<{name}n>"
    if len(word) <= 3:
        return f"<{name}>"
    for suffix, mark in _SUFFIXES.items():
        if word.endswith(suffix):
            return f"<{name}{mark}>"
    if word.startswith("un"):
        return f"<un{name}>"
    if word.endswith("al"):
        return f"<{name}al>"
    inner = next((character for character in word[:-1] if character in "-."), "")
    return f"<{name}{inner}>"


def _classes(word: str, classes: Mapping[str, int], spelling: str) -> tuple[str, str, str]:
    """Return the classes of an unknown word, narrowest first; ``spelling`` is its class by
    spelling."""
    number = classes.get(word.lower())
    if number is None:
        return spelling, spelling, spelling
    return f"{spelling[:-1]}/{number}>", f"<*/{number}>", spelling


def class_number(symbol: str) -> int | None:
    """Return the number in the symbol of a class of similar words, ``<unks/37>`` or ``<*/37>``."""
    match = _NUMBERED.fullmatch(symbol)
    return int(match[1]) if match else None


def _is_special(symbol: str) -> bool:
    return len(symbol) > 2 and symbol[0] == "<" and symbol[-1] == ">"


def rare_words(sequences: Iterable[Sequence[str]], minimum_count: int) -> set[str]:
    """Return the words of these training trees, in lower case, that occur fewer than
    ``minimum_count`` times."""
    spelled: Counter[str] = Counter()
    for tokens in sequences:
        spelled.update(token for token in tokens if is_word(token))
    return {word for word, count in _lowered(spelled).items() if count < minimum_count}


def _lowered(spelled: Counter[str]) -> Counter[str]:
    lowered: Counter[str] = Counter()
    for token, count in spelled.items():
        lowered[token.lower() if is_word(token) else token] += count
    return lowered


class Vocabulary:
    """The symbols of one model, most frequent first; part of its checkpoint.

    Symbols are words in lower case, unknown-word classes in ``<...>`` and bracket tokens. A class
    or a label that training never saw maps to ``<unk>``, ``(<unk>`` or ``)<unk>``, which always
    exist. A word spelled like ``<eos>`` is an unknown word, never the symbol.

    ``classes`` numbers words, in lower case, by similarity (``word_vectors``): an unknown word
    among them becomes ``<unks/37>``, its class by spelling within class 37; if training saw too few
    of those, ``<*/37>``, of any spelling; else its class by spelling alone.

    A ``backward`` model reads a tree from its end: this order is as good as the other, and leads to
    different errors. ``neutral`` gives the classes by spelling in other languages than English;
    without it, ``unknown_class`` does. A model that ``reads_tags`` has learned from trees with a
    part-of-speech tag in the place of each word.
    """

    def __init__(
        self,
        symbols: Sequence[str],
        classes: Mapping[str, int] | None = None,
        backward: bool = False,
        neutral: NeutralClasses | None = None,
        reads_tags: bool = False,
    ) -> None:
        self.neutral = neutral
        self.symbols = tuple(symbols)
        self.classes: Mapping[str, int] = classes or {}
        self.backward, self.reads_tags = backward, reads_tags
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        needed = (EOS, UNKNOWN_WORD, UNKNOWN_OPENING, UNKNOWN_CLOSING)
        is_distinct = len(self._ids) == len(self.symbols) and "" not in self._ids
        if not is_distinct or not all(symbol in self._ids for symbol in needed):
            raise ValueError(f"a vocabulary needs distinct symbols, including {' '.join(needed)}")
        self.eos = self._ids[EOS]
        self._words = {s: i for s, i in self._ids.items() if is_word(s) and not _is_special(s)}

    @classmethod
    def build(
        cls,
        sequences: Iterable[Sequence[str]],
        minimum_count: int = MINIMUM_COUNT,
        classes: Mapping[str, int] | None = None,
        backward: bool = False,
        is_english: bool = True,
        reads_tags: bool = False,
    ) -> Vocabulary:
        """Build a vocabulary from linearised training trees: every word and label seen
        ``minimum_count`` times or more (in lower case), and the classes of the others; numbered
        classes need as many occurrences. Classes are Choe & Charniak's, or neutral ones unless the
        trees' language ``is_english``."""
        spelled: Counter[str] = Counter()
        trees = 0
        for tokens in sequences:
            spelled.update(tokens if is_english else map(composed, tokens))
            trees += 1
        neutral = None
        if not is_english:
            from reranker.checkpoints.neutral_classes import NeutralClasses

            neutral = NeutralClasses.learned(filter(is_word, spelled))
        class_of = neutral.name if neutral else unknown_class
        lowered = _lowered(spelled)
        counts = Counter({EOS: trees, UNKNOWN_WORD: 0, UNKNOWN_OPENING: 0, UNKNOWN_CLOSING: 0})
        rare: list[tuple[str, str, str, int]] = []  # the names of a word's classes, its count
        for token, count in spelled.items():
            symbol = token.lower() if is_word(token) else token
            if lowered[symbol] >= minimum_count and not _is_special(symbol):
                counts[symbol] += count
            elif is_word(token):
                rare.append((*_classes(token, classes or {}, class_of(token)), count))
            else:
                counts[UNKNOWN_OPENING if token[0] == "(" else UNKNOWN_CLOSING] += count
        for level, needed in enumerate((minimum_count, minimum_count, 0)):
            seen = Counter[str]()
            for *names, count in rare:
                seen[names[level]] += count
            kept = Counter({name: count for name, count in seen.items() if count >= needed})
            counts.update(kept)
            rare = [word for word in rare if word[level] not in kept]
        symbols = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
        return cls(symbols, classes, backward, neutral, reads_tags)

    def __len__(self) -> int:
        return len(self.symbols)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vocabulary)
            and self.symbols == other.symbols
            and self.classes == other.classes
            and self.backward == other.backward
            and self.reads_tags == other.reads_tags
            and (self.neutral is None) == (other.neutral is None)
            and self.affixes == other.affixes
        )

    def __hash__(self) -> int:
        return hash(self.symbols)

    @property
    def affixes(self) -> tuple[str, ...]:
        """Return the affixes of neutral classes."""
        return self.neutral.affixes if self.neutral else ()

    @property
    def digest(self) -> str:
        """Return a digest, equal for equal vocabularies and only for those, in every process."""
        classes = (f"{word} {number}" for word, number in self.classes.items())
        reads = ["tags"] if self.reads_tags else []
        kind = " ".join([*reads, str(self.backward), str(self.neutral is not None), *self.affixes])
        content = "\n".join([kind, *self.symbols, "", *classes])
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()

    def symbol(self, token: str) -> str:
        """Return the symbol that the model reads for a token: the word in lower case, its class, or
        the label."""
        if not is_word(token):
            if token in self._ids:
                return token
            return UNKNOWN_OPENING if token[0] == "(" else UNKNOWN_CLOSING
        if self.neutral:
            token = composed(token)
        lowered = token.lower()
        if lowered in self._words:
            return lowered
        names = _classes(token, self.classes, self.class_by_spelling(token))
        return next((name for name in names if name in self._ids), UNKNOWN_WORD)

    def class_by_spelling(self, word: str) -> str:
        """Return the class of an unknown word by the rules of training; the model may lack this
        class."""
        return self.neutral.name(word) if self.neutral else unknown_class(word)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return the ids of a linearised tree in the order the model reads them, with ``<eos>`` at
        the end."""
        ids = [self._ids[self.symbol(token)] for token in tokens]
        return [*(reversed(ids) if self.backward else ids), self.eos]

    def is_unknown(self, token: str) -> bool:
        """Return whether the token is a word outside the vocabulary; none is for a model that reads
        tags."""
        if self.reads_tags:
            return False
        if self.neutral:
            token = composed(token)
        return is_word(token) and token.lower() not in self._words
