"""``create_app``: the paths of the service. What happens behind them is in ``lifecycle``,
``reading``, ``batching`` and ``answers``."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import Field, TypeAdapter
from pydantic.json_schema import SkipJsonSchema
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from reranker import Reranker
from reranker.nbest import FORMATS, NBest
from reranker.nbest.report import SHOWN_WORDS, Report
from reranker.service import answers, openapi, schemas
from reranker.service.bodies import (
    ClientGone,
    check_media_type,
    invalid,
    media_type,
    parse,
    parse_lists,
    read_body,
    while_awaited,
)
from reranker.service.errors import ServiceError, envelope, from_http, internal
from reranker.service.lifecycle import Service
from reranker.service.lists import read_lists, read_trees
from reranker.service.middleware import Front, KeyCheck
from reranker.service.settings import Settings

_PAGE = Path(__file__).parent / "page"
_SCORE_BODY = TypeAdapter(schemas.ScoreRequest)

# A header is there or not: no client should read that it may be "null".
Timeout = Annotated[
    Annotated[float, Field(gt=0, allow_inf_nan=False)] | SkipJsonSchema[None],
    Header(
        alias="X-Request-Timeout",
        description="seconds until the answer is worth nothing: 504, and the work is dropped",
    ),
]
Options = Annotated[schemas.QueryOptions, Query()]
Job = Callable[[bytes, Reranker, float], Coroutine[None, None, bytes]]


def create_app(reranker: Reranker | None, settings: Settings) -> FastAPI:
    """The application; without ``reranker`` it loads the models that the settings name while it
    already answers 503.

    ``app.state.service`` is the running ``Service``. Raises InputError if keys cannot be read.
    """
    service = Service(reranker, settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.ensure_future(service.start())
        if reranker is not None:
            await starting
        yield
        starting.cancel()
        await service.stop()

    app = FastAPI(
        title="parse-reranker",
        version=answers.VERSION,
        description="Reranks n-best constituency trees with LSTM language models.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    _add_ranking(app, service)
    _add_information(app, service)
    _add_page(app)
    app.openapi = partial(openapi.describe, app, bool(settings.api_keys or settings.api_keys_file))  # type: ignore[method-assign]
    _answer_errors(app)
    app.add_middleware(KeyCheck, service=service)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", "X-Request-Timeout"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    paths = {getattr(route, "path", "") for route in app.routes}
    app.add_middleware(Front, service=service, paths=paths)
    if settings.traces:
        from reranker.service.traces import add_traces

        add_traces(app)
    return app


def _add_ranking(app: FastAPI, service: Service) -> None:
    settings = service.settings

    async def answer(request: Request, timeout: float | None, job: Job) -> Response:
        seconds = min(timeout or settings.request_seconds, settings.max_request_seconds)
        deadline = request.state.arrived + seconds
        try:
            with service.visit() as reranker:
                body = await read_body(request, settings, deadline)
                content = await while_awaited(request, job(body, reranker, deadline), deadline)
        except ClientGone:
            service.metrics.dropped.labels("disconnect").inc()
            return Response(status_code=499)  # for the log; nobody reads it
        except ServiceError as error:
            if error.code == "deadline":
                service.metrics.dropped.labels("deadline").inc()
            raise
        return Response(content, media_type="application/json")

    def note(request: Request, body: bytes, lists: list[NBest]) -> None:
        request.state.details.update(
            sentences=len(lists),
            candidates=sum(len(one.candidates) for one in lists),
            rejected=sum(len(one.rejected) for one in lists),
        )
        if settings.log_text:
            request.state.details["text"] = body[:2000].decode("utf-8", "replace")

    @app.post("/v1/rerank", include_in_schema=False)
    @app.post("/rerank", **openapi.rerank())
    async def rerank(request: Request, query: Options, timeout: Timeout = None) -> Response:
        """Order the candidates of each sentence, best first.

        The body is JSON in one of four forms, or an n-best text in any dialect as `text/plain`,
        with the options in the query. A candidate that is no tree is `rejected`, the others are
        ranked all the same.
        """
        check_media_type(request, "application/json", "text/plain")

        async def job(body: bytes, reranker: Reranker, deadline: float) -> bytes:
            warnings: list[str] = []

            def read() -> tuple[schemas.AnyRequest, list[NBest]]:
                given = parse_lists(body, media_type(request), query)
                return given, read_lists(given, settings, warnings.append)

            given, lists = await service.in_thread(read)
            note(request, body, lists)
            token_scores = getattr(given, "return_token_scores", False)
            scores, tokens = await service.score(reranker, lists, deadline, token_scores)

            def write() -> bytes:
                weighing = reranker.weighing.replaced(given.lm_weight, given.criterion)
                ranked = answers.rankings(reranker, lists, scores, weighing)
                words = sum(len(one.candidates[0].words) for one in lists if one.candidates)
                service.metrics.ranked(ranked, words)
                return answers.rerank_answer(
                    request.state.request_id,
                    reranker,
                    lists,
                    ranked,
                    given,
                    weighing,
                    tokens,
                    warnings,
                )

            return await service.in_thread(write)

        return await answer(request, timeout, job)

    @app.post("/score", **openapi.score())
    async def score(request: Request, timeout: Timeout = None) -> Response:
        """The log-probability of each tree, in the order given."""
        check_media_type(request, "application/json")

        async def job(body: bytes, reranker: Reranker, deadline: float) -> bytes:
            def read() -> tuple[schemas.ScoreRequest, list[NBest]]:
                given = parse(_SCORE_BODY, body)
                return given, read_trees(given, settings)

            given, lists = await service.in_thread(read)
            note(request, body, lists)
            token_scores = given.return_token_scores
            scores, tokens = await service.score(reranker, lists, deadline, token_scores)
            write = partial(
                answers.score_answer,
                request.state.request_id, reranker, lists, scores, given, tokens,
            )  # fmt: skip
            return await service.in_thread(write)

        return await answer(request, timeout, job)

    @app.post("/validate", **openapi.validate())
    async def validate(request: Request, query: Options, timeout: Timeout = None) -> Response:
        """What is in the lists and what is wrong with them; nothing is scored."""
        check_media_type(request, "application/json", "text/plain")

        async def job(body: bytes, reranker: Reranker, deadline: float) -> bytes:
            def report() -> bytes:
                given = parse_lists(body, media_type(request), query)
                return _report(given, reranker, settings)

            return await service.in_thread(report)

        return await answer(request, timeout, job)


def _report(body: schemas.AnyRequest, reranker: Reranker, settings: Settings) -> bytes:
    report = Report()
    unknown: dict[str, Counter[str]] = defaultdict(Counter)
    lists = read_lists(body, settings, lambda _: None, report.files.append)
    for nbest in lists:
        report.add(nbest)
        words = nbest.candidates[0].words if nbest.candidates else []
        for member in reranker.members:
            unknown[member.name].update(filter(member.vocabulary.is_unknown, words))
    for member in reranker.members:
        words_of = unknown[member.name]
        report.unknown_words[member.name] = words_of.total()
        frequent = [word for word, _ in words_of.most_common(SHOWN_WORDS)]
        report.frequent_unknown_words[member.name] = frequent
    return JSONResponse(asdict(report)).body  # type: ignore[return-value]


def _add_information(app: FastAPI, service: Service) -> None:
    settings = service.settings

    @app.post("/models/reload", **openapi.reload())
    async def reload(request: Request) -> Response:
        """Load models and keys anew, with an admin key; nothing that is under way is lost."""
        service.keys.check_admin(request.headers)
        service.current()
        reranker = await service.reload()
        return JSONResponse({"models": answers.models(reranker)})

    @app.get("/models", **openapi.plain(schemas.ModelsAnswer, 503))
    async def models() -> Response:
        """The checkpoints of the ensemble."""
        reranker = service.current()
        found = [
            {
                "name": one.name,
                "sha256": one.sha256,
                "vocabulary_size": len(one.vocabulary),
                "parameters": sum(weight.numel() for weight in one.model.parameters()),
            }
            for one in reranker.members
        ]
        return JSONResponse({"models": found, "combine": reranker.combination})

    @app.get("/info", **openapi.plain(schemas.InfoAnswer, 503))
    async def info() -> Response:
        """Version, models, device, and every limit a request can meet."""
        reranker = service.current()
        return JSONResponse(
            {
                "version": answers.VERSION,
                "models": answers.models(reranker),
                "combine": reranker.combination,
                "device": reranker.device,
                "precision": reranker.precision,
                "formats": FORMATS,
                "limits": settings.limits,
                "batching": {
                    "batch_tokens": settings.batch_tokens,
                    "batch_wait_ms": settings.batch_wait_ms,
                },
            }
        )

    @app.get("/health/live", **openapi.plain(schemas.HealthAnswer, 503))
    async def live() -> Response:
        """Whether the process is worth keeping."""
        if not service.is_alive:
            raise ServiceError(503, "dead", "the scoring thread cannot be brought back")
        return JSONResponse({"status": "live"})

    @app.get("/health/ready", **openapi.plain(schemas.HealthAnswer, 503))
    async def ready() -> Response:
        """Whether requests are taken: after a first real score, and under any load."""
        service.check_ready()
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", **openapi.metrics())
    async def metrics() -> Response:
        """Counters in Prometheus's text format."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        index = _PAGE / "index.html"
        if not index.is_file():
            raise HTTPException(404)
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(openapi.as_html(app.openapi()), media_type="text/html")

    app.mount("/page", StaticFiles(directory=_PAGE, check_dir=False))


def _answer_errors(app: FastAPI) -> None:
    """Every error in the same envelope."""

    @app.exception_handler(ServiceError)
    async def ours(request: Request, error: ServiceError) -> Response:
        request.state.details["code"] = error.code
        return envelope(error, request.state.request_id)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        found = from_http(error.status_code, error.headers)
        return envelope(found, request.state.request_id)

    @app.exception_handler(RequestValidationError)
    async def fields(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        # The place starts with "query" or "header".
        return envelope(invalid(first["loc"][1:], first["msg"]), request.state.request_id)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        return envelope(internal(), request.state.request_id)  # the front logs it
