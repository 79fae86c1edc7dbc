"""Bodies of requests as the models of ``schemas``, within limits."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from reranker.files.json_text import repeated
from reranker.service.errors import RequestError
from reranker.service.limits import Limits
from reranker.service.requests.schemas import FORMS, Asked, Forms

# Characters of an unknown field that are compared with the names of the known fields.
_LONGEST_NAME = 40

# A string without an end is the rest of the body: looking for another one within it would begin
# at each of its escaped quotes.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def check_size(body: bytes, media: str, limits: Limits) -> None:
    """Raise RequestError 422 for a body of too many values and names, or lines, before anything is
    made of the body: a million empty strings are 3 MB of JSON and seconds of work."""
    most = limits.max_values
    if media == "text/plain":
        check_lines(body.count(b"\n"), limits)
    elif _count(body) > most and _count_outside_strings(body, most) > most:
        raise limits.exceeded("max_values", f"a body of more than {most} values", None)


def check_lines(lines: int, limits: Limits) -> None:
    """Raise RequestError 422 for an n-best text of too many lines."""
    many = f"a text of more than {limits.max_values} lines"
    limits.check("max_values", lines, many, "nbest")


def _count(text: bytes) -> int:
    """Count the values and names in JSON, and the text within strings that looks like one."""
    return sum(text.count(mark) for mark in (b",", b":", b"[", b"{"))


def _count_outside_strings(body: bytes, most: int) -> int:
    """Count the values and names in JSON; counting stops at more than ``most``."""
    count = start = 0
    for string in _STRING.finditer(body):
        count += _count(body[start : string.start()])
        start = string.end()
        if count > most:
            return count
    return count + _count(body[start:])


def parse(path: str, body: bytes, media: str, query: BaseModel | None) -> Asked:
    """Return the request in a body; options of the query are used where the body has none.

    Raises RequestError 400 if the body is not JSON, and 422 for the first field that is not as
    documented.
    """
    forms = FORMS[path]
    if media == "text/plain":
        field = forms.text
        assert field is not None
        if field == "nbest" and not body.strip():
            raise RequestError(422, "unreadable", "the body is empty", field)
        text = body.decode("utf-8", "surrogateescape")
        kind: Any = forms.models[field]
        given: Asked = kind.model_construct(None, **{field: text})
    else:
        given = _parse_json(forms, body)
    options = query.model_dump(exclude_unset=True) if query else {}
    fields = type(given).model_fields
    for name in options.keys() - fields.keys():
        raise unknown([name], fields)
    missing = fields.keys() - given.model_fields_set
    return given.model_copy(update={name: options[name] for name in missing & options.keys()})


def _parse_json(forms: Forms, body: bytes) -> Asked:
    try:
        asked: Asked = forms.adapter.validate_json(body)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        first = errors[0]
        if first["type"] == "json_invalid":
            raise RequestError(400, "malformed-json", first["msg"]) from error
        if first["type"] == "missing" and len(first["loc"]) == 2 and not forms.is_one:
            # A body in none of the forms: the field that it has tells more than one that it lacks.
            extra = [each for each in errors if each["type"] == "extra_forbidden"]
            first = min(extra, key=lambda each: forms.has_field(each["loc"][-1]), default=first)
        place, fields = forms.place(first["loc"])
        if first["type"] == "extra_forbidden":
            if len(place) == 1 and forms.is_of_sentence(place[0]):
                form = '{"sentences": [{"candidates": [...]}]}'
                raise invalid(place, f"{place[0]} are those of a sentence: {form}") from error
            raise unknown(place, fields) from error
        raise invalid(place, first["msg"]) from error
    _check_names(body)
    return asked


class _Repeated(str):
    """A name that a JSON object has twice; it stands for that object."""


def _check_names(body: bytes) -> None:
    """Raise RequestError 422 for a name that an object has twice: pydantic takes the last one
    silently. The body is JSON that has been validated."""
    found: list[_Repeated] = []

    def made(pairs: list[tuple[str, Any]]) -> Any:
        if (name := repeated(pairs)) is None:
            return dict(pairs)
        found.append(_Repeated(name))
        return found[-1]

    # Numbers stay text: one of 10,000 digits takes long, or is an error.
    read = json.loads(body, object_pairs_hook=made, parse_int=str, parse_float=str)
    if found:
        raise given_twice(_place(read))


def _place(value: Any) -> list[str | int]:
    """Return the place of the first repeated name in JSON; empty if there is none."""
    if isinstance(value, _Repeated):
        return [str(value)]
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    return next(([name, *rest] for name, part in parts if (rest := _place(part))), [])


def invalid(place: Sequence[str | int], message: str) -> RequestError:
    """Return a 422 for the field at ``place``."""
    return RequestError(422, "invalid", message, ".".join(map(str, place)) or None)


def given_twice(place: Sequence[str | int]) -> RequestError:
    """Return a 422 for the field at ``place``, which has two values."""
    return invalid(place, f"{str(place[-1])[:_LONGEST_NAME]!r} is given twice")


def unknown(place: Sequence[str | int], fields: Iterable[str]) -> RequestError:
    """Return a 422 for the field at ``place``, which is none of the known ``fields``."""
    name = str(place[-1])[:_LONGEST_NAME]
    near = difflib.get_close_matches(name, fields, 1)
    known = f"is {near[0]!r} meant?" if near else f"there are {', '.join(fields) or 'none'}"
    return invalid(place, f"there is no field {name!r} here: {known}")
