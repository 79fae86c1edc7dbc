"""What is in a body: n-best lists, or sentences to parse or to read. It runs in a reading child."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import TypeAdapter

from reranker.nbest import NBest
from reranker.process.cancellation import Cancellation
from reranker.service.errors import over_limit
from reranker.service.requests import bodies, schemas
from reranker.service.requests.lists import read_lists, read_trees
from reranker.service.requests.texts import read_sentences, warnings_of
from reranker.service.settings import Settings
from reranker.text.reading import TextSentence

_SCORE_BODY = TypeAdapter(schemas.ScoreRequest)

Path = Literal["/rerank", "/parse", "/score", "/surprisal", "/validate"]
Asked = schemas.AnyRequest | schemas.AnyToParse | schemas.AnyToRead | schemas.ScoreRequest


class Body(NamedTuple):
    """A body, and what it is for."""

    path: Path
    content: bytes
    media: str
    query: schemas.QueryOptions | schemas.ParseQuery | schemas.SurprisalQuery | None
    """Options that are used where the body has none; ``/score`` has none."""


class Contents(NamedTuple):
    """What was in a body."""

    asked: Asked
    """The options; not what is in the lists or sentences."""
    lists: list[NBest]
    sentences: list[TextSentence]
    """For ``/parse`` and ``/surprisal``, instead of lists."""
    warnings: list[str]
    files: list[dict[str, str]]
    """Name and format of the texts, for ``/validate``."""


def read(body: Body, settings: Settings, cancellation: Cancellation) -> Contents:
    """Raises RequestError, and Stopped if cancelled."""
    bodies.check_size(body.content, body.media, settings.max_values)
    warnings: list[str] = []
    files: list[dict[str, str]] = []
    asked: Asked
    lists: list[NBest] = []
    sentences: list[TextSentence] = []
    if isinstance(body.query, schemas.ParseQuery):
        asked = bodies.parse_text(body.content, body.media, body.query)
        sentences = read_sentences(asked, settings, cancellation)
    elif isinstance(body.query, schemas.SurprisalQuery):
        asked = bodies.parse_text_to_read(body.content, body.media, body.query)
        if asked.beam > settings.max_beam:
            raise over_limit("max_beam", settings.max_beam, f"a beam of {asked.beam}", "beam")
        sentences = read_sentences(asked, settings, cancellation)
    elif body.path == "/score":
        asked = bodies.parse(_SCORE_BODY, body.content)
        lists = read_trees(asked, settings, cancellation)
    else:
        asked = bodies.parse_lists(body.content, body.media, body.query)
        lists = read_lists(asked, settings, warnings.append, files.append, cancellation)
    warnings += warnings_of(sentences)
    given = {"nbest": "", "text": "", "sentences": [], "documents": [], "texts": [], "trees": []}
    if sentences:
        given["tokens"] = []
    unneeded = {name: none for name, none in given.items() if name in type(asked).model_fields}
    return Contents(asked.model_copy(update=unneeded), lists, sentences, warnings, files)
