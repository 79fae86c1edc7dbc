"""Classes of unknown words in any language: by script, case, digits, and affixes that training
words share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

_LENGTHS = (4, 3, 2, 1)
_WORDS_PER_AFFIX = 200  # one word in this many, or more, has the affix
_MAX_AFFIXES = 60
_NESTED_SHARE = 0.7  # a shorter affix is dropped if a longer one has this share of its words


class NeutralClasses:
    """The classes of unknown words by affixes such as ``-kan`` or ``ber-``. The longest affix
    decides; a suffix comes before a prefix of the same length.

    >>> classes = NeutralClasses(["-kan", "ber-"])
    >>> [classes.name(word) for word in ("Dibacakan", "berjalan", "TNI", "3,5", "病人", "...")]
    ['<Latin-kan>', '<latinber->', '<LATIN>', '<0>', '<cjk>', '<sign>']
    """

    def __init__(self, affixes: Sequence[str]) -> None:
        """Raise ValueError if a string is not an affix."""
        for affix in affixes:
            is_one = affix.count("-") == 1 and "-" in (affix[0], affix[-1])
            if not is_one or not 2 <= len(affix) <= 1 + max(_LENGTHS):
                raise ValueError(f"{affix!r:.20} is not an affix")
        self.affixes = tuple(affixes)
        self._known = frozenset(affixes)

    @classmethod
    def learned(cls, words: Iterable[str]) -> NeutralClasses:
        """Learn the affixes of these words; each word counts once."""
        kinds = {word.lower() for word in words if word.isalpha()}
        counts = Counter(affix for word in kinds for affix in _affixes(word))
        least = max(5, len(kinds) // _WORDS_PER_AFFIX)
        frequent = [affix for affix, count in counts.items() if count >= least]
        nested = {
            part
            for affix in frequent
            for part in (affix[:1] + affix[2:], affix[:-2] + affix[-1:])
            if len(part) > 1 and counts[affix] >= _NESTED_SHARE * counts[part]
        }
        kept = sorted(set(frequent) - nested, key=lambda affix: (-counts[affix], affix))
        return cls(kept[:_MAX_AFFIXES])

    def name(self, word: str) -> str:
        """Return the class of a word."""
        script = next((_script(letter) for letter in word if letter.isalpha()), "")
        if word.isupper() and len(word) > 1:
            script = script.upper()
        elif word[0].isupper():
            script = script.capitalize()
        digit = "0" if any(map(str.isdigit, word)) else ""
        affix = next(filter(self._known.__contains__, _affixes(word.lower())), "")
        return f"<{script}{digit}{affix}>" if script or digit else "<sign>"


def _affixes(word: str) -> list[str]:
    """Return the possible suffixes and prefixes, longest first. An affix has two letters or more
    and leaves two, or one of either in Chinese."""
    least = 1 if _script(word[0]) == "cjk" else 2
    found = []
    for length in _LENGTHS:
        if least <= length <= len(word) - least:
            suffix, prefix = word[-length:], word[:length]
            found += ["-" + suffix] * ("-" not in suffix) + [prefix + "-"] * ("-" not in prefix)
    return found


def _script(letter: str) -> str:
    return unicodedata.name(letter, "letter").split(" ")[0].lower()
