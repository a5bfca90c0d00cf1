"""A real OTLP receiver for tests, over HTTP and gRPC: keeps what exporters send, as the protocol's own messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2_grpc as logs_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc


@dataclass
class Received:
    """What arrived."""

    endpoint: str = ""
    protocol: str = ""
    spans: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    logs: list[Any] = field(default_factory=list)
    services: set[str] = field(default_factory=set)

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which an exporter sends here."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": self.protocol,
            "OTEL_EXPORTER_OTLP_INSECURE": "true",
        }

    def take(self, request: Any) -> None:
        """Keep a request of any of the three kinds."""
        for group in getattr(request, "resource_spans", ()):
            self._note(group.resource)
            self.spans += [span for scope in group.scope_spans for span in scope.spans]
        for group in getattr(request, "resource_metrics", ()):
            self.metrics += [metric for scope in group.scope_metrics for metric in scope.metrics]
        for group in getattr(request, "resource_logs", ()):
            self.logs += [record for scope in group.scope_logs for record in scope.log_records]

    def _note(self, resource: Any) -> None:
        self.services |= {str(attributes(resource).get("service.name"))}

    def in_trace(self, trace_id: str | None) -> dict[str, Any]:
        """The spans of a trace, by name; the last of each name."""
        return {span.name: span for span in self.spans if span.trace_id.hex() == trace_id}

    def points(self, name: str) -> list[Any]:
        """The data points of a metric, as they were sent last: they are cumulative."""
        metric = next((metric for metric in reversed(self.metrics) if metric.name == name), None)
        return [] if metric is None else list(getattr(metric, metric.WhichOneof("data")).data_points)

    def unit(self, name: str) -> str:
        """The unit of a metric."""
        return next(metric.unit for metric in self.metrics if metric.name == name)


def attributes(thing: Any) -> Mapping[str, Any]:
    """The attributes of a span, an event, a data point or a resource."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in thing.attributes}


REQUESTS = {
    "/v1/traces": (trace.ExportTraceServiceRequest, trace.ExportTraceServiceResponse),
    "/v1/metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
    "/v1/logs": (logs.ExportLogsServiceRequest, logs.ExportLogsServiceResponse),
}


@contextmanager
def http_receiver() -> Iterator[Received]:
    """Receive over HTTP."""
    received = Received(protocol="http/protobuf")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request, response = REQUESTS[self.path]
            received.take(request.FromString(self.rfile.read(int(self.headers["Content-Length"]))))
            body = response().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    received.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def grpc_receiver() -> Iterator[Received]:
    """Receive over gRPC."""
    received = Received(protocol="grpc")

    def servicer(base: type[Any], response: type[Any]) -> Any:
        def export(self: object, request: Any, context: object) -> Any:
            received.take(request)
            return response()

        return type("Servicer", (base,), {"Export": export})()

    server = grpc.server(futures.ThreadPoolExecutor(2))
    kinds = (
        (trace_grpc.add_TraceServiceServicer_to_server, trace_grpc.TraceServiceServicer, "/v1/traces"),
        (metrics_grpc.add_MetricsServiceServicer_to_server, metrics_grpc.MetricsServiceServicer, "/v1/metrics"),
        (logs_grpc.add_LogsServiceServicer_to_server, logs_grpc.LogsServiceServicer, "/v1/logs"),
    )
    for add, base, path in kinds:
        add(servicer(base, REQUESTS[path][1]), server)
    port = server.add_insecure_port("127.0.0.1:0")
    received.endpoint = f"http://127.0.0.1:{port}"
    server.start()
    try:
        yield received
    finally:
        server.stop(0).wait()
