"""``--traces``: spans reach a collector, as parts of the client's trace."""

from __future__ import annotations

import gzip
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.service.servers import sentence, serving
from tests.waiting import PATIENCE


class Collector(HTTPServer):
    """A receiver of what an exporter sends over HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.requests: queue.Queue[ExportTraceServiceRequest] = queue.Queue()

    def spans(self) -> Iterator[tuple[str, Span]]:
        """Yield each span with its service's name, as they come."""
        while True:
            for of_service in self.requests.get(timeout=PATIENCE).resource_spans:
                names = {one.key: one.value.string_value for one in of_service.resource.attributes}
                for scope in of_service.scope_spans:
                    for span in scope.spans:
                        yield names["service.name"], span


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.requests.put(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        threading.Thread(target=collector.serve_forever, args=(0.01,), daemon=True).start()
        yield collector
        collector.shutdown()


def test_a_request_is_a_span_of_the_clients_trace(models: list[str], collector: Collector) -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with (
        serving(
            models,
            "--traces",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}",
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
        for service, span in collector.spans():
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
