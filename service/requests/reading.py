"""The contents of a body: n-best lists, or sentences to parse. A reading child runs this."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel

from reranker.files.encoding import READ_AS_WINDOWS, as_utf8, is_windows
from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.service.limits import Limits
from reranker.service.requests import bodies, schemas
from reranker.service.requests.charsets import decoded
from reranker.service.requests.lists import read_lists, read_trees
from reranker.service.requests.texts import read_sentences, warnings_of
from reranker.text.reading import TextSentence


class Body(NamedTuple):
    """A body, and the path it was sent to."""

    path: str
    content: bytes
    media: str
    query: BaseModel | None
    """Options that are used where the body has none; ``/score`` has none."""
    codec: str | None = None
    """The codec of the declared charset; None if none is declared."""


class Contents(NamedTuple):
    """The contents of a body."""

    asked: schemas.Asked
    """The options of the request, without the lists or sentences."""
    lists: list[NBest]
    sentences: list[TextSentence]
    """Instead of lists, for ``/parse``."""
    warnings: list[str]
    files: list[dict[str, str]]
    """Name and format of the texts, for ``/validate``."""


def read(body: Body, limits: Limits, cancellation: Cancellation) -> Contents:
    """Read a body. Raises RequestError, and Stopped if cancelled."""
    content = decoded(body.content, body.codec, limits)
    bodies.check_size(content, body.media, limits)
    warnings: list[str] = []
    if body.codec is None and is_windows(content):
        content = as_utf8(content)
        warnings.append(f"the body is {READ_AS_WINDOWS}; declare a charset in Content-Type")
    files: list[dict[str, str]] = []
    lists: list[NBest] = []
    sentences: list[TextSentence] = []
    asked = bodies.parse(body.path, content, body.media, body.query)
    if isinstance(asked, schemas.ParseOptions):
        sentences = read_sentences(asked, limits, warnings.append, cancellation)
    elif isinstance(asked, schemas.ScoreRequest):
        lists = read_trees(asked, limits, cancellation)
    else:
        lists = read_lists(asked, limits, warnings.append, files.append, cancellation)
    warnings += warnings_of(sentences)
    given = {"nbest": "", "text": "", "sentences": [], "documents": [], "trees": []}
    if sentences:
        given["tokens"] = []
    unneeded = {name: none for name, none in given.items() if name in type(asked).model_fields}
    return Contents(asked.model_copy(update=unneeded), lists, sentences, warnings, files)
