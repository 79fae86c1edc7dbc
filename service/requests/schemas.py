"""The fields of requests and answers; ``/docs`` and ``/openapi.json`` show them.

Requests are strict: an unknown field, or a string for a number, is an error that names it. The form
for clients of Cohere's service also has fields that these clients send and that are ignored here.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    FailFast,
    Field,
    Tag,
    TypeAdapter,
    create_model,
)

from reranker.nbest import FORMATS
from reranker.nbest.report import Report
from reranker.ranking import Criterion
from reranker.text.conventions import Convention
from reranker.text.splitting import TextForm

if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[("auto", "ptb", *FORMATS)]


def _whole(value: Any) -> Any:
    """Return a whole number as an integer: JSON has one kind of number, and its schemas take 3.0
    for an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# In an annotation this comes after the limits; otherwise the description would lack the limits.
_WHOLE = BeforeValidator(_whole)


class _FirstError(FailFast):
    """A list's validation up to the first wrong item: otherwise each of 49,000 items could have an
    error of its own."""

    __hash__ = object.__hash__  # so that the list can be optional


T = TypeVar("T")
_List = Annotated[list[T], _FirstError()]


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class RankOptions(_Strict):
    top_n: Annotated[int, Field(ge=1), _WHOLE] | None = Field(
        None, description="number of candidates to return per ranking"
    )
    criterion: Criterion | None = Field(
        None,
        description="perplexity per word of the sentence, or per token of the candidate; null: "
        "the criterion that the ensemble was tuned with, else per word",
    )
    lm_weight: float | None = Field(
        None,
        ge=0,
        le=1,
        description="score = lm_weight * language models + (1 - lm_weight) * parser, in nats; "
        "null: the weight that the ensemble was tuned with, else 1",
    )


class AnswerOptions(RankOptions):
    """Options of ranking and answers: fields of the body or, where it has none, of the query."""

    return_trees: bool = Field(True, description="return the tree of each ranked candidate")
    return_token_scores: bool = Field(
        False, description="return the log-probability of each token, in nats"
    )
    return_drawings: bool = Field(
        False, description="draw each ranked tree, and name the doubtful bracket of the best"
    )


class ParseOptions(AnswerOptions):
    """Options for texts."""

    language: str | None = Field(
        None,
        description="language of the text, for instance `id`; refused if this service does not "
        "parse it",
    )
    speakers: bool | None = Field(
        None,
        description="whether names before a colon are speakers, no words; null: found by the text, "
        "with a warning",
    )
    return_brackets: bool = Field(
        False, description="return the probability of every bracket that any tree may have"
    )

    @property
    def wants_language_models(self) -> bool:
        """Return whether an option means something to language models alone."""
        return bool(self.criterion or self.return_token_scores) or self.lm_weight is not None


class RunningTextOptions(ParseOptions):
    """Options for running text."""

    form: TextForm = Field(
        "text",
        description="`prose`: no end of a line ends a sentence; `sentences`: one per line; "
        "`tokens`: the same, with a space between words",
    )


class Options(AnswerOptions):
    """The options of answers, and how to read n-best lists."""

    format: Format = Field(
        "auto",
        description="dialect of an n-best text, or of the trees in `sentences` (`ptb`: brackets "
        "with part-of-speech nodes); `auto` detects it",
    )
    repair: bool | None = Field(
        None, description="repair broken candidates; null: those of seq2seq parsers only"
    )
    beam: Annotated[int, Field(ge=1, le=10_000), _WHOLE] | None = Field(
        None, description="lines of each list, for texts that do not mark lists"
    )


class NoOptions(_Strict):
    """The query of a path without options."""


class QueryOptions(Options):
    # Everything in a query is a string.
    model_config = ConfigDict(strict=False)


class ParseQuery(RunningTextOptions):
    model_config = ConfigDict(strict=False)


class CandidateEntry(_Strict):
    """A tree, with the parser's natural-log probability if there is one."""

    tree: str
    score: float | None = None


class CandidateList(_Strict):
    """One sentence's candidates in the parser's order."""

    id: str | None = Field(None, description="name of the list in the answer; default: its number")
    tokens: _List[str] | None = Field(
        None,
        description="words of the sentence; default: those of the first candidate with words",
    )
    tags: _List[str] | None = Field(None, description="a part-of-speech tag for each word")
    candidates: _List[CandidateEntry | str]


class SentencesRequest(Options):
    """Candidates sentence by sentence."""

    model_config = ConfigDict(title="Sentences")
    sentences: _List[CandidateList] = Field(min_length=1)


class TextRequest(Options):
    """A whole n-best text, in any dialect that `rerank --nbest` reads."""

    model_config = ConfigDict(title="N-best text")
    nbest: str = Field(min_length=1)
    tokens: str | None = Field(
        None, description="the sentences, one per line, for candidates that hide their words"
    )


_Ignored = Annotated[Any, Field(description="for Cohere's service; ignored")]


class DocumentEntry(_Strict):
    tree: str = Field(alias="text")
    score: float | None = Field(None, description="the parser's natural-log probability")
    id: _Ignored = None
    title: _Ignored = None


class DocumentsRequest(RankOptions):
    """One list in the form of Cohere's reranker: the documents are trees."""

    model_config = ConfigDict(title="One list (Cohere)")
    query: str | None = Field(
        None, description="the sentence; its words are used if the trees hide theirs"
    )
    documents: _List[DocumentEntry | str] = Field(min_length=1)
    return_documents: bool = True
    model: _Ignored = None
    rank_fields: list[Literal["text"]] | None = Field(
        None, description="fields of the documents that are read: only `text` can be"
    )
    max_chunks_per_doc: _Ignored = None
    max_tokens_per_doc: _Ignored = None
    priority: _Ignored = None


class CohereRequest(DocumentsRequest):
    """One list, to be answered in the form of version 2 of Cohere's interface."""

    return_documents: bool = False


class Forms:
    """The forms that a body may have, by their tags. A body has the form whose tag is one of its
    fields (of several, the first in the alphabet), else the first form. ``query`` has the options
    that are used where a body has none."""

    def __init__(self, query: type[BaseModel], **models: type[_Strict]) -> None:
        default, *others = models
        tags = sorted(others)

        def tag_of(body: Any) -> str:
            fields = body if isinstance(body, dict) else ()
            return next((tag for tag in tags if tag in fields), default)

        self.query, self.models = query, models
        tagged = [Annotated[model, Tag(tag)] for tag, model in models.items()]
        kind: Any = functools.reduce(operator.or_, tagged)
        if tags:
            kind = Annotated[kind, Discriminator(tag_of)]
        self.adapter: TypeAdapter[Any] = TypeAdapter(kind)

    @property
    def text(self) -> str | None:
        """Return the field that a body of plain text fills; None if plain text is refused."""
        return next((tag for tag in ("nbest", "text") if tag in self.models), None)

    @property
    def media(self) -> tuple[str, ...]:
        """Return the media types that a body may have."""
        return ("application/json",) if self.text is None else ("application/json", "text/plain")

    @property
    def is_one(self) -> bool:
        return len(self.models) == 1

    def has_field(self, name: str | int) -> bool:
        """Return whether any of the forms has a field."""
        return any(name in model.model_fields for model in self.models.values())

    def is_of_sentence(self, name: str | int) -> bool:
        """Return whether a field is one of a sentence in a body, not of the body."""
        return "nbest" in self.models and name == "candidates"

    def place(self, location: Sequence[str | int]) -> tuple[list[str | int], list[str]]:
        """Return the place of pydantic's error without the names that pydantic adds, and the fields
        of the object with the error."""
        place = [*location]
        tag = next(iter(self.models)) if self.is_one or not place else str(place.pop(0))
        model = self.models[tag]
        if len(place) > 1:
            named = [_NESTED[name] for name in place if name in _NESTED]
            model = named[-1] if named else CandidateList
        fields = [field.alias or name for name, field in model.model_fields.items()]
        return [name for name in place if name not in _NESTED and name != "str"], fields


_NESTED: dict[str | int, type[_Strict]] = {
    "CandidateEntry": CandidateEntry,
    "DocumentEntry": DocumentEntry,
}


AnyRequest = SentencesRequest | TextRequest | DocumentsRequest


class ScoreRequest(_Strict):
    """Trees of any sentences."""

    model_config = ConfigDict(title="Trees")
    trees: _List[str] = Field(min_length=1)
    format: Format = "auto"
    criterion: Criterion = "perplexity"
    return_token_scores: bool = False


