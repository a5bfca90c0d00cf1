"""Reads the spans of tools that ran, and finds for each call that a model asked for what ran and what came back."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.recordings.react import observation_in, read_react
from viva.recordings.spans.messages import RequestedCall, arguments, as_text, loaded
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.questions import complaint_in
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.tree import Tree

_NAMES = ("gen_ai.tool.name", "tool.name", "tool_call.function.name")
_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
_ARGUMENTS = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "tool_call.function.arguments",
    "input.value",
    "traceloop.entity.input",
)
_RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")


_LOOK_AHEAD = 32
"""Model calls in whose input a result is looked for; agents that work side by side have theirs in between."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One run of a tool."""

    span: Span
    name: str | None
    """None if only the span's own name says something."""
    arguments: Any
    """An object where the span holds one, else its text; None if it holds nothing."""
    result: str | None
    error: str | None
    call_id: str | None


def tool_run(span: Span) -> ToolRun:
    """Read the span of a tool."""
    attributes = span.attributes
    given = arguments(next((attributes[key] for key in _ARGUMENTS if attributes.get(key) is not None), None))
    back = loaded(next((attributes[key] for key in _RESULTS if attributes.get(key) is not None), None))
    name = next((attributes[key] for key in _NAMES if isinstance(attributes.get(key), str)), None)
    result, identity, failed = _read_result(back)
    identity = next((str(attributes[key]) for key in _IDS if attributes.get(key)), identity)
    error = span.message or "failed" if span.failed else result or "failed" if failed else None
    return ToolRun(span, name, _read_arguments(given), result, error, identity)


def _read_arguments(given: Any) -> Any:
    """Unwrap LlamaIndex's `{"kwargs": {…}}` and OpenLLMetry's `{"inputs": …}`."""
    if isinstance(given, Mapping):
        if set(given) == {"kwargs"} and isinstance(given["kwargs"], Mapping):
            return given["kwargs"]
        if (
            "inputs" in given
            and isinstance(given["inputs"], Mapping)
            and set(given) <= {"inputs", "tags", "metadata", "kwargs"}
        ):
            return given["inputs"]
    return given


