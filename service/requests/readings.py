"""Bodies -> n-best lists or sentences: what is counted, parsed and read of a request, wherever that
is done."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.service.requests import bodies, counting, schemas
from reranker.service.requests.lists import read_lists, read_trees
from reranker.service.requests.texts import parse_asked, read_sentences, warnings_of
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_SCORE_BODY = TypeAdapter(schemas.ScoreRequest)

# Bytes that are counted between two looks at whether anybody still waits.
_PIECE = 65_536

Path = Literal["/rerank", "/parse", "/score", "/validate"]
Asked = schemas.AnyRequest | schemas.AnyToParse | schemas.ScoreRequest


class Order(NamedTuple):
    """What is to be read, and what for."""

    path: Path
    body: bytes
    media: str
    query: schemas.QueryOptions | schemas.ParseQuery | None
    """For what the body has no options for; ``/score`` has none."""


class Piece(NamedTuple):
    """Of a long body that is still arriving."""

    number: int
    """Of the body."""
    media: str = ""
    content: bytes = b""
    is_first: bool = False
    is_last: bool = False
    """There is nothing more to count."""


class Reading(NamedTuple):
    """What was in a body."""

    asked: Asked
    """Without what is in the lists or sentences."""
    lists: list[NBest]
    sentences: list[TextSentence]
    """For ``/parse``, instead of lists."""
    warnings: list[str]
    files: list[dict[str, str]]
    """Name and format of the texts, for ``/validate``."""


def read(order: Order, settings: Settings, cancellation: Cancellation) -> Reading:
    """Raises ServiceError, and Stopped if cancelled."""
    count = counting.of(order.media, settings)
    for start in cancellation.checked(range(0, len(order.body), _PIECE)):
        count.feed(order.body[start : start + _PIECE])
    warnings: list[str] = []
    files: list[dict[str, str]] = []
    asked: Asked
    lists: list[NBest] = []
    sentences: list[TextSentence] = []
    if isinstance(order.query, schemas.ParseQuery):
        asked = parse_asked(order.body, order.media, order.query, cancellation)
        sentences = read_sentences(asked, settings, cancellation)
        warnings += warnings_of(sentences)
    elif order.path == "/score":
        asked = bodies.parse(_SCORE_BODY, order.body, cancellation)
        lists = read_trees(asked, settings, cancellation)
    else:
        asked = bodies.parse_lists(order.body, order.media, order.query, cancellation)
        lists = read_lists(asked, settings, warnings.append, files.append, cancellation)
    given = {"nbest": "", "text": "", "sentences": [], "documents": [], "texts": [], "trees": []}
    if sentences:
        given["tokens"] = []
    unneeded = {name: none for name, none in given.items() if name in type(asked).model_fields}
    return Reading(asked.model_copy(update=unneeded), lists, sentences, warnings, files)