class GivenText(_Strict):
    text: str = Field(min_length=1)


class GivenSentences(_Strict):
    sentences: _List[str] = Field(min_length=1)


class GivenTokens(_Strict):
    tokens: _List[_List[str]] = Field(min_length=1)


class TextToParse(RunningTextOptions, GivenText):
    """Running text, which is split into sentences and words."""

    model_config = ConfigDict(title="Text")


class SentencesToParse(ParseOptions, GivenSentences):
    """One sentence in each string, which is split into words."""

    model_config = ConfigDict(title="Sentences to parse")


class TokensToParse(ParseOptions, GivenTokens):
    """The words of each sentence."""

    model_config = ConfigDict(title="Words to parse")


AnyToParse = TextToParse | SentencesToParse | TokensToParse


Asked = AnyRequest | AnyToParse | ScoreRequest
_LISTS = Forms(
    QueryOptions, sentences=SentencesRequest, nbest=TextRequest, documents=DocumentsRequest
)
FORMS: dict[str, Forms] = {
    "/rerank": _LISTS,
    "/v2/rerank": Forms(NoOptions, documents=CohereRequest),
    "/validate": _LISTS,
    "/parse": Forms(ParseQuery, text=TextToParse, sentences=SentencesToParse, tokens=TokensToParse),
    "/score": Forms(NoOptions, trees=ScoreRequest),
}
"""The forms of body that each path takes."""


class Model(BaseModel):
    name: str
    sha256: str
    kind: Literal["language", "span"]


class _Figures(BaseModel):
    perplexity: float | None = Field(
        description="perplexity of the language models, per word of the sentence; null without a "
        "language model, or if it is too large for a number"
    )
    token_perplexity: float | None = Field(description="the same perplexity, per token")
    span_nll: float | None = Field(
        description="the span models' part of nll; null without a span model"
    )
    token_scores: list[tuple[str, float | None]] | None = Field(
        None,
        description="with return_token_scores: each token and its log-probability under the "
        "language models, in nats",
    )


class RankedCandidate(_Figures):
    """A ranked candidate; docs/output.md describes every field."""

    index: int = Field(description="place in the parser's list, from 0")
    relevance_score: float = Field(description="orders the list; higher is better")
    nll: float = Field(description="negative log-probability under all models, in nats")
    tokens: int
    unknown_words: int
    parser_score: float | None
    duplicate_of: int | None
    repaired: bool
    member_nll: list[float] | None = Field(
        None, description="each model's part of nll, if there are two or more"
    )
    mixed_score: float | None = Field(
        None,
        description="score before the shortlist moved this candidate down; absent otherwise",
    )
    tree: str | None = Field(None, description="with return_trees")
    svg: str | None = Field(
        None,
        description="with return_drawings: the tree; a word has its column in all trees of a "
        "sentence",
    )
    confidence: float | None = Field(
        None, description="with return_drawings: the sentence's, were this its best tree"
    )


class RejectedEntry(BaseModel):
    """An entry of a list that cannot be used, and why (docs/candidates.md has the codes)."""

    index: int
    line: int = Field(description="line of the n-best text, or number of the sentence, from 1")
    code: str
    message: str


class Doubt(BaseModel):
    """The least sure bracket of the best tree, in words."""

    parts: list[str] = Field(
        description="of a sentence; every second part is words of the parsed sentence"
    )
    other: int | None = Field(description="index of a candidate without the bracket")


class RankedSentence(BaseModel):
    id: str
    status: Literal["ok", "failed"] = Field(description="failed: no candidate could be used")
    best_index: int | None
    margin: float | None = Field(
        description="score of the best candidate minus the score of the next different one; null "
        "without another one, or if the difference is too large for a number"
    )
    confidence: float | None = Field(
        description="expected share of right brackets in the best tree; null where the parser "
        "gives brackets no probability (only chart does)"
    )
    better_than_first: float | None = Field(
        description="probability that the best tree has a better F1 than the parser's first; null "
        "if it is the parser's first, if the probability was not fitted for these models and this "
        "weighing, and if there is a confidence"
    )
    fallback: str | None = Field(description="if the status is failed: a flat tree to use instead")
    ranking: list[RankedCandidate]
    rejected: list[RejectedEntry]
    words: str | None = Field(None, description="with return_drawings: with a space between them")
    doubt: Doubt | None = Field(
        None, description="with return_drawings; null where no bracket is in doubt"
    )


