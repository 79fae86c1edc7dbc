"""``--traces``: spans reach a collector, as parts of the client's trace."""

from __future__ import annotations

import gzip
import queue
from collections.abc import Iterator
from typing import ClassVar

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.answering import Answers, answering
from tests.service.servers import sentence, serving
from tests.waiting import PATIENCE


class Collector(Answers):
    """A receiver of what an exporter sends over HTTP."""

    requests: ClassVar[queue.Queue[ExportTraceServiceRequest]] = queue.Queue()

    def do_POST(self) -> None:
        body = self.body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.requests.put(ExportTraceServiceRequest.FromString(body))
        self.answer()


def spans() -> Iterator[tuple[str, Span]]:
    """Yield each span with its service's name, as they come."""
    while True:
        for of_service in Collector.requests.get(timeout=PATIENCE).resource_spans:
            names = {one.key: one.value.string_value for one in of_service.resource.attributes}
            for scope in of_service.scope_spans:
                for span in scope.spans:
                    yield names["service.name"], span


@pytest.fixture
def collector() -> Iterator[int]:
    """Yield the port of a collector."""
    with answering(Collector) as port:
        yield port


def test_a_request_is_a_span_of_the_clients_trace(models: list[str], collector: int) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with (
        serving(
            models,
            "--traces",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector}",
            OTEL_BSP_SCHEDULE_DELAY="50",  # milliseconds
        ) as server,
        server.client() as http,
    ):
        http.get("/health/ready")
        http.post(
            "/rerank",
            json={"sentences": [sentence("We", "saw", "it")]},
            headers={"traceparent": f"00-{trace}-{parent}-01"},
        )
        found: dict[str, tuple[str, Span]] = {}
        for service, span in spans():
            found[span.name] = service, span
            if "POST /rerank" in found:
                break
    service, span = found["POST /rerank"]
    assert service == "parse-reranker"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (trace, parent)
    values = {one.key: one.value for one in span.attributes}
    assert values["http.status_code"].int_value == 200
    assert not any("health" in name for name in found)
    assert "saw" not in str(span)  # no text of users
