"""Bodies for ``/parse`` -> sentences, read by the same functions as the commands' files.

A sentence that cannot be read fails alone. The request fails only at a limit, or for a text without
words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reranker.errors import InputError
from reranker.languages import language_name
from reranker.process.cancellation import Cancellation
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests import schemas
from reranker.text.given import GivenText
from reranker.text.given import sentences as given_sentences
from reranker.text.reading import TextSentence

_MOST_WARNINGS = 20


def read_sentences(
    asked: schemas.AnyToParse,
    limits: Limits,
    warn: Callable[[str], None],
    cancellation: Cancellation,
) -> list[TextSentence]:
    """Return the sentences of a request; call ``warn`` with messages about the layout. Raises
    RequestError, and Stopped if cancelled."""
    language = limits.text_language
    if asked.language not in (None, language):
        message = f"this service parses {language_name(language)}, not {asked.language!r:.20}"
        raise RequestError(422, "wrong-language", message, "language")
    field = next(name for name in ("text", "sentences", "tokens") if hasattr(asked, name))
    given: GivenText = getattr(asked, field)
    characters = _characters(given)
    many = f"a text of {characters} characters"
    limits.check("max_characters", characters, many, field)
    sentences: list[TextSentence] = []
    read = given_sentences(
        given,
        asked.form if isinstance(asked, schemas.TextToParse) else "text",
        convention=limits.convention,
        longest=limits.longest,
        speakers=asked.speakers,
        has_bytes=True,
        report=warn,
    )
    try:
        for sentence in cancellation.until_cancelled(read):
            sentences.append(sentence)
            many = f"more than {limits.max_sentences} sentences"
            limits.check("max_sentences", len(sentences), many, field)
    except InputError as error:
        raise RequestError(422, "unreadable", str(error), field) from error
    if not any(sentence.sentence.words for sentence in sentences):
        raise RequestError(422, "unreadable", "there are no words in the text", field)
    return sentences


def _characters(given: GivenText) -> int:
    """Count the characters; words have a space between them."""
    if isinstance(given, str):
        return len(given)
    return sum(len(each if isinstance(each, str) else " ".join(each)) for each in given)


def warnings_of(sentences: Iterable[TextSentence]) -> list[str]:
    """Return warnings of characters that were replaced."""
    faults = [
        f"line {each.origin.line}: {each.fault}; U+FFFD is in its place"
        for each in sentences
        if each.fault
    ]
    if len(faults) > _MOST_WARNINGS:
        others = len(faults) - _MOST_WARNINGS
        faults[_MOST_WARNINGS:] = [f"{others} more sentences have such characters"]
    return faults