def _read_result(back: Any) -> tuple[str | None, str | None, bool]:
    """Return text, call id and whether it is an error, as LlamaIndex's `ToolOutput` or LangChain's message says."""
    if not isinstance(back, Mapping):
        return (None if back is None else as_text(back)), None, False
    blocks = back.get("blocks")
    if isinstance(blocks, list) and "tool_name" in back:
        texts = [str(block["text"]) for block in blocks if isinstance(block, Mapping) and "text" in block]
        return "\n".join(texts), None, back.get("is_error") is True
    data = back.get("data") if back.get("type") == "tool" else back
    if isinstance(data, Mapping) and "content" in data and "tool_call_id" in data:
        identity = data["tool_call_id"]
        return as_text(data["content"]), str(identity) if identity else None, data.get("status") == "error"
    return as_text(back), None, False


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of one call."""

    ran: ToolRun | None = None
    result: str | None = None
    complaint: str | None = None
    """Set where the framework did not understand the call, in its words."""


class ToolRuns:
    """The tools that ran in one agent run, each of which belongs to one call at most."""

    def __init__(self, spans: Sequence[Span], calls: Sequence[ModelCall], tree: Tree) -> None:
        """Read the tools among the spans; one that repeats a tool around it under the same name is left out."""
        read = [tool_run(span) for span in spans if span.kind is SpanKind.TOOL]
        self._tree = tree
        self._read = sorted(read, key=lambda run: tree.places[run.span.id])
        self._places = [tree.places[run.span.id] for run in self._read]
        repeated = _repeated(read, tree)
        self.left = {run.span.id: run for run in read if run.span.id not in repeated}
        """By id of the span: those that no call has asked for so far."""
        self._calls = calls
        self._ends = _next_starts(calls, tree)

    def outcomes(self, place: int, asked: Sequence[RequestedCall], text: str | None) -> list[CallOutcome]:
        """Return the results of the calls of one model call.

        Args:
            place: Of the model call among the calls of the run.
            asked: What it asked for.
            text: Its words, where the call is in them: what came back follows them in the next model call's input.

        Returns:
            One for each call, in order.
        """
        begin = self._tree.places[self._calls[place].span.id]
        first, last = (bisect.bisect_left(self._places, end) for end in (begin + 1, self._ends[place]))
        near = [self.left[run.span.id] for run in self._read[first:last] if run.span.id in self.left]
        ran: list[ToolRun | None] = [None] * len(asked)
        for fits in (_by_id, _by_arguments, _by_name):
            for number, call in enumerate(asked):
                found = next((run for run in near if fits(call, run)), None) if ran[number] is None else None
                if found is not None:
                    ran[number] = found
                    near.remove(found)
        alone = [number for number, found in enumerate(ran) if found is None]
        following = self._calls[place + 1].span.id if place + 1 < len(self._calls) else None
        end = len(self._tree.spans) if following is None else self._tree.places[following]
        near = [run for run in near if self._tree.places[run.span.id] < end]
        if len(alone) == 1 and len(near) == 1 and _may_be(asked[alone[0]], near[0]):
            ran[alone[0]] = near[0]
        for found in ran:
            if found is not None:
                del self.left[found.span.id]
        return [self._outcome(place, number, call, ran[number], text) for number, call in enumerate(asked)]

    def _outcome(
        self, place: int, number: int, call: RequestedCall, ran: ToolRun | None, text: str | None
    ) -> CallOutcome:
        for later in self._calls[place + 1 : place + 1 + _LOOK_AHEAD]:
            if text is not None:
                result, complaint = _after_words(later, text)
                if result is not None or complaint is not None:
                    return CallOutcome(ran, result, None if ran is not None else complaint)
            elif (found := _answer(later, call, number)) is not None:
                return CallOutcome(ran, found)
        return CallOutcome(ran, None if ran is None else ran.result)


def _by_id(call: RequestedCall, run: ToolRun) -> bool:
    return call.id is not None and call.id == run.call_id


def _by_arguments(call: RequestedCall, run: ToolRun) -> bool:
    return _by_name(call, run) and call.arguments == run.arguments


def _by_name(call: RequestedCall, run: ToolRun) -> bool:
    return call.name is not None and call.name == run.name and (run.call_id is None or call.id is None)


def _repeated(runs: Sequence[ToolRun], tree: Tree) -> set[str]:
    """Return the ids of the tools below another one of the same name."""
    extents = tree.extents()
    around: Counter[str | None] = Counter()
    open_: list[ToolRun] = []
    found = set()
    for run in sorted(runs, key=lambda run: extents[run.span.id]):
        begin, _ = extents[run.span.id]
        while open_ and extents[open_[-1].span.id][1] < begin:
            around[open_.pop().name] -= 1
        if around[run.name]:
            found.add(run.span.id)
        around[run.name] += 1
        open_.append(run)
    return found


def _may_be(call: RequestedCall, run: ToolRun) -> bool:
    """Whether another tool ran for a call, or one whose span does not name it (a handoff)."""
    return run.call_id is None or call.id is None or call.id == run.call_id


def _next_starts(calls: Sequence[ModelCall], tree: Tree) -> list[int]:
    """Return where the agent of each call calls a model next; the requested tools have run by then."""
    homes = tree.nearest(SpanKind.AGENT, SpanKind.TOOL)
    ends: list[int] = []
    following: dict[str | None, int] = {}
    for call in reversed(calls):
        home = homes[call.span.id]
        name = None if home is None else home.id
        ends.append(following.get(name, len(tree.spans)))
        following[name] = tree.places[call.span.id]
    return ends[::-1]


def _answer(later: ModelCall, call: RequestedCall, number: int) -> str | None:
    """Return a call's result from the input of a later model call: by id, newest first, because ids may be reused."""
    if call.id is not None:
        answers = (answer for message in reversed(later.inputs) for answer in reversed(message.answers))
        return next((text for identity, text in answers if identity == call.id), None)
    last = max((place for place, message in enumerate(later.inputs) if message.role == "assistant"), default=-1)
    after = [answer for message in later.inputs[last + 1 :] for answer in message.answers]
    return after[number][1] if number < len(after) and after[number][0] is None else None


def _after_words(later: ModelCall, text: str) -> tuple[str | None, str | None]:
    """Return what follows an agent's words in the input of a later model call.

    Returns:
        The observation and the parser's complaint; None for each that is not there.
    """
    words = text.strip()
    messages = later.inputs
    for place in range(len(messages) - 1, -1, -1):
        said = messages[place]
        if said.role == "assistant" and place + 1 < len(messages) and _same_words(said.text or "", words):
            back = messages[place + 1]
            follows = back.text if back.text is not None else back.answers[0][1] if back.answers else ""
            complaint = complaint_in(follows)
            if complaint is not None:
                return None, complaint
            observed = observation_in(follows)
            return (observed if observed is not None else follows if back.answers else None), None
    if len(messages) == 1 and words and words in (messages[0].text or ""):
        follows = (messages[0].text or "").rpartition(words)[2]
        complaint = complaint_in(follows)
        return (None, complaint) if complaint is not None else (_scratchpad(follows), None)
    return None, None


def _same_words(said: str, words: str) -> bool:
    """Whether an agent's words are those of an earlier turn; LlamaIndex writes the input of an action anew."""
    if said.strip() == words:
        return True
    one, other = read_react(said), read_react(words)
    return one.tool is not None and (one.tool, one.thought) == (other.tool, other.thought)


def _scratchpad(follows: str) -> str | None:
    """Return the observation that follows an agent's words in a prompt that holds all of them."""
    observed = observation_in(follows)
    if observed is None:
        return None
    cut = min(
        (at for mark in ("\nThought:", "\nAction:", "\nassistant:", "\nuser:") if (at := observed.find(mark)) >= 0),
        default=None,
    )
    return observed[:cut].strip()
