"""Bodies for ``/parse`` and ``/surprisal`` -> sentences, read by the same functions as the
commands' files.

A sentence that cannot be read fails by itself; only a limit, or a text without words, fails the
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from reranker.files.text import TextInMemory
from reranker.nbest.data import Origin, Sentence
from reranker.nbest.words import printable
from reranker.process.cancellation import Cancellation
from reranker.service.errors import ServiceError, over_limit
from reranker.service.requests import schemas
from reranker.service.settings import Settings
from reranker.text.reading import Text, TextSentence
from reranker.text.splitting import Form
from reranker.text.words import given_words

_MOST_WARNINGS = 20

_BYTE_ORDER_MARK = "\ufeff"


AnyText = schemas.AnyToParse | schemas.AnyToRead


def read_sentences(
    asked: AnyText, settings: Settings, cancellation: Cancellation
) -> list[TextSentence]:
    """The sentences of a request. Raises ServiceError, and Stopped if cancelled."""
    field, given = _given(asked)
    characters = sum(map(len, given))
    if characters > settings.max_characters:
        many = f"a text of {characters} characters"
        raise over_limit("max_characters", settings.max_characters, many, field)
    sentences: list[TextSentence] = []
    for sentence in cancellation.checked(_sentences(asked, given, settings)):
        if len(sentences) == settings.max_sentences:
            many = f"more than {len(sentences)} sentences"
            raise over_limit("max_sentences", settings.max_sentences, many, field)
        sentences.append(sentence)
    if not any(sentence.sentence.words for sentence in sentences):
        raise ServiceError(422, "unreadable", "there are no words in the text", field)
    return sentences


def _given(asked: AnyText) -> tuple[str, list[str]]:
    """The field, and its text or sentences; words have a space between them."""
    if isinstance(asked, schemas.GivenText):
        return "text", [asked.text]
    if isinstance(asked, schemas.GivenSentences):
        return "sentences", asked.sentences
    return "tokens", list(map(" ".join, asked.tokens))


def _sentences(asked: AnyText, given: Iterable[str], settings: Settings) -> Iterator[TextSentence]:
    read = partial(_read, settings=settings)
    if isinstance(asked, schemas.GivenText):
        yield from read(asked.text, "text")
    elif isinstance(asked, schemas.GivenSentences):
        for number, text in enumerate(given, 1):
            yield _one(text, read(_on_one_line(text), "sentences"), number)
    else:
        for number, (text, words) in enumerate(zip(given, asked.tokens, strict=True), 1):
            sentence = _one(text, read(_on_one_line(text), "tokens"), number)
            yield sentence._replace(problem=_not_one_word(words) or sentence.problem)


def _read(text: str, form: Form, settings: Settings) -> Iterator[TextSentence]:
    # A byte order mark would be left out, and every offset be one too small.
    if text.startswith(_BYTE_ORDER_MARK):
        text = " " + text[1:]
    file = TextInMemory(text.encode("utf-8", "surrogateescape"), "text")
    return iter(Text([file], form, settings.words, settings.longest))


def _on_one_line(text: str) -> str:
    return text.replace("\n", " ")


def _one(text: str, parts: Iterable[TextSentence], number: int) -> TextSentence:
    """The only sentence in a text, in line ``number``. One without words has a problem, and one
    that was cut, since it is too long, is put together again."""
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
        if [(0, len(word))] != [(given.start, given.end) for given in given_words(word)]:
            return f"an entry of 'tokens' is not one word: {word!r:.60}"
    return None


def warnings_of(sentences: Iterable[TextSentence]) -> list[str]:
    """Warnings of characters that were replaced."""
    faults = [
        f"line {each.origin.line}: {each.fault}; U+FFFD is in its place"
        for each in sentences
        if each.fault
    ]
    if len(faults) > _MOST_WARNINGS:
        others = len(faults) - _MOST_WARNINGS
        faults[_MOST_WARNINGS:] = [f"{others} more sentences have such characters"]
    return faults
