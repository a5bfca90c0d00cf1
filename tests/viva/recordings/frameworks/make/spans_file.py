"""Writes spans into a file in OTLP's JSON, as a collector's file exporter does, without what names this machine."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

NAME = "spans.jsonl"
ROOT = Path(__file__).resolve().parents[5]


class SpansFile(SpanExporter):
    """Appends each batch of spans to a file."""

    def __init__(self, folder: Path) -> None:
        """Begin the file in a folder anew."""
        self._file = folder / NAME
        self._file.write_text("")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append spans."""
        document = MessageToDict(encode_spans(spans))
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in span:
                            span[key] = base64.b64decode(span[key]).hex()
        with self._file.open("a") as out:
            out.write(without_folders(json.dumps(document)) + "\n")
        return SpanExportResult.SUCCESS


def without_folders(text: str) -> str:
    """Replace the folders of this machine: stack traces name them."""
    for folder in (sys.prefix, sys.base_prefix, str(ROOT), str(Path.home())):
        text = text.replace(folder, "/app")
    return text


def provider(folder: Path) -> TracerProvider:
    """Make a tracer provider whose spans are written into a folder."""
    made = TracerProvider(resource=Resource({"service.name": "recorded"}))
    made.add_span_processor(SimpleSpanProcessor(SpansFile(folder)))
    return made


def versions(*packages: str) -> str:
    """Return packages with their versions, for the truth."""
    return ", ".join(f"{package} {version(package)}" for package in packages)
