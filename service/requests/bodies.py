"""Bodies of requests as the models of ``schemas``, within limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from reranker.service.errors import RequestError, over_limit
from reranker.service.requests.schemas import (
    PARSE_BODY,
    RERANK_BODY,
    SURPRISAL_BODY,
    AnyRequest,
    AnyToParse,
    AnyToRead,
    ParseQuery,
    QueryOptions,
    SurprisalQuery,
    TextRequest,
    TextToParse,
    TextToRead,
)

T = TypeVar("T")
Given = TypeVar("Given", bound=BaseModel)

# Names that pydantic adds to a place: the kind of candidate that it took.
_KINDS = {"CandidateEntry", "DocumentEntry", "str"}

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def check_size(body: bytes, media: str, most: int) -> None:
    """Raises RequestError 422 for a body of more than ``most`` values and names, or lines, before
    anything is made of it: a million empty strings are 3 MB of JSON and seconds of work."""
    if media == "text/plain":
        check_lines(body.count(b"\n"), most)
    elif _count(body) > most and _count_outside_strings(body, most) > most:
        many = f"a body of more than {most} values"
        raise over_limit("max_values", most, many, None)


def check_lines(lines: int, most: int) -> None:
    """Raises RequestError 422 for an n-best text of too many lines."""
    if lines > most:
        raise over_limit("max_values", most, f"a text of more than {most} lines", "nbest")


def _count(text: bytes) -> int:
    """The values and names in JSON, and whatever looks like one within its strings."""
    return sum(text.count(mark) for mark in (b",", b":", b"[", b"{"))


def _count_outside_strings(body: bytes, most: int) -> int:
    """The values and names in JSON; counting stops at more than ``most``."""
    count = start = 0
    for string in _STRING.finditer(body):
        count += _count(body[start : string.start()])
        start = string.end()
        if count > most:
            return count
    return count + _count(body[start:])


def parse_lists(body: bytes, media: str, query: QueryOptions | None) -> AnyRequest:
    """A body for ``/rerank``; options of the query are used where the body has none."""
    if media == "text/plain":
        if not body.strip():
            raise RequestError(422, "unreadable", "the body is empty", "nbest")
        text = body.decode("utf-8", "surrogateescape")
        return _with_options(TextRequest.model_construct(None, nbest=text, tokens=None), query)
    return _with_options(parse(RERANK_BODY, body), query)


def parse_text(body: bytes, media: str, query: ParseQuery) -> AnyToParse:
    """A body for ``/parse``; options of the query are used where the body has none."""
    if media == "text/plain":
        text = body.decode("utf-8", "surrogateescape")
        return _with_options(TextToParse.model_construct(None, text=text), query)
    return _with_options(parse(PARSE_BODY, body), query)


def parse_text_to_read(body: bytes, media: str, query: SurprisalQuery) -> AnyToRead:
    """A body for ``/surprisal``, likewise."""
    if media == "text/plain":
        text = body.decode("utf-8", "surrogateescape")
        return _with_options(TextToRead.model_construct(None, text=text), query)
    return _with_options(parse(SURPRISAL_BODY, body), query)


def _with_options(given: Given, query: BaseModel | None) -> Given:
    options = query.model_dump(exclude_unset=True) if query else {}
    missing = type(given).model_fields.keys() - given.model_fields_set
    return given.model_copy(update={name: options[name] for name in missing & options.keys()})


def parse(adapter: TypeAdapter[T], body: bytes) -> T:
    """Raises RequestError 400 if the body is not JSON, and 422 at its first error if it is not as
    documented."""
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise RequestError(400, "malformed-json", first["msg"]) from error
        names = list(first["loc"])
        if adapter in (RERANK_BODY, PARSE_BODY, SURPRISAL_BODY):
            del names[:1]  # the form of the request
        raise invalid([name for name in names if name not in _KINDS], first["msg"]) from error


def invalid(place: Sequence[str | int], message: str) -> RequestError:
    """422 for the field at ``place``."""
    return RequestError(422, "invalid", message, ".".join(map(str, place)) or None)
