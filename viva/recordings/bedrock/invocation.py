"""Makes spans of the trace parts of one call of an agent, for the reader of trajectories."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from viva.recordings.bedrock.prompts import messages_of, system_of
from viva.recordings.bedrock.tools import invoked, observed
from viva.recordings.react import to_json
from viva.recordings.spans.span import Span, read_span

SCOPE = "amazon.bedrock.agents"
_STEPS = ("orchestrationTrace", "routingClassifierTrace")
_BESIDE = ("preProcessingTrace", "postProcessingTrace", "guardrailTrace", "customOrchestrationTrace")
Raw = dict[str, Any]


def spans_of(parts: Sequence[Mapping[str, Any]], question: str | None, number: int) -> list[Span]:
    """Return the spans of one call: its agents, their model calls and tools.

    Args:
        parts: The trace parts, in the order in which they were sent.
        question: What the user asked, where the source says it; else it is in the prompts.
        number: Of the call in its source.
    """
    seed = "\n".join((str(number), str(parts[0].get("sessionId")), *_trace_ids(parts)))
    call = _CallSpans(hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:32], question)
    for part in parts:
        call.add(part)
    return [span for raw in call.finished() if (span := read_span(raw)) is not None]


def _trace_ids(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for part in parts[:20]:
        for trace in part["trace"].values():
            for step in (trace, *trace.values()) if isinstance(trace, Mapping) else ():
                if isinstance(step, Mapping) and "traceId" in step:
                    yield str(step["traceId"])


@dataclass(slots=True)
class _Agent:
    """An agent in the call: the one that the user asked, or a collaborator."""

    span: Raw
    model: Raw | None = None
    """The model call that came last."""
    said: list[dict[str, Any]] = field(default_factory=list)
    """What the model decided since, as parts of its message."""
    decided: bool = False
    """Whether it called a tool or answered."""
    raw: str | None = None
    waiting: list[tuple[str, Raw]] = field(default_factory=list)
    """The tools whose output was not observed so far, with the kind of it."""


class _CallSpans:
    def __init__(self, trace_id: str, question: str | None) -> None:
        self._trace_id = trace_id
        self._question = question
        self._spans: list[Raw] = []
        self._agents: dict[tuple[str, ...], _Agent] = {}

    def finished(self) -> list[Raw]:
        """Return the raw spans."""
        for agent in self._agents.values():
            _end_turn(agent)
            _end(agent.span, None)
        return self._spans

    def add(self, part: Mapping[str, Any]) -> None:
        """Take one part."""
        agent = self._agent(part)
        when = part.get("eventTime")
        for name, trace in part["trace"].items():
            if not isinstance(trace, Mapping):
                continue
            if name == "failureTrace":
                self._failed(agent, str(trace.get("failureReason") or "failed"), when)
            elif name in _STEPS:
                self._step(agent, trace, when)
            elif name in _BESIDE:
                self._beside(agent, name, trace, when)
        agent.span["parts"].append(part)
        _end(agent.span, when)

    def _agent(self, part: Mapping[str, Any]) -> _Agent:
        callers = part.get("callerChain")
        chain = tuple(str(each) for each in callers) if isinstance(callers, list) and len(callers) > 1 else ()
        if chain not in self._agents:
            above = self._agents.get(chain[:-1]) or self._agents.get(())
            tools = [tool for kind, tool in above.waiting if kind.startswith("agentCollaborator")] if above else []
            called = part.get("collaboratorName")
            parent = next((tool for tool in tools if tool["attributes"]["gen_ai.tool.name"] == called), None)
            parent = parent or (tools[0] if tools else above.span if above else None)
            name = called or part.get("agentName") or part.get("agentId")
            about = {"gen_ai.agent.name": name, "gen_ai.agent.id": part.get("agentId")}
            about |= {"gen_ai.agent.version": part.get("agentVersion"), "session.id": part.get("sessionId")}
            span = self._begin("invoke_agent", parent, part.get("eventTime"), {**about, "parts": None})
            span["parts"] = []
            if not chain and self._question is not None:
                span["attributes"]["input.value"] = self._question
            self._agents[chain] = _Agent(span)
        return self._agents[chain]

    def _begin(self, operation: str, parent: Raw | None, when: Any, attributes: Mapping[str, Any]) -> Raw:
        raw: Raw = {
            "context": {"trace_id": self._trace_id, "span_id": f"{len(self._spans) + 1:016x}"},
            "parent_id": None if parent is None else parent["context"]["span_id"],
            "name": operation,
            "scope": SCOPE,
            "start_time": when,
            "attributes": {"gen_ai.operation.name": operation}
            | {key: value for key, value in attributes.items() if value is not None},
        }
        self._spans.append(raw)
        return raw

    def _step(self, agent: _Agent, trace: Mapping[str, Any], when: Any) -> None:
        if isinstance(given := trace.get("modelInvocationInput"), Mapping):
            self._model_called(agent, given, when)
        if isinstance(back := trace.get("modelInvocationOutput"), Mapping):
            self._model_answered(agent, back, when)
        if isinstance(rationale := trace.get("rationale"), Mapping) and rationale.get("text"):
            agent.said.append({"type": "text", "content": rationale["text"]})
        if isinstance(given := trace.get("invocationInput"), Mapping):
            self._tool_called(agent, given, when)
        if isinstance(seen := trace.get("observation"), Mapping):
            self._observed(agent, seen, when)

    def _model_called(self, agent: _Agent, given: Mapping[str, Any], when: Any) -> None:
        _end_turn(agent)
        prompt = given.get("text")
        system, messages = system_of(prompt), messages_of(prompt)
        about = {"gen_ai.request.model": given.get("foundationModel"), "gen_ai.system_instructions": system}
        if messages:
            about["gen_ai.input.messages"] = to_json(messages)
        agent.model = self._begin("chat", agent.span, when, about)

    def _model_answered(self, agent: _Agent, back: Mapping[str, Any], when: Any) -> None:
        if agent.model is None:
            agent.model = self._begin("chat", agent.span, when, {})
        agent.model["attributes"] |= _usage(back)
        raw, thought = back.get("rawResponse"), back.get("reasoningContent")
        words = raw.get("content") if isinstance(raw, Mapping) else None
        agent.raw = words if isinstance(words, str) else None
        inner = thought.get("reasoningText") if isinstance(thought, Mapping) else None
        if isinstance(inner, Mapping) and inner.get("text"):
            agent.said.append({"type": "reasoning", "content": inner["text"]})
        _end(agent.model, when)

    def _tool_called(self, agent: _Agent, given: Mapping[str, Any], when: Any) -> None:
        tool = invoked(given)
        if tool is None:
            return
        if agent.model is None:
            agent.model = self._begin("chat", agent.span, when, {})
        identity = f"{len(self._spans) + 1}"
        arguments = to_json(tool.given)
        about = {"gen_ai.tool.name": tool.name, "gen_ai.tool.call.id": identity}
        span = self._begin("execute_tool", agent.span, when, {**about, "gen_ai.tool.call.arguments": arguments})
        agent.waiting.append((tool.kind, span))
        agent.said.append({"type": "tool_call", "id": identity, "name": tool.name, "arguments": arguments})
        agent.decided = True

    def _observed(self, agent: _Agent, seen: Mapping[str, Any], when: Any) -> None:
        if isinstance(final := seen.get("finalResponse"), Mapping):
            if any(part["type"] == "tool_call" for part in agent.said):
                _end_turn(agent)  # the source left out the model call that answered
            if agent.model is None:
                agent.model = self._begin("chat", agent.span, when, {})
            agent.said = [part for part in agent.said if part["type"] == "reasoning"]
            agent.said.append({"type": "text", "content": str(final.get("text") or "")})
            agent.decided = True
            _end_turn(agent)
        elif isinstance(again := seen.get("repromptResponse"), Mapping):
            self._failed(agent, str(again.get("text") or "failed"), when, tools_only=True)
        elif (output := observed(seen)) is not None:
            place = next((place for place, (kind, _) in enumerate(agent.waiting) if kind == output.kind), None)
            if place is not None:
                _, span = agent.waiting.pop(place)
                if output.result is not None:
                    span["attributes"]["gen_ai.tool.call.result"] = output.result
                if output.error is not None:
                    span |= {"status_code": "ERROR", "status_message": output.error}
                _end(span, when)

    def _failed(self, agent: _Agent, why: str, when: Any, *, tools_only: bool = False) -> None:
        for _, span in agent.waiting:
            span |= {"status_code": "ERROR", "status_message": why}
            _end(span, when)
        agent.waiting.clear()
        if not tools_only:
            agent.span |= {"status_code": "ERROR", "status_message": why}

    def _beside(self, agent: _Agent, name: str, trace: Mapping[str, Any], when: Any) -> None:
        """Note a step beside the agent's own: its tokens count, its words are not the agent's."""
        back = trace.get("modelInvocationOutput")
        if isinstance(back, Mapping):
            span = self._begin("chat", agent.span, when, {"bedrock.trace": name, **_usage(back)})
            said = back.get("parsedResponse")
            if name == "postProcessingTrace" and isinstance(said, Mapping) and said.get("text"):
                message = {"role": "assistant", "parts": [{"type": "text", "content": said["text"]}]}
                span["attributes"]["gen_ai.output.messages"] = to_json([message])
            _end(span, when)


def _end_turn(agent: _Agent) -> None:
    """Write down what the last model call decided."""
    if agent.model is not None:
        said = agent.said
        if not agent.decided and agent.raw and not any(part["type"] == "text" for part in said):
            said = [*said, {"type": "text", "content": agent.raw}]
        if said:
            agent.model["attributes"]["gen_ai.output.messages"] = to_json([{"role": "assistant", "parts": said}])
    agent.model, agent.said, agent.decided, agent.raw = None, [], False, None


def _end(span: Raw, when: Any) -> None:
    if when is not None:
        span["end_time"] = when


def _usage(back: Mapping[str, Any]) -> dict[str, Any]:
    metadata = back.get("metadata")
    usage = metadata.get("usage") if isinstance(metadata, Mapping) else None
    if not isinstance(usage, Mapping):
        return {}
    named = {"gen_ai.usage.input_tokens": "inputTokens", "gen_ai.usage.output_tokens": "outputTokens"}
    return {key: usage[name] for key, name in named.items() if usage.get(name) is not None}
