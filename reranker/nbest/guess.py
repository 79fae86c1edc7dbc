"""Messages about files that do not look like n-best lists."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from reranker.errors import KindError
from reranker.files.kinds import kind_of
from reranker.nbest.data import NBest
from reranker.nbest.notation import may_be_tree
from reranker.nbest.words import printable

HINT_LISTS = 300

_SHOWN = 60
_NUMBERS = re.compile(r"(?=[^0-9]*+[0-9])[-+0-9.,;eE\s]++")
_LETTERS = re.compile(r"[^\W\d_]{2}")


def not_nbest(
    name: str,
    head: Sequence[str],
    line: int,
    text: str,
    expected: str = "the lists of a known format",
) -> KindError:
    """Return the error for a file whose line ``line`` holds ``text`` instead of n-best lists.

    Its message names the kind of file that the head looks like or, if that is unknown,
    ``expected``.
    """
    kind = guess(head)
    reason = f"looks like {kind}" if kind else f"expected {expected}"
    text = printable(text.strip()[:_SHOWN])
    return KindError(f"{name}:{line}: not an n-best list: {reason}; found {text!r}")


def guess(head: Sequence[str]) -> str:
    """Return the kind of file that these first lines look like, with a remedy; "" if unknown."""
    if kind := kind_of("".join(head)):
        return kind.described("trees")
    lines = [line.strip() for line in head if line.strip()]
    if 2 * sum(map(_is_prose, lines)) > len(lines):
        return "plain sentences: parse them first, with rerank parse"
    return "numbers without trees" if lines and all(map(_NUMBERS.fullmatch, lines)) else ""


def _is_prose(line: str) -> bool:
    """Return whether a line has words, and fewer brackets than a tree would have."""
    brackets = line.count("(")
    has_remark = brackets == 1 and not may_be_tree(line[line.index("(") :])
    return bool(_LETTERS.search(line)) and (4 * brackets < len(line.split()) or has_remark)


def with_hint(lists: Iterable[NBest], tell: Callable[[str], None]) -> Iterator[NBest]:
    """Yield the lists; pass ``tell`` a hint if none of the first ``HINT_LISTS`` has two
    candidates."""
    seen: list[tuple[int, list[str]]] = []
    for nbest in lists:
        yield nbest
        if len(seen) < HINT_LISTS:
            words = nbest.candidates[0].words if nbest.candidates else []
            seen.append((len(nbest.candidates) + len(nbest.rejected), words))
            if len(seen) == HINT_LISTS and (hint := _hint(seen)):
                tell(hint)
    if len(seen) < HINT_LISTS and (hint := _hint(seen)):
        tell(hint)


def _hint(seen: Sequence[tuple[int, list[str]]]) -> str | None:
    """Return a hint, or None if there are fewer than two lists or one has two candidates. ``seen``
    has the number of candidates and the words of each list."""
    if len(seen) < 2 or any(candidates > 1 for candidates, _ in seen):
        return None
    lists = "every list" if len(seen) < HINT_LISTS else f"each of the first {HINT_LISTS} lists"
    are_alike = [
        words == next_words
        for (_, words), (_, next_words) in itertools.pairwise(seen)
        if words and next_words
    ]
    # Two candidates a sentence make every other pair of neighbours alike.
    if 3 * sum(are_alike) <= len(are_alike):
        return f"{lists} has one candidate"
    return (
        f"{lists} has one candidate, and neighbouring trees share their words: if they are "
        "n-best lists, with a blank line after each, try format berkeley"
    )
