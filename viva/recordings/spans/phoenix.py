"""Reads `phoenix:http://host:6006#project`: the traces of an Arize Phoenix server, oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from viva.errors import SetupError
from viva.models.keys import checked_key
from viva.recordings.moments import read_moment
from viva.recordings.recording import NothingYet, Recording, RecordingError, SourceNotes
from viva.recordings.spans.files import EVALUATORS, recordings
from viva.recordings.spans.span import Span, read_span
from viva.records.redact import redact

DEFAULT_PROJECT = "default"
PAGE = 100
"""Traces that are asked for at a time: the server's own page."""
SPANS_AT_ONCE = 10
"""Traces whose spans are asked for together; all of their spans, however many these are."""
NO_LIMIT = 10**9
"""The client reads page after page up to its limit, so a limit beyond all spans cuts no trace."""
_FILTERS = ("session", "error", "name", "kind", "status", "until")


class PhoenixReader:
    """Reads `phoenix:URL#PROJECT`."""

    evaluators = EVALUATORS

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read the agent runs of a project, in the order in which their traces began.

        Args:
            source: Address and project. A query narrows it down: `error=true` and `until=TIME` for traces;
                `session=ID`, `name=NAME`, `kind=LLM`, `status=ERROR`, and `KEY=VALUE` with any attribute's key that has
                a dot, for traces that have such a span. The whole of such a trace is read.
            since: Traces that began before are left out.
            told: Takes what is not about a single run.

        Raises:
            SetupError: the client is not installed, or the address or a filter is not valid.
            RecordingError: the server cannot be reached, refuses, or has no such project.
        """
        address, project, filters = split_source(source)
        client = make_client(address)
        until = filters.pop("until", None)
        asked = _Project(client, project, address, filters, since, None if until is None else read_moment(until))
        told = SourceNotes() if told is None else told
        yield from recordings(asked.traces(), f"{address}#{project}", "phoenix", told=told)
        if asked.lost:
            told.lose(f"{address}#{project}: spans left out because they have no ids: {asked.lost}")


def split_source(source: str) -> tuple[str, str, dict[str, str]]:
    """Return the server's address, the project and the filters of a source.

    Raises:
        SetupError: it is not an address, contains a password, or names an unknown filter.
    """
    try:
        parts = urlsplit(source)
    except ValueError as error:
        raise SetupError(f"phoenix:{redact(source)}: not a valid address: {error}.") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SetupError(
            f"phoenix:{redact(source)}: an address is required, as in phoenix:http://localhost:6006#my-project."
        )
    if "@" in parts.netloc:
        # Sources are stored and printed.
        raise SetupError(
            "phoenix: the address must not contain a password or key: set PHOENIX_API_KEY, or PHOENIX_CLIENT_HEADERS "
            "for a server with basic authentication."
        )
    filters = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = [name for name in filters if name not in _FILTERS and "." not in name]
    if unknown:
        known = ", ".join(_FILTERS)
        raise SetupError(f"phoenix: unknown filter {unknown[0]!r}; use {known}, or the key of an attribute.")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), parts.fragment or DEFAULT_PROJECT, filters


def make_client(address: str) -> Any:
    """Make Phoenix's light client. It takes its key from the environment (`PHOENIX_API_KEY`).

    Raises:
        SetupError: it is not installed, or the key cannot be sent.
    """
    try:
        from phoenix.client import Client
    except ImportError as error:
        raise SetupError("phoenix: requires the Phoenix client: pip install 'vivavoce[phoenix]'.") from error
    checked_key("PHOENIX_API_KEY")
    return Client(base_url=address)


class _Project:
    """What is read of one project."""

    def __init__(
        self,
        client: Any,
        project: str,
        address: str,
        filters: Mapping[str, str],
        since: datetime | None,
        until: datetime | None,
    ) -> None:
        self._client = client
        self._project = project
        self._address = address
        self._since = since
        self._until = until
        self.lost = 0
        """Spans without the id of a trace or of their own."""
        self._traces: dict[str, Any] = {}
        if "error" in filters:
            self._traces["error"] = filters["error"].lower() in ("true", "1", "yes", "")
        names = (("name", "name"), ("kind", "span_kind"), ("status", "status_code"))
        self._spans: dict[str, Any] = {option: filters[name] for name, option in names if name in filters}
        attributes = {key: _typed(value) for key, value in filters.items() if "." in key}
        if "session" in filters:
            # Not the server's own filter by session: it has no sessions of spans that came by its REST interface.
            attributes["session.id"] = filters["session"]
        if attributes:
            self._spans["attributes"] = attributes

    def traces(self) -> Iterator[tuple[str, list[Span]]]:
        """Yield each trace with all of its spans, the oldest first."""
        batch: list[str] = []
        for trace_id in self._ids():
            batch.append(trace_id)
            if len(batch) == SPANS_AT_ONCE:
                yield from self._whole(batch)
                batch = []
        if batch:
            yield from self._whole(batch)

    def _ids(self) -> Iterator[str]:
        """Yield the ids of the traces by start time: page by page, each from where the last one ended."""
        begin, limit = self._since, PAGE
        seen: set[str] = set()
        while True:
            page = self._ask(
                self._client.traces.get_traces,
                start_time=begin,
                end_time=self._until,
                sort="start_time",
                order="asc",
                limit=limit,
                **self._traces,
            )
            new = [trace for trace in page if trace["trace_id"] not in seen]
            yield from (trace["trace_id"] for trace in new)
            if len(page) < limit:
                return
            last = _moment(page[-1]["start_time"])
            # A page that begins and ends at one time says nothing of what else began then: ask for more at once.
            limit = limit * 2 if last == begin else PAGE
            begin = last
            seen = {trace["trace_id"] for trace in page if _moment(trace["start_time"]) == last} | (
                seen if limit > PAGE else set()
            )

    def _whole(self, ids: list[str]) -> Iterator[tuple[str, list[Span]]]:
        wanted = ids
        if self._spans:
            fitting = self._ask(self._client.spans.get_spans, trace_ids=ids, limit=NO_LIMIT, **self._spans)
            having = {span["context"]["trace_id"] for span in fitting}
            wanted = [trace for trace in ids if trace in having]
        if not wanted:
            return
        by_trace: dict[str, list[Span]] = {trace: [] for trace in wanted}
        for raw in self._ask(self._client.spans.get_spans, trace_ids=wanted, limit=NO_LIMIT):
            span = read_span(raw)
            if span is None:
                self.lost += 1
            else:
                by_trace.setdefault(span.trace_id, []).append(span)
        yield from ((trace, spans) for trace, spans in by_trace.items() if spans)

    def _ask(self, method: Any, **options: Any) -> list[Any]:
        import httpx

        try:
            answer: list[Any] = method(project_identifier=self._project, timeout=60, **options)
        except httpx.HTTPStatusError as error:
            code = error.response.status_code
            why = {
                404: f"there is no project {self._project!r}",
                401: "it refuses access; set PHOENIX_API_KEY",
                403: "it refuses access; set PHOENIX_API_KEY",
            }.get(code, f"it answered with the status {code}")
            kind = NothingYet if code == 404 else RecordingError
            raise kind(f"Phoenix at {self._address}: {why}.") from error
        except httpx.HTTPError as error:
            words = redact(str(error)) or type(error).__name__
            raise RecordingError(f"Phoenix at {self._address} cannot be reached: {words}.") from error
        except Exception as error:
            raise RecordingError(f"Phoenix at {self._address}: {type(error).__name__}: {redact(str(error))}") from error
        return answer


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _typed(text: str) -> str | int | float | bool:
    """Read a filter's value as the type that the server compares with; quotes make any of it text."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
