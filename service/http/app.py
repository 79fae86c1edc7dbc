"""``create_app``: the function that answers each path, and the layers that wrap all paths."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from reranker.errors import InputError
from reranker.service import VERSION
from reranker.service.errors import RequestError
from reranker.service.http import arrival, openapi, routes
from reranker.service.http.envelope import JSONLine, envelope, from_http
from reranker.service.http.middleware import HeadAsGet, RequestCheck, RequestLog
from reranker.service.http.pages import add_pages
from reranker.service.http.request_state import state_of
from reranker.service.lifecycle import Service
from reranker.service.requests import schemas
from reranker.service.requests.bodies import invalid, unknown
from reranker.service.settings import Settings

_CORS_HEADERS = ["Authorization", "Content-Type", "X-API-Key", "X-Request-ID", "X-Request-Timeout"]


def create_app(settings: Settings, is_ready_first: bool = False) -> FastAPI:
    """Return the application, which loads the models that the settings name. It answers 503 until
    the models are loaded; with ``is_ready_first`` it does not answer before that.

    ``app.state.service`` is the running ``Service``. Raises InputError if keys cannot be read.
    """
    service = Service(settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        starting = asyncio.ensure_future(service.start())
        # Takes a second, and is the same ever after.
        writing = asyncio.to_thread(openapi.written, app, settings.has_keys)
        app.state.description = asyncio.ensure_future(writing)
        if is_ready_first:
            await starting
        yield
        starting.cancel()
        await service.stop()

    app = FastAPI(
        title="parse-reranker",
        version=VERSION,
        description="Parses text, and reranks the n-best lists of other parsers.",
        lifespan=lifespan,
        dependencies=[Depends(arrival.check_once)],
        openapi_url=None,  # see _add_paths
        docs_url=None,
        redoc_url=None,
        default_response_class=JSONLine,
        # A redirect would go to whatever host the client named, and could take its key along.
        redirect_slashes=False,
    )
    app.state.service = service
    _add_paths(app)
    _add_error_answers(app)
    _add_middleware(app, service)
    return app


def _add_paths(app: FastAPI) -> None:
    app.post("/parse", **openapi.PARSE)(routes.parse)
    app.post("/rerank", **openapi.RERANK)(routes.rerank)
    app.post("/v1/rerank", include_in_schema=False)(routes.rerank)
    app.post("/v2/rerank", include_in_schema=False)(routes.rerank_as_cohere)
    app.post("/score", **openapi.SCORE)(routes.score)
    app.post("/validate", **openapi.VALIDATE)(routes.validate)
    app.post("/models/reload", **openapi.RELOAD)(routes.reload)
    app.get("/models", **openapi.MODELS)(routes.models)
    app.get("/info", **openapi.INFO)(routes.info)
    app.get("/health", include_in_schema=False)(routes.ready)
    app.get("/health/live", **openapi.HEALTH)(routes.live)
    app.get("/health/ready", **openapi.HEALTH)(routes.ready)
    app.get("/metrics", **openapi.METRICS)(routes.metrics)

    @app.get("/openapi.json", include_in_schema=False)
    async def described() -> Response:
        return Response(await app.state.description, media_type="application/json")

    add_pages(app)


def _add_error_answers(app: FastAPI) -> None:
    """Answer every error in the same envelope; ``RequestLog`` answers unexpected errors."""

    @app.exception_handler(RequestError)
    async def refused(request: Request, error: RequestError) -> Response:
        state_of(request).details["code"] = error.code
        return envelope(error, state_of(request).request_id)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        wrong = from_http(error.status_code, error.headers)
        return envelope(wrong, state_of(request).request_id)

    @app.exception_handler(RequestValidationError)
    async def fields(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        kind, *place = first["loc"]  # "query" or "header"; pydantic adds the type of a header
        place = place[:1] if kind == "header" else place
        if first["type"] == "extra_forbidden":
            forms = schemas.FORMS.get(request.url.path, schemas.FORMS["/rerank"])
            wrong = unknown(place, forms.query.model_fields)
        else:
            wrong = invalid(place, first["msg"])
        return envelope(wrong, state_of(request).request_id)


def _add_middleware(app: FastAPI, service: Service) -> None:
    """Add the layers; each wraps the layers before it."""
    settings = service.settings
    app.add_middleware(HeadAsGet)
    app.add_middleware(RequestCheck, service=service)
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=_CORS_HEADERS,
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    paths = {getattr(route, "path", "") for route in app.routes}
    app.add_middleware(RequestLog, service=service, paths=paths)
    if settings.traces:
        _add_traces(app)


def _add_traces(app: FastAPI) -> None:
    """Send OpenTelemetry a span for each request, as part of the client's trace; the environment
    variables ``OTEL_...`` set their destination. Raises InputError if the packages of the extra
    are missing."""
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:
        message = f"{error.name} is not installed; pip install 'parse-reranker[traces]'"
        raise InputError(message) from error
    provider = TracerProvider(resource=Resource.create({"service.name": "parse-reranker"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    FastAPIInstrumentor.instrument_app(app, excluded_urls="health,metrics")