class Usage(BaseModel):
    sentences: int
    candidates: int
    rejected: int
    tokens: int = Field(description="language model tokens of all different candidates")
    total_tokens: int = Field(description="the same number, under the name that other services use")


class _Identified(BaseModel):
    id: str = Field(description="identifier of the request, as in X-Request-ID")


class _Models(BaseModel):
    models: list[Model]


class _Answer(_Identified, _Models):
    signature: str = Field(description="everything that the figures depend on")
    usage: Usage


class RerankAnswer(_Answer):
    sentences: list[RankedSentence]
    warnings: list[str] = Field(
        description="warnings from reading, for example about unusable scores"
    )


class SentenceOrigin(BaseModel):
    """The place of a sentence. Offsets count from the start of `text`, else from the start of the
    sentence's own string, or of its words with a space between them."""

    line: int = Field(
        description="line of its first word in `text`, from 1; else its number, from 1"
    )
    text: str
    offsets: list[tuple[int, int]] = Field(
        description="for each word, and so for each leaf of the trees: its first character, and "
        "the character after its last one, from 0"
    )


class Constituent(BaseModel):
    label: str
    parent: int | None = Field(
        description="place of the parent in the array, from 0; null for the root"
    )
    words: tuple[int, int] = Field(
        description="its first word, from 0, and the word after its last one"
    )
    start: int | None = Field(description="its first character, as in `offsets`")
    end: int | None = Field(description="the character after its last one")
    probability: float | None = Field(
        description="P(the tree has this bracket | words); null for the root, and where the parser "
        "gives brackets no probability (only chart does)"
    )


class ParsedSentence(RankedSentence):
    origin: SentenceOrigin
    entropy: float | None = Field(
        description="entropy of the distribution over all trees of the sentence, in nats; null "
        "where the parser gives trees no probability"
    )
    constituents: list[Constituent] | None = Field(
        None, description="of the best tree, parents before children, with return_trees"
    )
    brackets: list[tuple[int, int, str, float]] | None = Field(
        None,
        description="with return_brackets: first word, the word after the last, label, and "
        "P(the tree has this bracket | words) where it is not negligible; null where the parser "
        "gives brackets no probability",
    )


class ParseAnswer(_Answer):
    sentences: list[ParsedSentence]
    warnings: list[str] = Field(
        description="warnings about replaced characters, or another language"
    )


class Result(BaseModel):
    index: int
    relevance_score: float
    document: dict[Literal["text"], str] | None = Field(None, description="with return_documents")


class DocumentsAnswer(_Answer):
    """An answer in the form of Cohere's, with our additions."""

    model: str
    results: list[Result]
    rejected: list[RejectedEntry]


class TreeScore(_Figures):
    """The figures of a tree, null if there is an ``error``."""

    index: int
    log_probability: float | None = Field(description="under all models, in nats")
    tokens: int | None
    unknown_words: int | None
    error: RejectedEntry | None


class ScoreAnswer(_Answer):
    results: list[TreeScore]


_REPORT: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(Report).items()}
ValidateAnswer = create_model(
    "ValidateAnswer", __doc__="What `rerank validate --json` prints.", **_REPORT
)


class ModelInformation(Model):
    vocabulary_size: int
    parameters: int


class ModelsAnswer(BaseModel):
    models: list[ModelInformation]
    combine: Literal["sum", "average"]


class ParserInformation(BaseModel):
    names: list[str] = Field(description="names of the parsers: `chart`, the built-in one")
    language: str = Field(description="language of the texts: a code of ISO 639")
    words: Convention = Field(description="how text is split into words")


class InfoAnswer(_Models):
    version: str
    combine: Literal["sum", "average"]
    device: str
    precision: str
    formats: dict[str, str]
    parser: ParserInformation | None = Field(
        description="the parser of `/parse`; null: there is none"
    )
    limits: dict[str, float]
    batching: dict[str, float]
    engines: int


class HealthAnswer(BaseModel):
    status: Literal["live", "ready"]


class ReloadAnswer(_Models):
    """The models in use from now on."""


class ErrorBody(BaseModel):
    code: str
    message: str
    param: str | None
    request_id: str


class ErrorAnswer(BaseModel):
    error: ErrorBody
