"""Finds the destination of telemetry: the host's OpenTelemetry providers, or exporters that `OTEL_*`
variables choose."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from viva.errors import SetupError
from viva.records.redact import redact

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

SIGNALS = ("traces", "metrics", "logs")
PROTOCOLS = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
DEFAULT_PROTOCOL = "grpc"
"""The protocol that `opentelemetry-instrument` uses by default."""
QUEUE = 65_536
"""Spans and events that may wait for the exporter, unless `OTEL_BSP_MAX_QUEUE_SIZE` or `OTEL_BLRP_MAX_QUEUE_SIZE` says
otherwise. The spans of a run come all at once, and OpenTelemetry drops what exceeds its default of 2,048."""


class Providers:
    """The three providers, and what it takes to flush and close them."""

    def __init__(self, tracers: TracerProvider, meters: MeterProvider, loggers: LoggerProvider, *, own: bool) -> None:
        """Args:
        tracers: Makes tracers.
        meters: Makes meters.
        loggers: Makes loggers of events.
        own: They belong to the sink, which shuts them down; a host's are only flushed.
        """
        self.tracers, self.meters, self.loggers = tracers, meters, loggers
        self._own = own
        self._complaints = _Complaints() if own else None

    def flush(self, seconds: float) -> None:
        """Wait until everything has been exported.

        Raises:
            TimeoutError: it was not within the time.
            RuntimeError: an exporter failed.
        """
        self._all("force_flush", seconds)
        self._raise_complaint()

    def close(self, seconds: float) -> None:
        """Flush, and shut down what belongs to the sink.

        Raises:
            TimeoutError: not everything was exported within the time.
            RuntimeError: an exporter failed.
        """
        try:
            # A shutdown flushes, too; after a flush of its own, metrics would be exported twice.
            self._all("shutdown" if self._own else "force_flush", seconds)
            self._raise_complaint()
        finally:
            if self._complaints is not None:
                self._complaints.remove()

    def _all(self, method: str, seconds: float) -> None:
        """Call a method of each provider on a thread of its own: not one of them keeps to a time limit by itself."""
        calls = [
            threading.Thread(target=_quietly, args=(getattr(provider, method),), daemon=True, name=f"otel-{method}")
            for provider in (self.tracers, self.meters, self.loggers)
            if callable(getattr(provider, method, None))
        ]
        for call in calls:
            call.start()
        end = time.monotonic() + seconds
        for call in calls:
            call.join(max(0.0, end - time.monotonic()))
        if any(call.is_alive() for call in calls):
            why = self._complaints.words if self._complaints is not None else ""
            raise TimeoutError(f"telemetry was not exported within {seconds:g} s{f' ({why})' if why else ''}")

    def _raise_complaint(self) -> None:
        if self._complaints is not None and self._complaints.words:
            raise RuntimeError(f"telemetry was not exported: {self._complaints.words}")


class _Complaints(logging.Handler):
    """Keeps what exporters log: they return no error, and their lines would break the display of progress."""

    LOGGERS = ("opentelemetry.exporter", "opentelemetry.sdk")

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.words = ""
        for name in self.LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        # A transient error that is followed by a success was none.
        if record.levelno >= logging.ERROR or "dropping" in record.getMessage().lower():
            self.words = self.words or redact(record.getMessage())[:500]

    def remove(self) -> None:
        for name in self.LOGGERS:
            logger = logging.getLogger(name)
            logger.removeHandler(self)
            # Another sink may still be listening.
            logger.propagate = not any(isinstance(each, _Complaints) for each in logger.handlers)


def find_providers() -> Providers:
    """Return the providers that the host has set up, or make the sink's own where it has none.

    Raises:
        SetupError: an exporter that a variable names is not there.
    """
    from opentelemetry import _logs, metrics, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    tracers, meters, loggers = trace.get_tracer_provider(), metrics.get_meter_provider(), _logs.get_logger_provider()
    set_up = [
        not isinstance(tracers, trace.ProxyTracerProvider),
        # The proxies of the other two are not public.
        isinstance(meters, MeterProvider) or not type(meters).__name__.startswith("_Proxy"),
        isinstance(loggers, LoggerProvider) or not type(loggers).__name__.startswith("Proxy"),
    ]
    if any(set_up):
        # A host that sends traces, say, and no metrics has chosen so.
        return Providers(tracers, meters, loggers, own=False)
    assert TracerProvider is not None
    return _own_providers(os.environ)


def _own_providers(environment: Mapping[str, str]) -> Providers:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    exporters = {signal: _exporters(signal, environment) for signal in SIGNALS}
    resource = Resource.create({} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "viva"})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in exporters["traces"]:
        size = None if environment.get("OTEL_BSP_MAX_QUEUE_SIZE") else QUEUE
        tracers.add_span_processor(BatchSpanProcessor(exporter(), max_queue_size=size))
    readers = [
        made if isinstance(made := exporter(), MetricReader) else PeriodicExportingMetricReader(made)
        for exporter in exporters["metrics"]
    ]
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in exporters["logs"]:
        size = None if environment.get("OTEL_BLRP_MAX_QUEUE_SIZE") else QUEUE
        loggers.add_log_record_processor(BatchLogRecordProcessor(exporter(), max_queue_size=size))
    return Providers(tracers, meters, loggers, own=True)


def _exporters(signal: str, environment: Mapping[str, str]) -> list[Callable[[], Any]]:
    """Return the exporter classes of a signal: those of `OTEL_TRACES_EXPORTER` and its like, else OTLP.

    Raises:
        SetupError: there is no exporter of this name.
    """
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    names = [name for part in environment.get(variable, "otlp").split(",") if (name := part.strip())]
    found = []
    for name in names:
        if name == "none":
            continue
        if name == "otlp":
            name = _otlp(signal, environment)  # noqa: PLW2901
        points = list(entry_points(group=f"opentelemetry_{signal}_exporter", name=name))
        if not points:
            raise SetupError(
                f"the sink otel cannot export {signal} to {name!r} ({variable}): no installed package has such an "
                "exporter. Install it, or choose otlp, console or none."
            )
        found.append(points[0].load())
    return found


def _otlp(signal: str, environment: Mapping[str, str]) -> str:
    variables = (f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((environment[name].strip() for name in variables if environment.get(name)), DEFAULT_PROTOCOL)
    if protocol not in PROTOCOLS:
        raise SetupError(
            f"the sink otel cannot export {signal} with the OTLP protocol {protocol!r}: supported are "
            f"{' and '.join(PROTOCOLS)}. Set {variables[-1]}."
        )
    return PROTOCOLS[protocol]


def _quietly(call: Callable[[], object]) -> None:
    try:
        call()
    except Exception as error:
        logging.getLogger(_Complaints.LOGGERS[1]).error("%s: %s", type(error).__name__, error)
