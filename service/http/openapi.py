"""``/openapi.json``: bodies with their examples, answers, errors. ``page/api.js`` shows it as
``/docs``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from reranker.service.http.envelope import JSONLine
from reranker.service.requests import schemas

EXAMPLES: dict[str, Any] = json.loads(
    Path(schemas.__file__).with_name("examples.json").read_bytes()
)
"""A body of each form, by the name of the form's model."""

_REFERENCE = "#/components/schemas/{model}"
_ERRORS = {
    400: "invalid JSON, or bytes that the declared charset does not have",
    401: "missing or invalid key",
    403: "not an admin key, or a web page of another site",
    406: "`Accept` names no form that the answer can have",
    408: "the headers or the body took too long to arrive",
    409: "the new models cannot be loaded; the old ones stay in use",
    413: "the body is too large",
    415: "neither JSON nor plain text, in a charset that is not read, or compressed",
    422: "a field is invalid or exceeds a limit; `param` names it",
    421: "this host name is not served",
    429: "too many requests are waiting; see Retry-After",
    501: "the service has no parser",
    503: "loading, shutting down, or scoring crashed and is restarted; see Retry-After",
    504: "the deadline has passed",
}
_BODY_ERRORS = (400, 401, 403, 408, 413, 415, 421, 422, 429, 503, 504)


def _route(answer: Any, errors: tuple[int, ...], **extra: Any) -> dict[str, Any]:
    """Return arguments of ``app.get`` or ``app.post``; ``extra`` is added to the description."""
    responses: dict[int, Any] = {200: {"model": answer}}
    for status in errors:
        responses[status] = {"model": schemas.ErrorAnswer, "description": _ERRORS[status]}
    return {"response_model": None, "responses": responses, "openapi_extra": extra}


def _body(path: str) -> dict[str, Any]:
    """Return the description of a path's body: JSON in one of its forms, or a text."""
    forms = schemas.FORMS[path]
    models = forms.models.values()
    references = [{"$ref": _REFERENCE.format(model=model.__name__)} for model in models]
    examples = {
        str(model.model_config.get("title", model.__name__)): {"value": EXAMPLES[model.__name__]}
        for model in models
    }
    schema = references[0] if len(references) == 1 else {"anyOf": references}
    content: dict[str, Any] = {"application/json": {"schema": schema, "examples": examples}}
    if (field := forms.text) is not None:
        text = EXAMPLES[forms.models[field].__name__][field]
        content["text/plain"] = {"schema": {"type": "string", "minLength": 1}, "example": text}
    return {"required": True, "content": content}


_RANKED = schemas.RerankAnswer | schemas.DocumentsAnswer
RERANK = _route(_RANKED, _BODY_ERRORS, requestBody=_body("/rerank"))
_LINES = {
    "application/x-ndjson": {
        "schema": {
            "type": "string",
            "description": "with `Accept: application/x-ndjson`, for lists of sentences: an object "
            "a line, `start`, then `sentence` for each as it is ready, then `end`, or `error`",
        }
    }
}
RERANK["responses"][200]["content"] = _LINES
PARSE = _route(schemas.ParseAnswer, (*_BODY_ERRORS, 406, 501), requestBody=_body("/parse"))
PARSE["responses"][200]["content"] = {
    "text/plain": {
        "schema": {"type": "string", "description": "the best tree of each sentence, one per line"}
    },
    "text/x-conllu": {
        "schema": {"type": "string", "description": "CoNLL-U, as `rerank parse --output conllu`"}
    },
    "text/tab-separated-values": {
        "schema": {"type": "string", "description": "as `rerank parse --output brackets`"}
    },
    **_LINES,
}
VALIDATE = _route(schemas.ValidateAnswer, _BODY_ERRORS, requestBody=_body("/validate"))
SCORE = _route(schemas.ScoreAnswer, _BODY_ERRORS, requestBody=_body("/score"))
RELOAD = _route(schemas.ReloadAnswer, (401, 403, 409, 421, 422, 503))
MODELS = _route(schemas.ModelsAnswer, (401, 421, 503))
INFO = _route(schemas.InfoAnswer, (401, 421, 503))
HEALTH = _route(schemas.HealthAnswer, (503,), security=[])
METRICS = _route(str, (401, 421))
METRICS["responses"][200] = {"content": {"text/plain": {"schema": {"type": "string"}}}}


def written(app: FastAPI, has_keys: bool) -> bytes:
    """Return the OpenAPI document, as JSON."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = document["components"]
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "validation")
        for path, forms in schemas.FORMS.items()
        if path in document["paths"]
        for model in forms.models.values()
    ]
    _, definitions = models_json_schema(models, ref_template=_REFERENCE)
    components["schemas"] |= definitions["$defs"]
    for name, example in EXAMPLES.items():
        components["schemas"][name]["examples"] = [example]
    if has_keys:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        document["security"] = [{"bearer": []}, {"header": []}]
    return bytes(JSONLine(document).body)
