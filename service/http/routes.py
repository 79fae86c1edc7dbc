"""The functions of the paths.

``/rerank``, ``/parse``, ``/score`` and ``/validate`` read a body; ``/models``,
``/info``, ``/health`` and ``/metrics`` describe the service.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from reranker.nbest import FORMATS
from reranker.nbest.report import Report
from reranker.process.cancellation import Cancellation
from reranker.service import VERSION
from reranker.service.children.scoring import Models
from reranker.service.errors import RequestError
from reranker.service.http import accepting, answers, arrival, streams
from reranker.service.http.envelope import JSONLine
from reranker.service.http.ranked import RankedRequest
from reranker.service.http.request_state import state_of
from reranker.service.http.streams import LINES
from reranker.service.lifecycle import Service
from reranker.service.requests import schemas
from reranker.service.requests.reading import Body, Contents
from reranker.service.scheduling.queue import BATCH_WAIT_SECONDS

JSON = "application/json"

_FORMS = (JSON, "text/plain", answers.CONLLU, answers.TABLE, LINES)  # of the answers of /parse


async def _service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(_service_of)]
"""The service, as a parameter of a route."""

# A header is there or not: no client should read that it may be "null".
Timeout = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False)] | SkipJsonSchema[None],
    Header(
        alias=arrival.TIMEOUT,
        description="seconds until the request is cancelled and answered 504",
    ),
]
Asking = Annotated[schemas.QueryOptions, Query()]
AskingToParse = Annotated[schemas.ParseQuery, Query()]
AskingNothing = Annotated[schemas.NoOptions, Query()]

Fewer = Annotated[
    bool, Query(description="accept fewer models than before, which is an error otherwise")
]

Handler = Callable[[Body, Models, float], Coroutine[None, None, bytes | streams.Lines]]


async def rerank(
    request: Request, service: Running, query: Asking, timeout: Timeout = None
) -> Response:
    """Order the candidates of each sentence, best first.

    The body is JSON in one of four forms, or an n-best text in any dialect as `text/plain`, with
    the options in the query. A candidate that is not a tree is `rejected`; the others are still
    ranked.
    """
    return await _ranked("/rerank", request, service, query, timeout)


async def rerank_as_cohere(
    request: Request, service: Running, query: AskingNothing, timeout: Timeout = None
) -> Response:
    """Order the documents of one list, in the form of version 2 of Cohere's interface."""
    return await _ranked("/v2/rerank", request, service, query, timeout)


async def parse(
    request: Request, service: Running, query: AskingToParse, timeout: Timeout = None
) -> Response:
    """Parse text and rerank the trees of each sentence.

    The body is JSON with a `text`, with `sentences` or with the `tokens` of each, or text as
    `text/plain`, with the options in the query. A sentence that the parser cannot parse gets a flat
    tree (`fallback`), and `rejected` gives the reason. `Accept` chooses JSON, the best trees alone,
    a line for each sentence (`text/plain`), CoNLL-U (`text/x-conllu`), or a table of all brackets
    (`text/tab-separated-values`).
    """
    return await _ranked("/parse", request, service, query, timeout)


async def score(
    request: Request, service: Running, query: AskingNothing, timeout: Timeout = None
) -> Response:
    """Return the log-probability of each tree, in the order given."""
    return await _ranked("/score", request, service, query, timeout)


async def validate(
    request: Request, service: Running, query: Asking, timeout: Timeout = None
) -> Response:
    """Report the contents and the faults of lists; nothing is scored."""
    arrival.check_media_type(request, JSON, "text/plain")

    async def handler(given: Body, models: Models, deadline: float) -> bytes:
        contents = await service.readers.read(given, state_of(request).client)
        return await service.in_thread(partial(_report, contents, models), len(given.content))

    return await _answer("/validate", request, service, query, timeout, handler)


def _report(contents: Contents, models: Models, cancellation: Cancellation) -> bytes:
    report = Report(contents.files)
    members = {member.name: member.vocabulary.is_unknown for member in models.members}
    report.count(cancellation.until_cancelled(contents.lists), members)
    return bytes(JSONLine(asdict(report)).body)


async def reload(request: Request, service: Running, fewer: Fewer = False) -> Any:
    """Load models and keys again; needs an admin key. Requests under way are not disturbed. Fewer
    models than before, since a glob has lost a file, are refused unless `fewer` allows it."""
    service.keys.check_admin(request.headers)
    service.current()
    return {"models": answers.models_of(await service.reload(fewer))}


async def models(service: Running) -> Any:
    """Describe the checkpoints of the ensemble."""
    reranker = service.current()
    return {
        "models": [
            model | {"vocabulary_size": len(member.vocabulary), "parameters": member.parameters}
            for model, member in zip(answers.models_of(reranker), reranker.members, strict=True)
        ],
        "combine": reranker.combination,
    }


async def info(service: Running) -> Any:
    """Return version, models, device, and every limit a request can meet."""
    reranker, settings = service.current(), service.settings
    return {
        "version": VERSION,
        "models": answers.models_of(reranker),
        "combine": reranker.combination,
        "device": reranker.device,
        "precision": reranker.precision,
        "formats": FORMATS,
        "parser": {
            "names": settings.parser_choice.names,
            "language": settings.text_language,
            "words": settings.convention,
        }
        if service.has_parser
        else None,
        "limits": settings.limits,
        "batching": {
            "batch_tokens": settings.batch_tokens,
            "batch_wait_ms": 1000 * BATCH_WAIT_SECONDS,
        },
        "engines": settings.engines,
    }


async def live(service: Running) -> Any:
    """Tell whether the process should be kept running."""
    if not service.is_alive:
        raise RequestError(503, "dead", "scoring cannot be restarted")
    return {"status": "live"}


async def ready(service: Running) -> Any:
    """Tell whether requests are accepted: from a first real score on, under any load."""
    service.check_ready()
    return {"status": "ready"}


async def metrics(service: Running) -> Response:
    """Return counters in Prometheus's text format."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


async def _ranked(
    path: str, request: Request, service: Service, query: BaseModel, timeout: float | None
) -> Response:
    arrival.check_media_type(request, *schemas.FORMS[path].media)
    if path == "/parse":
        form = accepting.chosen(request, _FORMS)
    else:
        form = LINES if streams.are_wanted(request) else JSON
    ranked = RankedRequest(service, state_of(request), form)
    return await _answer(path, request, service, query, timeout, ranked.answer, form)


async def _answer(
    path: str,
    request: Request,
    service: Service,
    query: BaseModel,
    timeout: float | None,
    handler: Handler,
    form: str = JSON,
) -> Response:
    """Answer with the result of ``handler``, which runs until the deadline or until the client is
    gone."""
    settings, state = service.settings, state_of(request)
    seconds = min(timeout or settings.request_seconds, settings.max_request_seconds)
    deadline = state.arrived + seconds
    async with contextlib.AsyncExitStack() as held:
        try:
            models = held.enter_context(service.visit(state.client))
            # Also called for answers that are much longer than their bodies.
            state.reserve = held.enter_context(service.body_bytes.reserved(state.client))
            body = await arrival.read_body(path, request, query, settings, deadline)
            content = await arrival.while_awaited(
                request, handler(body, models, deadline), deadline
            )
        except arrival.ClientGone:
            service.metrics.dropped.labels("disconnect").inc()
            return Response(status_code=499)  # for the log; nobody reads it
        except RequestError as error:
            if error.code == "deadline":
                service.metrics.dropped.labels("deadline").inc()
            raise
        return streams.Answer(content, form, request, service.metrics, deadline, held.pop_all())
