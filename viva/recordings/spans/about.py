"""Reads what the spans of a run state besides its steps: framework, technique, session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.recordings.spans.decisions import SpanDecision
from viva.recordings.spans.names import first_text
from viva.recordings.spans.runs import Run
from viva.recordings.spans.span import Span


def about(run: Run, decisions: Sequence[SpanDecision]) -> dict[str, Any]:
    """Return the attributes of a transcript: `framework`, `technique`, `session`, `resource`, as far as known."""
    spans = run.spans
    technique = "react" if any(each.in_words for each in decisions) else "tool calls" if decisions else None
    facts = {
        "framework": framework_of(spans),
        "technique": technique,
        "session": first_text(spans, ("session.id", "gen_ai.conversation.id", "langfuse.session.id")),
        "resource": dict(spans[0].resource) or None,
    }
    return {name: value for name, value in facts.items() if value}


_FRAMEWORKS = (
    ("llama_index", ("llama_index", "BaseWorkflowAgent.", "ReActAgent.", "FunctionAgent.", "AgentWorkflow.")),
    ("openai_agents", ("openai_agents", "openai.agents")),
    ("pydantic_ai", ("pydantic-ai", "pydantic_ai")),
    ("langgraph", ("LangGraph", "langgraph")),
    ("langchain", ("langchain",)),
    ("crewai", ("crewai",)),
    ("smolagents", ("smolagents",)),
    ("autogen", ("autogen",)),
)


def framework_of(spans: Sequence[Span]) -> str | None:
    """Return the framework's name, from the instrumentation's scope, the names of spans, or LangChain's metadata."""
    said = "\n".join(f"{span.scope} {span.name} {span.attributes.get('metadata', '')}" for span in spans[:50])
    for name, marks in _FRAMEWORKS:
        if any(mark in said for mark in marks):
            return name
    return next((span.scope for span in spans if span.scope), None)
