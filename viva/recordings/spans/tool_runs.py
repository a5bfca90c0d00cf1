"""Finds, for each call that a model asked for, the tool that ran and what came back."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from viva.recordings.react import ReactText
from viva.recordings.spans.messages import RequestedCall
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.outcomes.later_inputs import LaterAnswers, after_words
from viva.recordings.spans.outcomes.tool_run import ToolRun, repeated_runs, tool_run, with_inner_errors
from viva.recordings.spans.span import Span, SpanKind
from viva.recordings.spans.tree import Tree
from viva.recordings.waiting_calls import frozen

_LOOK_AHEAD = 32
"""Model calls in whose input a result is looked for; agents that work side by side have theirs in between."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What came of one call."""

    ran: ToolRun | None = None
    result: str | None = None
    complaint: str | None = None
    """The framework's words, if it did not understand the call."""


class ToolRuns:
    """The tools that ran in one agent run, each of which belongs to one call at most."""

    def __init__(self, spans: Sequence[Span], calls: Sequence[ModelCall], tree: Tree) -> None:
        """Read the tools among the spans; one that repeats a tool around it under the same name is left out."""
        read = [tool_run(span) for span in spans if span.kind is SpanKind.TOOL]
        repeated = repeated_runs(read, tree)
        read = with_inner_errors(read, repeated, tree)
        self.by_span = {run.span.id: run for run in read}
        """All tools that ran, by id of the span."""
        self._tree = tree
        self._read = sorted(read, key=lambda run: tree.places[run.span.id])
        self._places = [tree.places[run.span.id] for run in self._read]
        self.left = {run.span.id: run for run in read if run.span.id not in repeated}
        """Runs that no call has asked for so far, by id of the span."""
        self._calls = calls
        self._ends = _next_starts(calls, tree)
        self._index = _RunIndex([run if run.span.id in self.left else None for run in self._read])
        self._answers: dict[int, LaterAnswers] = {}
        """The answers in the input of the model calls that follow, by their place."""
        self._words: dict[str, ReactText] = {}

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
        ran: list[ToolRun | None] = [None] * len(asked)
        for keys in (_id_key, _arguments_keys, _name_keys):
            for number, call in enumerate(asked):
                if ran[number] is None:
                    ran[number] = self._index.take(keys(call), first, last)
        alone = [number for number, found in enumerate(ran) if found is None]
        if len(alone) == 1:
            following = self._calls[place + 1].span.id if place + 1 < len(self._calls) else None
            end = len(self._tree.spans) if following is None else self._tree.places[following]
            near = self._index.left(first, min(last, bisect.bisect_left(self._places, end)))
            if len(near) == 1 and _may_be(asked[alone[0]], near[0]):
                ran[alone[0]] = near[0]
        for found in ran:
            if found is not None:
                del self.left[found.span.id]
                self._index.remove(found)
        for passed in [before for before in self._answers if before <= place]:
            del self._answers[passed]
        return [self._outcome(place, number, call, ran[number], text) for number, call in enumerate(asked)]

    def within_code(self, place: int) -> list[ToolRun]:
        """Return the tools that the code of one model call ran, in order; no other call gets them."""
        begin = self._tree.places[self._calls[place].span.id]
        first, last = (bisect.bisect_left(self._places, end) for end in (begin + 1, self._ends[place]))
        ran = [run for run in self._index.left(first, last) if run.span.id in self.left]
        for run in ran:
            del self.left[run.span.id]
            self._index.remove(run)
        return ran

    def _outcome(
        self, place: int, number: int, call: RequestedCall, ran: ToolRun | None, text: str | None
    ) -> CallOutcome:
        for ahead in range(place + 1, min(place + 1 + _LOOK_AHEAD, len(self._calls))):
            if text is not None:
                result, complaint = after_words(self._calls[ahead], text, self._words)
                if result is not None or complaint is not None:
                    return CallOutcome(ran, result, None if ran is not None else complaint)
                continue
            if (answers := self._answers.get(ahead)) is None:
                answers = self._answers[ahead] = LaterAnswers(self._calls[ahead])
            if (found := answers.find(call, number)) is not None:
                return CallOutcome(ran, found)
        return CallOutcome(ran, None if ran is None else ran.result)


class _RunIndex:
    """Finds the first tool that fits a call, in time that grows with the tools and the calls, not their product."""

    def __init__(self, runs: Sequence[ToolRun | None]) -> None:
        self._runs = list(runs)
        self._at = {run.span.id: place for place, run in enumerate(runs) if run is not None}
        self._places: dict[Hashable, deque[int]] = {}
        for place, run in enumerate(runs):
            if run is not None:
                for key in _keys_of(run):
                    self._places.setdefault(key, deque()).append(place)

    def take(self, keys: Iterable[Hashable], first: int, last: int) -> ToolRun | None:
        """Remove and return the first run with one of some keys and a place from `first` to before `last`.

        `first` never decreases from one call to the next, so that what lies before it is forgotten.
        """
        begins = []
        for key in keys:
            if (places := self._places.get(key)) is not None:
                while places and (places[0] < first or self._runs[places[0]] is None):
                    places.popleft()
                if places and places[0] < last:
                    begins.append(places[0])
        if not begins:
            return None
        run = self._runs[min(begins)]
        assert run is not None
        self.remove(run)
        return run

    def remove(self, run: ToolRun) -> None:
        """Remove a run that belongs to a call."""
        self._runs[self._at[run.span.id]] = None

    def left(self, first: int, last: int) -> list[ToolRun]:
        """Return the runs from one place to before another that belong to no call."""
        return [run for run in self._runs[first:last] if run is not None]


def _keys_of(run: ToolRun) -> list[Hashable]:
    """Return the keys by which calls find a run; the last part tells whether the run has the id of a call."""
    named = run.call_id is not None
    keys: list[Hashable] = [("id", run.call_id)] if named else []
    if run.name is not None:
        keys += [("name", run.name, named), ("arguments", run.name, frozen(run.arguments), named)]
    return keys


def _id_key(call: RequestedCall) -> list[Hashable]:
    return [] if call.id is None else [("id", call.id)]


def _name_keys(call: RequestedCall) -> list[Hashable]:
    # A run that has an id belongs to a call by its name only if the call has none.
    return (
        [] if call.name is None else [("name", call.name, named) for named in ((False, True)[: 1 + (call.id is None)])]
    )


def _arguments_keys(call: RequestedCall) -> list[Hashable]:
    if call.name is None:
        return []
    return [
        ("arguments", call.name, frozen(call.arguments), named) for named in ((False, True)[: 1 + (call.id is None)])
    ]


def _may_be(call: RequestedCall, run: ToolRun) -> bool:
    """Return whether another tool ran for a call, or one whose span does not name it (a handoff)."""
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
