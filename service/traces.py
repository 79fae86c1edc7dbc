"""OpenTelemetry: a span for each request, as part of the client's trace. The environment variables
``OTEL_...`` say where spans are sent."""

from __future__ import annotations

from fastapi import FastAPI

from reranker.errors import InputError


def add_traces(app: FastAPI) -> None:
    """Raises InputError if the packages of the extra are missing."""
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
