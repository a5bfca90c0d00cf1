"""Counts, task by task, what a stream of events can report."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from viva.recordings.events.model_sums import ModelSums
from viva.recordings.events.rounds import FAILED, MOST_TEXT, OpenStep, RoundsDraft
from viva.recordings.events.subagents import Subagents
from viva.recordings.events.tally import Tally, add, count_of, name_of
from viva.recordings.numbers import amount
from viva.records.text import counted
from viva.records.transcript import StepKind, Usage

NO_BILLING: Mapping[str, float] = MappingProxyType({})
MOST_OPEN = 10_000
"""Tool calls without a completion that are remembered."""


class Task:
    """What is known of one task."""

    __slots__ = ("label", "rounds", "stopped", "success", "system", "tally")

    def __init__(self, label: str) -> None:
        self.label = label
        self.tally = Tally()
        self.rounds = RoundsDraft()
        self.success: bool | None = None
        self.stopped: str | None = None
        """Why the last turn was aborted, if it was."""
        self.system: str | None = None


class Intake:
    """Counts what is reported. The code for a kind of stream calls these methods; invalid values raise nothing."""

    def __init__(self, *, capture_content: bool) -> None:
        """Args:
        capture_content: Also keep what was said, and tools' arguments and results.
        """
        self.capture_content = capture_content
        self._lock = threading.RLock()
        self._task = Task("")
        self._open: dict[str, tuple[Task, str, str | None, OpenStep | None]] = {}
        """Tool calls that have started and not completed."""
        self._subagents = Subagents()
        self._one_by_one = False
        """Whether model calls were reported one by one, so that sums repeat them."""
        self._sums = ModelSums()

    def model_called(
        self,
        model: object,
        *,
        input_tokens: object = None,
        output_tokens: object = None,
        cached_tokens: object = None,
        cache_write_tokens: object = None,
        reasoning_tokens: object = None,
        cost: object = None,
        calls: int = 1,
        billing: Mapping[str, float] = NO_BILLING,
        agent: str | None = None,
        at: float | None = None,
        seconds: float | None = None,
        in_sums: bool = False,
    ) -> None:
        """Count answered model calls. Tokens that are not reported are 0; a cost that is not reported is unknown.

        If input or output is not reported, or is not a valid count, the usage is marked as not `reported`.

        Args:
            model: Its name.
            input_tokens: All of them, those read from and written to the cache included.
            output_tokens: All of them, reasoning included.
            cached_tokens: Read from the cache.
            cache_write_tokens: Written to the cache.
            reasoning_tokens: Hidden reasoning.
            cost: US dollars; other units belong in `billing`.
            calls: How many.
            billing: What the provider bills by, name to amount.
            agent: The sub-agent that called; None for the main agent.
            at: When the answer arrived, in seconds since the epoch.
            seconds: How long it took.
            in_sums: The source reports this call alone, and the others as a sum that may include it.
        """
        usage = Usage.answered(
            count_of(input_tokens),
            count_of(output_tokens),
            count_of(cached_tokens),
            count_of(reasoning_tokens),
            cache_write_tokens=count_of(cache_write_tokens),
            calls=calls,
            cost=amount(cost),
        )
        with self._lock:
            name, task = name_of(model), self._task
            if in_sums:
                self._sums.count(name, usage, billing)
            else:
                self._one_by_one = True
            task.tally.model(name).add(usage, billing)
            if agent is not None:
                task.tally.agent(name_of(agent)).calls.add(usage, billing)
            step = task.rounds.step(StepKind.MODEL, at if at is None or seconds is None else at - seconds, agent)
            if step is not None:
                step.model, step.ended, step.usage = name, at, usage
                step.parent = self._subagents.parent(agent)

    def model_summed(
        self,
        model: object,
        tokens: tuple[object, object, object, object, object],
        *,
        calls: object = 0,
        billing: Mapping[str, float] = NO_BILLING,
    ) -> None:
        """Record a sum over all calls of a model in the session, as closing events state it.

        It is ignored if calls were reported one by one; otherwise, its excess over earlier sums is counted.

        Args:
            model: Its name.
            tokens: Input, output, read from the cache, written to it, reasoning.
            calls: How many.
            billing: What the provider bills by.
        """
        with self._lock:
            if self._one_by_one:
                return
            name = name_of(model)
            given, said, cached, written, hidden = (count_of(value) or 0 for value in tokens)
            whole = Usage(given, said, cached, hidden, count_of(calls) or 0, cache_write_tokens=written)
            excess = self._sums.excess(name, whole, billing)
            if excess is not None:
                self._task.tally.model(name).add(*excess)

    def model_failed(self, kind: object, *, agent: str | None = None) -> None:
        """Count a model call that failed."""
        with self._lock:
            add(self._task.tally.model_failures, name_of(kind))
            if agent is not None:
                self._task.tally.agent(name_of(agent)).model_failures += 1

    def tool_started(
        self, call: object, tool: object, *, arguments: Any = None, agent: str | None = None, at: float | None = None
    ) -> None:
        """Count a tool call under the tool's name; `call` is the id by which its completion refers to it."""
        call = name_of(call)
        with self._lock:
            if call in self._open:
                return
            name, task = name_of(tool), self._task
            add(task.tally.tools, name)
            task.tally.open += 1
            if agent is not None:
                task.tally.agent(name_of(agent)).tool_calls += 1
            step = task.rounds.step(StepKind.TOOL, at, agent)
            if step is not None:
                step.tool, step.call = name, call
                step.parent = self._subagents.parent(agent)
                if self.capture_content:
                    step.tool_input = arguments
            if len(self._open) < MOST_OPEN:
                self._open[call] = task, name, agent, step

    def tool_completed(
        self,
        call: object,
        *,
        success: bool = True,
        tool: object = None,
        result: object = None,
        error: object = None,
        code: object = None,
        agent: str | None = None,
        at: float | None = None,
    ) -> None:
        """Complete a tool call, in the task in which it started.

        One that never started is a call of this task, of the tool `unknown` unless `tool` names it.

        Args:
            call: What its start named.
            success: Whether it succeeded.
            tool: The tool's name, where the source has it.
            result: What came back.
            error: Why it failed, in words; kept where content is captured.
            code: The same as a short code, which is always kept.
            agent: The sub-agent that called.
            at: When, in seconds since the epoch.
        """
        call = name_of(call)
        with self._lock:
            found = self._open.pop(call, None)
            if found is None:
                task, name = self._task, name_of(tool)
                task.tally.never_started += 1
                add(task.tally.tools, name)
                if agent is not None:
                    task.tally.agent(name_of(agent)).tool_calls += 1
                step = task.rounds.step(StepKind.TOOL, None, agent)
                if step is not None:
                    step.tool, step.call = name, call
            else:
                task, name, agent, step = found
                task.tally.open -= 1
            if not success:
                add(task.tally.failures, name)
                if agent is not None:
                    task.tally.agent(name_of(agent)).tool_failures += 1
            if step is None:
                return
            step.ended = at
            if not success:
                step.error = FAILED if code in (None, "") else name_of(code)
            if self.capture_content:
                step.result = _cut(result)
                if not success and error is not None:
                    step.error = _cut(error)

    def aborted(self, reason: object) -> None:
        """Count an abort."""
        with self._lock:
            add(self._task.tally.aborts, name_of(reason))
            self._task.stopped = name_of(reason)

    def succeeded(self, success: bool | None) -> None:
        """Note whether the source calls the task a success."""
        with self._lock:
            self._task.success = success

    def failed_with(self, kind: object, words: object) -> None:
        """Note an error of the session in the current round; its words are kept where content is captured."""
        with self._lock:
            self._task.rounds.open().error = _cut(words) if self.capture_content and words else name_of(kind)

    def user_said(self, text: object, at: float | None = None) -> None:
        """Begin a round."""
        with self._lock:
            self._task.stopped = None
            self._task.rounds.begin(_cut(text) if self.capture_content else None, at)

    def agent_said(
        self,
        text: object,
        *,
        beside_calls: bool = False,
        agent: str | None = None,
        part_of: str | None = None,
        at: float | None = None,
    ) -> None:
        """Record the agent's words: its reply, what it says beside tool calls, or what a sub-agent says.

        Args:
            text: The words.
            beside_calls: Tool calls follow that belong to them.
            agent: The sub-agent that speaks.
            part_of: The message of which they are one part of several.
            at: When, in seconds since the epoch.
        """
        with self._lock:
            rounds, words = self._task.rounds, _cut(text) if self.capture_content else None
            if agent is not None:
                step = rounds.step(StepKind.AGENT, at, agent)
                if step is not None:
                    step.result, step.parent = words, self._subagents.parent(agent)
            elif beside_calls:
                rounds.thought = words or None
            else:
                rounds.said(words or "", at, part_of)

    def agent_thought(self, text: object, *, agent: str | None = None) -> None:
        """Record what the agent thought before what comes next; it is no part of its reply.

        Args:
            text: The thought.
            agent: The sub-agent that thought.
        """
        if self.capture_content and agent is None:
            with self._lock:
                self._task.rounds.reasoning = _cut(text)

    def system_said(self, text: object) -> None:
        """Keep the examined side's system text, where content is captured."""
        if self.capture_content:
            with self._lock:
                self._task.system = _cut(text)

    def subagent_started(self, name: object, *ids: object) -> None:
        """Note that a sub-agent started; events name it by any of these ids, one of them perhaps a tool call's."""
        with self._lock:
            agent = name_of(name)
            self._task.tally.agent(agent).started += 1
            known = [each for each in ids if isinstance(each, str) and each]
            parent = next((self._open[each][3] for each in known if each in self._open), None)
            self._subagents.started(agent, known, parent)

    def subagent_failed(self, name: object) -> None:
        """Note that a sub-agent's work failed."""
        with self._lock:
            self._task.tally.agent(name_of(name)).failed += 1

    def subagent_of(self, *ids: object) -> str | None:
        """Return the name of the sub-agent with the first of these ids; None if there is no id.

        If several are given, all are ids of one sub-agent. An unknown id is its own name.
        """
        if not any(ids):  # the main agent, which has no id, reports most events
            return None
        return self._subagents.name([each for each in ids if isinstance(each, str) and each])

    def not_known(self, what: str) -> None:
        """Count something that the stream's reader does not know."""
        with self._lock:
            add(self._task.tally.unknown, what[:200])


def _cut(value: object) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else str(value)
    return (
        text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… [{counted(len(text) - MOST_TEXT, 'more character')}]"
    )
