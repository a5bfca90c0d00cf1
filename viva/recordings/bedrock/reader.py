"""Reads `bedrock:FILE`: the traces with which Amazon Bedrock's agents answer.

The form is that of the InvokeAgent API with `enableTrace`:
https://docs.aws.amazon.com/bedrock/latest/userguide/trace-events.html. A file holds, as JSON or JSON Lines, responses
(objects with their events as `completion`), events (`{"trace": …}`), or the trace parts within them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.recordings.bedrock.invocation import spans_of
from viva.recordings.files.locations import JSON_FILES, find_files
from viva.recordings.files.packed import open_recording
from viva.recordings.recording import Recording, RecordingError, SourceNotes
from viva.recordings.spans.files import EVALUATORS, raw_spans, recordings
from viva.recordings.spans.span import Span

Part = Mapping[str, Any]
_BESIDE_TRACES = ("chunk", "files", "returnControl")
"""Other events of a response; a trace says the same."""


@dataclass(slots=True)
class _AgentCall:
    """One call of InvokeAgent."""

    parts: list[Part] = field(default_factory=list)
    question: str | None = None


@dataclass(slots=True)
class _LeftOut:
    """What of a file was left out."""

    calls: int = 0
    parts: int = 0
    foreign: int = 0

    def take(self, event: Any) -> None:
        """Count an event that is no trace."""
        if isinstance(event, Mapping) and not event.keys().isdisjoint(("trace", "completion")):
            self.parts += 1
        elif not isinstance(event, Mapping) or event.keys().isdisjoint(_BESIDE_TRACES):
            self.foreign += 1

    def tell(self, path: Path, told: SourceNotes) -> None:
        if self.calls:
            told.lose(f"{path.name}: calls left out because they have no trace of the agent: {self.calls}")
        if self.parts:
            told.lose(f"{path.name}: traces left out because they cannot be read: {self.parts}")
        if self.foreign:
            told.add(f"{path.name}: elements left out because they are not of an agent's call: {self.foreign}")


class BedrockReader:
    """Reads `bedrock:FILE`."""

    name = "bedrock"
    evaluators = EVALUATORS

    def read(
        self, source: str, *, since: datetime | None = None, told: SourceNotes | None = None
    ) -> Iterator[Recording]:
        """Read the runs of a file in its order: one for each call of InvokeAgent, and one for each collaborator in it.

        Args:
            source: A file, packed with gzip or zstd or not, or a folder or a glob of such files.
            since: Calls that began before are left out.
            told: Takes what is not about a single run.

        Raises:
            RecordingError: while iterating: a file cannot be read, or none holds a trace of an agent.
        """
        found = find_files((source,), JSON_FILES)
        told = SourceNotes() if told is None else told
        found.tell(told)
        some = False
        numbers = itertools.count()
        for path in found.files:
            lost = _LeftOut()
            traces = _traces(_asked(_elements(path, told), lost), numbers, lost)
            for recording in recordings(traces, path.name, self.name, since, told):
                yield recording
                some = True
            lost.tell(path, told)
        if not some and since is None:
            raise RecordingError(
                f"{source}: there is no trace of an agent in it. InvokeAgent sends traces only with enableTrace."
            )


def _elements(path: Path, told: SourceNotes) -> Iterator[Any]:
    try:
        with open_recording(path, told) as file:
            yield from raw_spans(path, file, told)
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read: {error.strerror}") from error


def _traces(asked: Iterable[_AgentCall], numbers: Iterator[int], lost: _LeftOut) -> Iterator[tuple[str, list[Span]]]:
    for each in asked:
        # Files may hold the same call, and calls may say nothing that tells them apart.
        if each.parts and (spans := spans_of(each.parts, each.question, next(numbers))):
            yield spans[0].trace_id, spans
        else:
            lost.calls += 1


def _asked(elements: Iterable[Any], lost: _LeftOut) -> Iterator[_AgentCall]:
    """Group the parts of a file by the call that they belong to; one ends with the answer to the user."""
    open_: dict[str, _AgentCall] = {}
    for element in elements:
        if isinstance(element, Mapping) and isinstance(element.get("completion"), list):
            question = element.get("inputText")
            parts = []
            for event in element["completion"]:
                if (part := _part(event)) is not None:
                    parts.append(part)
                else:
                    lost.take(event)
            yield _AgentCall(parts, question if isinstance(question, str) else None)
        elif (part := _part(element)) is not None:
            session = str(part.get("sessionId") or "")
            open_.setdefault(session, _AgentCall()).parts.append(part)
            if _ends(part):
                yield open_.pop(session)
        else:
            lost.take(element)
    yield from open_.values()


def _part(event: Any) -> Part | None:
    """Return the trace part of an event, which may be one itself, or the trace within it."""
    if not isinstance(event, Mapping):
        return None
    inner = event.get("trace")
    if isinstance(inner, Mapping):
        return inner if isinstance(inner.get("trace"), Mapping) else event
    return {"trace": event} if any(str(key).endswith("Trace") for key in event) else None


def _ends(part: Part) -> bool:
    callers = part.get("callerChain")
    alone = not isinstance(callers, list) or len(callers) < 2
    traces = [each for each in part["trace"].values() if isinstance(each, Mapping)]
    seen = [each.get("observation") for each in traces]
    answered = any(isinstance(each, Mapping) and isinstance(each.get("finalResponse"), Mapping) for each in seen)
    return alone and (answered or isinstance(part["trace"].get("failureTrace"), Mapping))
