"""Texts given from Python or in a request, rather than in files: running text, a list of sentences,
or a list of lists of words."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, get_args

from reranker.errors import InputError, KindError, positive
from reranker.files.kinds import kind_of
from reranker.files.text import TextInMemory
from reranker.languages import UNSPACED
from reranker.nbest.data import Origin, Sentence
from reranker.nbest.words import printable, split_words
from reranker.text.conventions import CONVENTIONS, Convention
from reranker.text.reading import Text, TextSentence, other_than_text
from reranker.text.splitting import Reading, TextForm

logger = logging.getLogger(__name__)

GivenText = str | Sequence[str] | Sequence[Sequence[str]]
TextOrFile = GivenText | os.PathLike[str]
"""A path is the file of a running text."""

_NOT_A_WORD = re.compile(rf"\s|{UNSPACED.pattern}")  # Chinese sentences have no spaces
_PUNCTUATION = re.compile(r"[^\w\s]+")
_END = re.compile(r"\w[.!?]$")
_EXAMINED = 200  # the sentences of a list whose kind is examined
_BYTE_ORDER_MARK = "\ufeff"
_CHOICES: Mapping[Reading, str] = {
    "prose": "form 'prose'",
    "sentences": "form 'sentences'",
    "no speakers": "speakers false",
}
"""The options of Python's functions and of requests that choose readings."""
_log = partial(logger.info, "%s")


def checked_text(text: TextOrFile) -> str | os.PathLike[str] | list[str] | list[list[str]]:
    """Return the text or the path of its file, or lists of its sentences or of their words. Raises
    InputError for anything else."""
    expected = "expected a text as a string, a list of strings or a list of lists of words"
    if isinstance(text, str | os.PathLike):
        return text
    if not isinstance(text, Iterable):
        raise InputError(f"{expected}, got {text!r:.60}")
    given = list(text)
    sentences = [each for each in given if isinstance(each, str)]
    if len(sentences) == len(given):
        return sentences
    words = [
        list(each) for each in given if isinstance(each, Iterable) and not isinstance(each, str)
    ]
    if len(words) < len(given) or not all(isinstance(word, str) for each in words for word in each):
        raise InputError(f"{expected}, got {text!r:.60}")
    return words


def warn_about_text(text: object) -> None:
    """Give a UserWarning if a text is the name of a file, and if a list of sentences looks like the
    words of one: no string has white space, and punctuation is not joined to words."""
    if isinstance(text, str) and os.path.isfile(text):
        warnings.warn(
            f"{text!r} is read as a sentence, but there is a file of this name; Path({text!r}) "
            "stands for the file",
            stacklevel=4,
        )
    strings = [each for each in text if isinstance(each, str)] if isinstance(text, list) else []
    if len(strings) < 2 or any(map(_NOT_A_WORD.search, strings)):
        return
    if any(map(_PUNCTUATION.fullmatch, strings)) or not any(map(_END.search, strings)):
        warnings.warn(
            f"{len(strings)} strings are {len(strings)} sentences, and each of these is one word, "
            f"such as {strings[0]!r:.60}; one sentence of these words is a list in a list: [words]",
            stacklevel=4,
        )


def sentences(
    text: TextOrFile,
    form: TextForm = "text",
    convention: Convention = "gum",
    longest: int = 200,
    *,
    speakers: bool | None = None,
    has_bytes: bool = False,
    report: Callable[[str], None] = _log,
) -> Iterator[TextSentence]:
    """Yield the sentences of a text; one that cannot be read has a ``problem``.

    ``form`` is the layout of running text or of the file of a path. A list has one sentence in each
    entry; lines count from 1, and offsets from the start of the entry, or of its words with a space
    between them. ``speakers`` says whether names before a colon are speakers; None: the text
    decides. ``report`` is called with messages about the layout of a text, and with the first one
    about a list.

    Raises InputError for anything but a text, for an unknown form or convention, for speakers in
    tokens, and if ``longest`` is not a positive integer; KindError for text that looks like another
    kind of file.
    """
    for name, value, known in (
        ("form", form, get_args(TextForm)),
        ("words", convention, CONVENTIONS),
    ):
        if value not in known:
            raise InputError(f"{name} must be {' or '.join(known)}, got {value!r:.40}")
    positive("longest", longest)
    if speakers not in (None, True, False):
        raise InputError(f"speakers must be True, False or None, got {speakers!r:.40}")
    if speakers and form == "tokens":
        raise InputError("speakers is not for form 'tokens', which are all words")
    told: list[str] = []

    def tell(message: str) -> None:
        if not told or isinstance(given, str):
            told.append(message)
            report(message)

    def read(text: str, form: TextForm, *, is_known: bool = True) -> Iterator[TextSentence]:
        # A byte order mark would be left out, and every offset would be one too small.
        if text.startswith(_BYTE_ORDER_MARK):
            text = " " + text[1:]
        errors = "surrogateescape" if has_bytes else "strict"
        content = (text if has_bytes else printable(text)).encode("utf-8", errors)
        file = TextInMemory(content, "text")
        options: dict[str, Any] = {"speakers": speakers, "report": tell, "choices": _CHOICES}
        return iter(Text([file], form, convention, longest, is_known=is_known, **options))

    given = checked_text(text)
    if isinstance(given, os.PathLike):
        options: dict[str, Any] = {"speakers": speakers, "report": report, "choices": _CHOICES}
        yield from Text([given], form, convention, longest, **options)
        return
    if isinstance(given, str):
        yield from read(given, form, is_known=False)
        return
    if len(given) > 2:  # the lines of a file, perhaps
        lines = "\n".join(each for each in given[:_EXAMINED] if isinstance(each, str))
        if file_kind := kind_of(printable(lines)):
            raise KindError(f"text: not text: looks like {file_kind.described('text')}")
    for number, each in enumerate(given, 1):
        if isinstance(each, str):
            kind: TextForm = "tokens" if form == "tokens" else "sentences"
            only = _one(each, read(_on_one_line(each), kind), number)
            other = other_than_text(printable(each))
            yield only._replace(problem=f"not text: looks like {other}") if other else only
        else:
            joined = " ".join(each)
            only = _one(joined, read(_on_one_line(joined), "tokens"), number)
            yield only._replace(problem=_not_one_word(each) or only.problem)


def _on_one_line(text: str) -> str:
    return text.replace("\n", " ")


def _one(text: str, parts: Iterable[TextSentence], number: int) -> TextSentence:
    """Return the only sentence in a text, in line ``number``. A text without words has a problem;
    an overlong sentence that was cut is put together again."""
    sentences = list(parts)
    if not sentences:
        return TextSentence(Sentence(()), Origin("text", number, "", ()), "no words")
    first = sentences[0]
    if len(sentences) > 1:
        words = tuple(word for each in sentences for word in each.sentence.words)
        offsets = tuple(pair for each in sentences for pair in each.origin.offsets)
        spelled = printable(text[offsets[0][0] : offsets[-1][1]])
        first = first._replace(
            sentence=Sentence(words),
            origin=Origin("text", number, spelled, offsets),
            fault=next((each.fault for each in sentences if each.fault), None),
        )
    return first._replace(origin=first.origin._replace(line=number))


def _not_one_word(words: Iterable[str]) -> str | None:
    for word in words:
        if split_words(word) != [word]:
            return f"an entry of 'tokens' is not one word: {word!r:.60}"
    return None
