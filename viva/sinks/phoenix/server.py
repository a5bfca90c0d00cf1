"""A Phoenix server as Viva writes to it: annotations by its light client, spans by OTLP over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from viva.adapters.calls import describe
from viva.errors import SetupError
from viva.recordings.spans.phoenix import make_client, split_source
from viva.records.redact import redact, redact_start
from viva.sinks.phoenix.annotations import Annotation

AT_ONCE = 500
"""Annotations in one request."""
IDS_AT_ONCE = 50
"""Ids in the address of one request."""
PATIENCE = 15.0
"""Seconds until spans that were sent must be in the server's database."""
T = TypeVar("T")


class PhoenixError(Exception):
    """A Phoenix server cannot be reached, or refuses. Says which and why."""


class PhoenixServer:
    """One project of a server."""

    def __init__(self, source: str) -> None:
        """Args:
            address: `http://host:6006#project`.

        Raises:
            SetupError: it is not an address, or the client is not installed.
        """
        self.address, self.project, filters = split_source(source)
        if filters:
            raise SetupError(f"phoenix:{redact(source)}: an address to write to cannot have filters.")
        self._client = make_client(self.address)

    def __str__(self) -> str:
        return f"{self.address}#{self.project}"

    def annotate(self, annotations: Iterable[Annotation], *, patient: bool = False) -> int:
        """Write annotations of spans and traces; those that are there already are replaced. Return their number.

        Args:
            annotations: Any number; a few hundred are held at once.
            patient: Whether to wait, for a while, until the server knows the spans.

        Raises:
            PhoenixError: the server cannot be reached, or does not have one of the spans or traces.
        """
        written = 0
        for batch in _batches(annotations, AT_ONCE):
            spans = [each.plain() for each in batch if each.span is not None]
            traces = [each.plain() for each in batch if each.span is None]
            if spans:
                written += len(self._ask(lambda: self._log_spans(spans), patient))  # noqa: B023 - called at once
            if traces:
                written += len(self._ask(lambda: self._log_traces(traces), patient))  # noqa: B023 - called at once
        return written

    def count(self, annotations: Iterable[Annotation]) -> int:
        """Read annotations back, and count those that the server has exactly so.

        Raises:
            PhoenixError: the server cannot be reached.
        """
        return sum(self._found(batch) for batch in _batches(annotations, IDS_AT_ONCE))

    def send(self, spans: bytes) -> None:
        """Send spans, an OTLP `ExportTraceServiceRequest`.

        Raises:
            PhoenixError: the server cannot be reached, or refuses them.
        """
        headers = {"content-type": "application/x-protobuf"}
        self._ask(lambda: self._post("v1/traces", spans, headers))

    def _log_spans(self, data: list[dict[str, Any]]) -> list[Any]:
        return list(self._client.spans.log_span_annotations(span_annotations=data, sync=True) or ())

    def _log_traces(self, data: list[dict[str, Any]]) -> list[Any]:
        return list(self._client.traces.log_trace_annotations(trace_annotations=data, sync=True) or ())

    def _post(self, path: str, content: bytes, headers: dict[str, str]) -> None:
        # The client has no method of its own for OTLP, but it has the key and the address.
        self._client._client.post(path, content=content, headers=headers).raise_for_status()

    def _found(self, batch: Sequence[Annotation]) -> int:
        wanted = {_key(each.plain()) for each in batch}
        spans = sorted({each.span for each in batch if each.span is not None})
        traces = sorted({each.trace for each in batch if each.span is None})
        there: list[Any] = []
        if spans:
            there += self._ask(
                lambda: self._client.spans.get_span_annotations(span_ids=spans, project_identifier=self.project)
            )
        if traces:
            there += self._ask(lambda: list(self._trace_annotations(traces)))
        return len(wanted & {_key(each) for each in there})

    def _trace_annotations(self, traces: Sequence[str]) -> Iterator[Any]:
        """Read them page by page; the client has no method for it."""
        cursor = None
        while True:
            given = {"trace_ids": traces, "limit": 1000, **({"cursor": cursor} if cursor else {})}
            path = f"v1/projects/{self.project}/trace_annotations"
            answer = self._client._client.get(path, params=given)
            answer.raise_for_status()
            page = answer.json()
            yield from page.get("data", ())
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def _ask(self, call: Callable[[], T], patient: bool = False) -> T:
        import httpx

        until = time.monotonic() + PATIENCE
        pause = 0.05
        while True:
            try:
                return call()
            except httpx.HTTPStatusError as error:
                code, said = error.response.status_code, redact_start(error.response.content, 300)
                if code == 404 and patient and time.monotonic() < until:
                    time.sleep(pause)
                    pause = min(1.0, pause * 2)
                    continue
                why = _WORDS.get(code, f"it answered with the status {code}: {said}")
                raise PhoenixError(f"Phoenix at {self}: {why}") from error
            except httpx.HTTPError as error:
                raise PhoenixError(f"Phoenix at {self} cannot be reached: {describe(error)}") from error


_WORDS = {
    401: "it refuses access; set PHOENIX_API_KEY",
    403: "it refuses access; set PHOENIX_API_KEY",
    404: "it does not have all of these spans, or has no such project",
}


def _key(plain: Any) -> tuple[Any, ...]:
    result = plain.get("result") or {}
    where = plain.get("span_id") or plain.get("trace_id")
    return where, plain.get("name"), plain.get("identifier"), result.get("label"), result.get("score")


def _batches(items: Iterable[Annotation], size: int) -> Iterator[list[Annotation]]:
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch
