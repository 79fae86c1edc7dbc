"""Running text: files with one sentence per line, words separated by spaces, read one after
another.

Lines ``<article>`` and ``</article>`` enclose articles; a model resets its state before each
article (Daniluk 2016, section 4.1). Either all of a file's text is in articles or none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from reranker.checkpoints.vocabulary import Vocabulary
from reranker.errors import InputError
from reranker.files.text import MAX_LINE, encoding_fault, open_text
from reranker.nbest.words import split_words
from reranker.text.reading import refuse_other_than_text

Line = tuple[str, ...]
"""The tokens of a line, without ``<eos>``."""

# The marks as tokens, which are spelled like brackets, so that no word equals one.
OPENING, CLOSING = "(<article>", ")<article>"
MARKS = {"<article>": OPENING, "</article>": CLOSING}


_MARKS = re.compile(r"</?(?:article|s|unk|eos|pad)>")  # with the marks of other corpora


def read_running_text(paths: Iterable[str | os.PathLike[str]]) -> list[Line]:
    """Return all lines of the files as tokens; ``<article>`` and ``</article>`` are lines of their
    own.

    Raises InputError, naming file and line, for a file that cannot be read to its end, a line that
    is too long or not UTF-8, articles within articles and text outside of them, and if there is no
    text at all.
    """
    names = list(paths)
    lines = [line for path in names for line in _read(path)]
    if not any(line and line[0] not in MARKS.values() for line in lines):
        raise InputError(f"{', '.join(map(str, names))}: contains no text")
    return lines


def token(word: str) -> str:
    """Return a word of plain text in the vocabularies' form: in lower case, with capitals marked,
    and without brackets.

    >>> [token(word) for word in ("The", "N", "(", "2^n")]
    ['^the', '^n', '-LRB-', '2^^n']
    """
    marked = word.replace("^", "^^")
    if marked != marked.lower():
        marked = "".join(
            f"^{letter.lower()}" if letter != letter.lower() else letter for letter in marked
        )
    return marked.replace("(", "-LRB-").replace(")", "-RRB-")


def opening_id(vocabulary: Vocabulary) -> int:
    """Return the id of the token that opens an article, whether or not it occurred in training."""
    return vocabulary.encode((OPENING,))[0]


def encoded(vocabulary: Vocabulary, lines: Iterable[Sequence[str]]) -> Iterator[list[int]]:
    """Yield the ids of each line, with ``<eos>`` at its end unless it is a mark, for a forward
    model."""
    for line in lines:
        ids = vocabulary.encode(line)
        yield ids[:-1] if is_mark(line) else ids


def is_mark(line: Sequence[str]) -> bool:
    """Return whether a line is the beginning or the end of an article."""
    return len(line) == 1 and line[0] in (OPENING, CLOSING)


def tokens_of(words: Iterable[str], known: dict[str, str]) -> Line:
    """Return the tokens of words; ``known`` caches them, so that equal tokens share one string."""
    return tuple(
        known[word] if word in known else known.setdefault(word, token(word)) for word in words
    )


def line_fault(text: str) -> str | None:
    """Return why a line cannot be used, or None."""
    if len(text) > MAX_LINE:
        return f"more than {MAX_LINE:,} characters"
    return encoding_fault(text)


def _read(path: str | os.PathLike[str]) -> Iterator[Line]:
    known: dict[str, str] = {}
    opened = outside = 0  # the line where the article began; the first line of text outside
    has_articles = False
    with open_text(path) as file:
        refuse_other_than_text(file.name, _MARKS.sub("", file.head()))
        number = 0
        for number, text in enumerate(file, 1):
            if fault := line_fault(text):
                raise InputError(f"{file.name}:{number}: {fault}")
            words = split_words(text)
            mark = MARKS.get(words[0]) if len(words) == 1 else None
            if mark == OPENING:
                if outside:
                    raise InputError(f"{file.name}:{outside}: text before the first <article>")
                if opened:
                    raise InputError(
                        f"{file.name}:{number}: <article> within that of line {opened}"
                    )
                opened, has_articles = number, True
            elif mark == CLOSING:
                if not opened:
                    raise InputError(f"{file.name}:{number}: </article> without <article>")
                opened = 0
            elif has_articles and not opened:
                if words:
                    raise InputError(f"{file.name}:{number}: text outside of articles")
                continue
            elif words and not opened:
                outside = outside or number
            yield (mark,) if mark else tokens_of(words, known)
        if file.damage is not None:
            raise InputError(
                f"{file.name}:{number + 1}: the file cannot be read to its end: {file.damage}"
            )
    if opened:
        raise InputError(f"{file.name}:{opened}: <article> without </article>")
