"""What goes in and what comes out, field by field; ``/docs`` and ``/openapi.json`` show it.

Requests are strict: an unknown field or a string for a number is an error that names it. The forms
made for clients of other reranking services ignore fields we have no use for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter

from reranker.nbest import FORMATS

Criterion = Literal["perplexity", "token-perplexity"]
if TYPE_CHECKING:
    Format = str
else:
    Format = Literal[("auto", "ptb", *FORMATS)]

_TREES: list[Any] = [
    "(S1 (S (NP (PRP It)) (VP (VBZ runs)) (. .)))",
    "(S1 (NP (NP (PRP It)) (NP (NNS runs)) (. .)))",
]


class _Request(BaseModel):
    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class Options(_Request):
    """How to read and rank; fields of the body, or of the query (the body's win)."""

    format: Format = Field(
        "auto",
        description="dialect of an n-best text, or of the trees in `sentences` (`ptb`: brackets "
        "with part-of-speech nodes); `auto` sees for itself",
    )
    repair: bool | None = Field(
        None, description="mend broken candidates; null: those of seq2seq parsers only"
    )
    beam: int | None = Field(
        None, ge=1, le=10_000, description="lines of a list, where a text does not say"
    )
    top_n: int | None = Field(None, ge=1, description="how many of each ranking to return")
    criterion: Criterion | None = Field(
        None,
        description="per word of the sentence, or per token of the candidate; null: as the "
        "ensemble was tuned, else per word",
    )
    lm_weight: float | None = Field(
        None,
        ge=0,
        le=1,
        description="score = lm_weight * language models + (1 - lm_weight) * parser, in nats; "
        "null: as the ensemble was tuned, else 1",
    )
    return_trees: bool = Field(True, description="give each ranked candidate's tree back")
    return_token_scores: bool = Field(
        False, description="give the log-probability of each token, in nats"
    )


class QueryOptions(Options):
    # Everything in a query is a string.
    model_config = ConfigDict(strict=False)


class Candidate(_Request):
    """A tree, with the parser's natural-log probability if there is one."""

    tree: str
    score: float | None = None


class Sentence(_Request):
    """One sentence's candidates in the parser's order."""

    id: str | None = Field(None, description="its name in the answer; default: its number")
    tokens: list[str] | None = Field(
        None, description="its words; default: those of the first candidate that hides none"
    )
    tags: list[str] | None = Field(None, description="a part-of-speech tag for each word")
    candidates: list[Candidate | str]


class SentencesRequest(Options):
    """Candidates sentence by sentence."""

    model_config = ConfigDict(
        title="Sentences",
        json_schema_extra={
            "examples": [
                {
                    "sentences": [
                        {
                            "id": "s1",
                            "tokens": ["It", "runs", "."],
                            "candidates": [
                                {"tree": _TREES[0], "score": -30.4},
                                {"tree": _TREES[1], "score": -31.9},
                            ],
                        }
                    ],
                    "top_n": 1,
                    "lm_weight": 0.5,
                }
            ]
        },
    )
    sentences: list[Sentence] = Field(min_length=1)


class TextRequest(Options):
    """A whole n-best text, in any dialect the command reads."""

    model_config = ConfigDict(
        title="N-best text",
        json_schema_extra={
            "examples": [{"nbest": f"2\ts1\n-43.9\n{_TREES[0]}\n-46.0\n{_TREES[1]}\n"}]
        },
    )
    nbest: str = Field(min_length=1)
    tokens: str | None = Field(
        None, description="the sentences, one a line, for candidates that hide words"
    )


class _Foreign(BaseModel):
    model_config = ConfigDict(
        extra="ignore", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )
    query: str | None = Field(
        None, description="the sentence; its words are used where the trees hide theirs"
    )
    top_n: int | None = Field(None, ge=1)
    lm_weight: float | None = Field(None, ge=0, le=1)
    criterion: Criterion | None = None


class Document(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)
    text: str
    score: float | None = Field(None, description="the parser's natural-log probability")


class DocumentsRequest(_Foreign):
    """One list in the shape of Cohere's and Jina's rerankers: the documents are trees."""

    model_config = ConfigDict(
        title="One list (Cohere, Jina)",
        json_schema_extra={"examples": [{"query": "It runs .", "documents": _TREES, "top_n": 2}]},
    )
    documents: list[str | Document] = Field(min_length=1)
    return_documents: bool = True


class TextsRequest(_Foreign):
    """One list in the shape of text-embeddings-inference: the texts are trees."""

    model_config = ConfigDict(
        title="One list (text-embeddings-inference)",
        json_schema_extra={"examples": [{"query": "It runs .", "texts": _TREES}]},
    )
    texts: list[str] = Field(min_length=1)
    return_text: bool = False


def _form(body: Any) -> str:
    for name in ("documents", "texts", "nbest"):
        if isinstance(body, dict) and name in body:
            return name
    return "sentences"


ListsRequest = SentencesRequest | TextRequest
AnyRequest = SentencesRequest | TextRequest | DocumentsRequest | TextsRequest

_Lists = Annotated[SentencesRequest, Tag("sentences")] | Annotated[TextRequest, Tag("nbest")]
RERANK_BODY: TypeAdapter[AnyRequest] = TypeAdapter(
    Annotated[
        _Lists
        | Annotated[DocumentsRequest, Tag("documents")]
        | Annotated[TextsRequest, Tag("texts")],
        Discriminator(_form),
    ]
)


class ScoreRequest(_Request):
    """Trees of any sentences."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"trees": _TREES}]})
    trees: list[str] = Field(min_length=1)
    format: Format = "auto"
    criterion: Criterion = "perplexity"
    return_token_scores: bool = False


class Model(BaseModel):
    name: str
    sha256: str


class Ranked(BaseModel):
    """A candidate in its place, best first; docs/output.md has every figure."""

    index: int = Field(description="place in the parser's list, from 0")
    relevance_score: float = Field(description="what orders the list; higher is better")
    nll: float = Field(description="negative log-probability under all models, in nats")
    perplexity: float | None = Field(description="null where it is beyond every number")
    tokens: int
    unknown_words: int
    parser_score: float | None
    duplicate_of: int | None
    repaired: bool
    member_nll: list[float] | None = Field(
        None, description="each model's part of nll, where there are two or more"
    )
    tree: str | None = Field(None, description="with return_trees")
    token_scores: list[tuple[str, float]] | None = Field(
        None, description="with return_token_scores"
    )


class Rejected(BaseModel):
    """What stands in a list but cannot be used, and why (docs/formats.md has the codes)."""

    index: int
    line: int = Field(description="of the n-best text, or number of the sentence, from 1")
    code: str
    message: str


class RankedSentence(BaseModel):
    id: str
    status: Literal["ok", "failed"] = Field(description="failed: no candidate could be used")
    best_index: int | None
    margin: float | None = Field(description="how far the best is ahead of the next different one")
    fallback: str | None = Field(description="if failed: the tree to go on with")
    ranking: list[Ranked]
    rejected: list[Rejected]


class Usage(BaseModel):
    sentences: int
    candidates: int
    rejected: int
    tokens: int = Field(description="language model tokens of all different candidates")
    total_tokens: int = Field(description="the same, under the name other services use")


class _Answer(BaseModel):
    id: str = Field(description="the request's, also in X-Request-ID")
    models: list[Model]
    signature: str = Field(description="what the figures depend on")
    usage: Usage


class RerankAnswer(_Answer):
    sentences: list[RankedSentence]
    warnings: list[str] = Field(description="of reading: for example scores that are no use")


class ResultDocument(BaseModel):
    text: str


class Result(BaseModel):
    index: int
    relevance_score: float
    document: ResultDocument | None = Field(None, description="with return_documents")


class DocumentsAnswer(_Answer):
    """In the shape of Cohere's and Jina's answers, with our additions."""

    model: str
    results: list[Result]
    rejected: list[Rejected]


class TextResult(BaseModel):
    index: int
    score: float
    text: str | None = Field(None, description="with return_text")


class TreeScore(BaseModel):
    """``log_probability`` and what follows are null where ``error`` is not."""

    index: int
    log_probability: float | None = Field(description="under all models, in nats")
    perplexity: float | None
    tokens: int | None
    unknown_words: int | None
    token_scores: list[tuple[str, float]] | None = Field(
        None, description="with return_token_scores"
    )
    error: Rejected | None


class ScoreAnswer(_Answer):
    results: list[TreeScore]


class ValidateAnswer(BaseModel):
    """What `rerank validate --json` prints."""

    files: list[dict[str, str]]
    sentences: int
    without_candidates: int
    candidates: int
    duplicates: int
    repaired: int
    rejected: int
    rejected_by_code: dict[str, int]
    rejected_lines: dict[str, list[str]]
    longest_list: int
    longest_sentence: int
    scored: int
    lowest_score: float | None
    highest_score: float | None
    words: int
    unknown_words: dict[str, int]
    frequent_unknown_words: dict[str, list[str]]


class ModelInformation(Model):
    vocabulary_size: int
    parameters: int


class ModelsAnswer(BaseModel):
    models: list[ModelInformation]
    combine: Literal["sum", "average"]


class InfoAnswer(BaseModel):
    version: str
    models: list[Model]
    combine: Literal["sum", "average"]
    device: str
    precision: str
    formats: dict[str, str]
    limits: dict[str, float]
    batching: dict[str, float]


class HealthAnswer(BaseModel):
    status: Literal["live", "ready"]


class ReloadAnswer(BaseModel):
    models: list[Model]


class ErrorBody(BaseModel):
    code: str
    message: str
    param: str | None
    request_id: str


class ErrorAnswer(BaseModel):
    error: ErrorBody
